#include "results/table/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <boost/regex.hpp>
#include <map>

#include "core/text.h"

namespace harness {
namespace {

const std::map<char32_t, const char*>& latex_commands() {
  static const std::map<char32_t, const char*> commands{
      {U'\\', "\\textbackslash{}"},
      {U'{', "\\{"},
      {U'}', "\\}"},
      {U'$', "\\$"},
      {U'&', "\\&"},
      {U'#', "\\#"},
      {U'%', "\\%"},
      {U'_', "\\_"},
      {U'^', "\\textasciicircum{}"},
      {U'~', "\\textasciitilde{}"},
      {U'<', "\\textless{}"},
      {U'>', "\\textgreater{}"},
      {U'|', "\\textbar{}"},
      {U'`', "\\textasciigrave{}"},
      {U'\u00a0', "~"},
      {U'\u00a7', "\\S{}"},
      {U'\u00b1', "$\\pm$"},
      {U'\u00b6', "$\\P$"},
      {U'\u00b7', "$\\cdot$"},
      {U'\u00d7', "$\\times$"},
      {U'\u0394', "$\\Delta$"},
      {U'\u039b', "$\\Lambda$"},
      {U'\u03b2', "$\\beta$"},
      {U'\u03b5', "$\\varepsilon$"},
      {U'\u03ba', "$\\kappa$"},
      {U'\u03bb', "$\\lambda$"},
      {U'\u03bd', "$\\nu$"},
      {U'\u03c3', "$\\sigma$"},
      {U'\u03c4', "$\\tau$"},
      {U'\u2013', "--"},
      {U'\u2014', "---"},
      {U'\u2018', "`"},
      {U'\u2019', "'"},
      {U'\u201c', "``"},
      {U'\u201d', "''"},
      {U'\u2020', "$\\dagger$"},
      {U'\u2021', "$\\ddagger$"},
      {U'\u2026', "\\ldots{}"},
      {U'\u2038', "$_{\\wedge}$"},
      {U'\u2191', "$\\uparrow$"},
      {U'\u2193', "$\\downarrow$"},
      {U'\u21b3', "$\\hookrightarrow$"},
      {U'\u2192', "$\\rightarrow$"},
      {U'\u2212', "$-$"},
      {U'\u2264', "$\\leq$"},
      {U'\u2265', "$\\geq$"},
  };
  return commands;
}

/// Letters of Latin-1 that pdflatex prints in its default font encoding.
bool is_plain_latin1_letter(char32_t c) {
  constexpr std::u32string_view kNotInOt1 = U"\u00d0\u00de\u00f0\u00fe";
  return c >= 0xc0 && c <= 0xff && c != 0xd7 && c != 0xf7 && kNotInOt1.find(c) == std::u32string_view::npos;
}

void append_latex(std::string& out, char32_t c) {
  const bool is_letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  if (is_letter || (c >= U'0' && c <= U'9')) {
    out += static_cast<char>(c);
  } else if (c <= 0x20 || c == 0x7f) {
    out += ' ';
  } else if (const auto found = latex_commands().find(c); found != latex_commands().end()) {
    out += found->second;
  } else if (c == U'-' && out.ends_with('-')) {
    out += "{}-";  // two hyphens would make a dash
  } else if (c < 0x80 || is_plain_latin1_letter(c)) {
    out += utf32_to_utf8(std::u32string(1, c));
  } else {
    out += fmt::format("U+{:04X}", static_cast<std::uint32_t>(c));
  }
}

/// Appends text; `open` says whether a quotation is.
void append_latex(std::string& out, std::string_view text, bool& open) {
  for (const char32_t c : utf8_to_utf32(text)) {
    if (c == U'"') {
      out += open ? "''" : "``";
      open = !open;
    } else {
      append_latex(out, c);
    }
  }
}

/// "-4.17" -> "$-4.17$", "3.8e-5" -> "$3.8\times10^{-5}$".
std::string latex_number(const std::string& number) {
  const auto e = number.find('e');
  if (e == std::string::npos) return "$" + number + "$";
  return fmt::format("${}\\times10^{{{}}}$", number.substr(0, e), std::stoi(number.substr(e + 1)));
}

/// Text without backquotes.
void append_prose(std::string& out, std::string_view text, bool& open) {
  // A number with a sign ("-4.17", "+3e-5") or with one digit and an exponent ("3.8e-5"), as a word by
  // itself: after a blank or an opening bracket, with nothing of a word but dots behind it.
  static const boost::regex number(
      "(?<![^ \t\n\v\f\r(\\[])"
      "([+-][0-9]+(\\.[0-9]+)?(e-?[0-9]{1,3})?|[0-9](\\.[0-9]+)?e-?[0-9]{1,3})"
      "(?!\\.*[A-Za-z0-9_])");
  const char *from = text.data(), *const last = from + text.size();
  for (boost::cregex_iterator found(from, last, number), none; found != none; ++found) {
    append_latex(out, {from, (*found)[0].first}, open);
    out += latex_number(found->str());
    from = (*found)[0].second;
  }
  append_latex(out, {from, last}, open);
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string out;
  bool open = false;
  append_latex(out, text, open);
  return out;
}

std::string latex_prose(std::string_view text) {
  const auto parts = split(std::string(text), '`');
  if (parts.size() % 2 == 0) return latex_text(text);  // a backquote without its partner
  std::string out;
  bool open = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 0) {
      append_prose(out, parts[i], open);
    } else {
      out += "\\texttt{";
      append_latex(out, parts[i], open);
      out += '}';
    }
  }
  return out;
}

