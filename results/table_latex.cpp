#include <fmt/format.h>

#include <cctype>

#include "results/markup.h"
#include "results/table_view.h"

namespace harness {
namespace {

/// True for "0.5632", "+0.0199", "[-0.0013, +0.0011]", "3.80e-5": what is set as mathematics, so that signs
/// have their width.
bool is_numeric(const std::string& text) {
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  return text.find_first_not_of("0123456789+-.,e[] ") == std::string::npos;
}

/// "3.80e-5" -> "3.80\mathrm{e}{-5}", the blank after a comma kept.
std::string math(const std::string& text) {
  std::string out = "$";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'e') {
      out += "\\mathrm{e}{";
      for (++i; i < text.size() && (std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '-');
           ++i) {
        out += text[i];
      }
      out += '}';
      --i;
    } else if (text[i] == ',') {
      out += "{,}\\,";
    } else if (text[i] == '+' || text[i] == '-') {
      out += std::string("{") + text[i] + "}";  // a sign, not an operator with space around it
    } else if (text[i] != ' ') {
      out += text[i];
    }
  }
  return out + "$";
}

std::string cell_text(const ViewCell& cell) {
  auto text = is_numeric(cell.text) ? math(cell.text) : latex_text(cell.text);
  if (cell.strong) {
    text = is_numeric(cell.text) ? "$\\mathbf{" + text.substr(1, text.size() - 2) + "}$"
                                 : "\\textbf{" + text + "}";
  }
  return cell.marks.empty() ? text : text + "\\rlap{\\textsuperscript{" + latex_text(cell.marks) + "}}";
}

std::string layout_row(const ViewRow& row) {
  std::string line;
  for (const auto& cell : row.cells) {
    if (!line.empty()) line += " & ";
    auto text = cell_text(cell);
    // Braces keep a leading "[" from being read as an argument of the \\ before it.
    line += row.kind == RowKind::kPaper && !text.empty() ? "{\\itshape " + text + "}" : "{" + text + "}";
  }
  return line + " \\\\\n";
}

std::string layout(const ViewTable& table) {
  std::string shape, head;
  for (const auto& column : table.columns) {
    shape += column.numeric ? 'r' : 'l';
    head += (head.empty() ? "" : " & ") + latex_text(column.title);
  }
  std::string body;
  bool in_reference = false;
  for (const auto& row : table.rows) {
    if (in_reference && row.kind != RowKind::kReference) body += "\\midrule\n";
    in_reference = row.kind == RowKind::kReference;
    body += layout_row(row);
  }
  const auto tabular =
      fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n{}\\bottomrule\n\\end{{tabular}}",
                  shape, head, body);
  // Made smaller where the column of text is too narrow for it, and left alone where it is not.
  return fmt::format(
      "\\sbox0{{%\n{}}}%\n\\ifdim\\wd0>\\linewidth\\resizebox{{\\linewidth}}{{!}}{{\\usebox0}}"
      "\\else\\usebox0\\fi\n",
      tabular);
}

/// Letters, digits and hyphens: safe in \label whatever the id.
std::string label_of(std::string id) {
  for (char& c : id) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  }
  return "tab:" + id;
}

}  // namespace

std::string table_latex(const TableModel& model) {
  const auto view = table_view(model);
  std::string body = "\\begin{table}[htbp]\n\\centering\\footnotesize\n\\setlength{\\tabcolsep}{4pt}\n";
  body += fmt::format("\\caption{{{}. {}.}}\n\\label{{{}}}\n", latex_text(view.heading),
                      latex_text(view.subtitle), label_of(model.id));
  body += layout(view.results);
  if (!view.comparisons.rows.empty()) body += "\\par\\medskip\n" + layout(view.comparisons);
  if (!view.claims.rows.empty()) body += "\\par\\medskip\n" + layout(view.claims);
  body += "\\par\\medskip\n\\begin{minipage}{\\linewidth}\\scriptsize\\raggedright\n";
  for (const auto& alarm : view.guardrails.alarms) body += "\\textbf{" + latex_text(alarm) + "}\\par\n";
  for (const auto& note : view.notes) body += latex_text(note) + "\\par\n";
  for (const auto& sentence : view.guardrails.words) body += latex_text(sentence) + "\\par\n";
  if (!view.signature.empty()) body += "\\sloppy Signature: " + latex_text(view.signature) + "\\par\n";
  body += "\\end{minipage}\n\\end{table}\n";
  return latex_file({"booktabs", "graphicx"}, body);
}

}  // namespace harness