std::string latex_file(const std::vector<std::string>& packages, std::string_view body) {
  std::string uses;
  for (const auto& package : packages) uses += "\\usepackage{" + package + "}";
  // \@nodocument is \relax between \begin{document} and \end{document}, and an error message before.
  return fmt::format(
      "% Compiles on its own, and can be \\input in a document that loads: {}.\n"
      "\\makeatletter\n"
      "\\ifx\\@nodocument\\relax\n"
      "  \\def\\harnessbegin{{}}\\def\\harnessend{{}}\n"
      "\\else\n"
      "  \\def\\harnessbegin{{\\documentclass{{article}}\\usepackage[margin=2cm]{{geometry}}{}"
      "\\begin{{document}}\\pagestyle{{empty}}}}\n"
      "  \\def\\harnessend{{\\end{{document}}}}\n"
      "\\fi\n"
      "\\makeatother\n"
      "\\harnessbegin\n"
      "{}\\harnessend\n",
      join(packages, ", "), uses, body);
}

std::string html_text(std::string_view text) {
  std::string out(text);
  boost::replace_all(out, "&", "&amp;");
  boost::replace_all(out, "<", "&lt;");
  boost::replace_all(out, ">", "&gt;");
  boost::replace_all(out, "\"", "&quot;");
  boost::replace_all(out, "'", "&#39;");
  return out;
}

std::string html_prose(std::string_view text) {
  std::string out;
  const auto pieces = split(std::string(text), '`');
  const bool is_paired = pieces.size() % 2 == 1;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_code = is_paired && i % 2 == 1;
    if (!is_paired && i > 0) out += '`';
    out += is_code ? "<code>" + html_text(pieces[i]) + "</code>" : html_text(pieces[i]);
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_text(title), style, body);
}

std::string markdown_text(std::string_view text) {
  // A tag, an entity, a link, emphasis, code, a bar, and what would escape the next character.
  static const boost::regex special(
      "(?<tag><(?=[A-Za-z/!?]))|(?<entity>&(?=#?[A-Za-z0-9]+;))|"
      "(?<mark>[\\\\`*|~]|\\](?=[(\\[])|_(?![A-Za-z0-9])|(?<![A-Za-z0-9])_)");
  return boost::regex_replace(std::string(text), special, "(?{tag}&lt;)(?{entity}&amp;)(?{mark}\\\\$&)",
                              boost::format_all);
}

std::string markdown_prose(std::string_view text) {
  // At its beginning a heading, a quotation, a list or a rule.
  static const boost::regex block("^(#|>|[-+=](?=[ =-]|$)|[0-9]+(?=[.)]( |$)))");
  std::string line(text), out;
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  const auto pieces = split(line, '`');
  if (pieces.size() % 2 == 0) {
    out = markdown_text(line);  // a backquote without its partner
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      out += i % 2 == 1 ? "`" + pieces[i] + "`" : markdown_text(pieces[i]);
  }
  boost::smatch begin;
  if (!boost::regex_search(out, begin, block)) return out;
  const bool is_number = begin.str().find_first_of("0123456789") == 0;
  return out.insert(is_number ? begin.str().size() : 0, "\\");
}

std::string markdown_code(std::string_view text) {
  std::string line(text), fence = "`";
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  while (line.find(fence) != std::string::npos) fence += '`';
  return fence.size() == 1 ? fence + line + fence : fence + " " + line + " " + fence;
}

std::string markdown_row(std::span<const std::string> cells) {
  std::string line = "|";
  for (const auto& cell : cells) line.append(" ").append(cell).append(" |");
  return line + "\n";
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return csv_quoted(text);
}

std::string csv_quoted(std::string_view text) {
  return fmt::format("\"{}\"", boost::replace_all_copy(std::string(text), "\"", "\"\""));
}

bool is_numeric(const std::string& text) {
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  return text.find_first_not_of("0123456789+-.,e[]< ") == std::string::npos;
}

std::string latex_math(const std::string& text) {
  std::string out = "$";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'e') {
      out += "\\times10^{";
      while (i + 1 < text.size() &&
             (std::isdigit(static_cast<unsigned char>(text[i + 1])) || text[i + 1] == '-'))
        out += text[++i];
      out += '}';
    } else if (text[i] == ',') {
      out += "{,}\\,";
    } else if (text[i] == '[' && i > 0) {
      out += "\\ [";
    } else if (text[i] == '+' || text[i] == '-') {
      out += std::string("{") + text[i] + "}";  // a sign, not an operator with space around it
    } else if (text[i] != ' ') {
      out += text[i];
    }
  }
  return out + "$";
}

}  // namespace harness
