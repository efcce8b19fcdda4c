#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>

#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

// A float of article at 10 pt on A4, whose page holds 598 pt, in lines of its \footnotesize of 9.5 pt.
constexpr std::size_t kPageLines = 54;
constexpr std::size_t kLineCharacters = 84;
constexpr std::size_t kTableRows = 40;  ///< of one float; longer tables are continued in another

/// True for "0.5632", "+0.0199", "[-0.0013, +0.0011]", "3.80e-5", "<0.0001": what is set as mathematics, so
/// that signs have their width.
bool is_numeric(const std::string& text) {
  if (text.find_first_of("0123456789") == std::string::npos) return false;
  return text.find_first_not_of("0123456789+-.,e[]< ") == std::string::npos;
}

/// "3.80e-5" -> "3.80\times10^{-5}"; the blanks after a comma and before a bracket are kept.
std::string math(const std::string& text) {
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

std::string cell_text(const ViewCell& cell) {
  auto text = is_numeric(cell.text) ? math(cell.text) : latex_prose(cell.text);
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
    const bool is_reference = row.kind == RowKind::kReference;
    if (in_reference != is_reference && &row != &table.rows.front()) body += "\\midrule\n";
    in_reference = is_reference;
    body += layout_row(row);
  }
  const auto tabular =
      fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n{}\\bottomrule\n\\end{{tabular}}",
                  shape, head, body);
  // Made smaller where the page is too narrow for it, and left alone where it is not.
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

/// One float: a table with its caption and what stands below it, a paragraph each. All but the table are
/// LaTeX.
struct Float {
  std::string caption, label;
  ViewTable table = {};
  std::vector<std::string> notes = {};
};

std::size_t lines_of(const std::string& latex) {
  return latex.size() / kLineCharacters + 1;
}

/// Moves what does not fit on the page below the table into floats of notes alone.
std::vector<Float> on_pages(Float whole) {
  std::vector<Float> pages;
  auto notes = std::move(whole.notes);
  whole.notes.clear();
  const auto label = whole.label;
  std::size_t lines = whole.table.rows.size() + 4 + lines_of(whole.caption);
  pages.push_back(std::move(whole));
  for (auto& note : notes) {
    if (lines + lines_of(note) > kPageLines) {
      pages.push_back({.caption = fmt::format("Notes on Table~\\ref{{{}}}.", label),
                       .label = fmt::format("{}-notes-{}", label, pages.size())});
      lines = 4;
    }
    lines += lines_of(note);
    pages.back().notes.push_back(std::move(note));
  }
  return pages;
}

std::string float_text(const Float& one) {
  auto out = fmt::format(
      "\\harnesstable\n\\centering\\footnotesize\n\\setlength{{\\tabcolsep}}{{3pt}}\n"
      "\\caption{{{}}}\n\\label{{{}}}\n\\vspace{{3pt}}\n",
      one.caption, one.label);
  if (!one.table.columns.empty()) out += layout(one.table);
  if (!one.notes.empty()) {
    out += "\\par\\medskip\n\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\\sloppy\n";
    for (const auto& note : one.notes) out += note + "\\par\n";
    out += "\\end{minipage}\n";
  }
  return out + "\\endharnesstable\n\n";
}

/// The columns in which no row has anything, left out; returns their titles without arrows.
std::vector<std::string> drop_blank_columns(ViewTable& table) {
  std::vector<std::string> titles;
  for (std::size_t i = table.columns.size(); i-- > 1;) {
    const bool has_value = std::ranges::any_of(table.rows, [&](const ViewRow& row) {
      return !row.cells[i].text.empty() && row.cells[i].text != kDash;
    });
    if (has_value) continue;
    const auto& title = table.columns[i].title;
    titles.insert(titles.begin(), title.substr(0, std::min(title.find(" \u2191"), title.find(" \u2193"))));
    drop_column(table, i);
  }
  return titles;
}

/// What the number of training runs means for a reader of this table alone.
std::string runs_sentence(const TableModel& model) {
  if (model.comparisons.empty() || model.rows.empty()) return {};
  const auto runs = paired_runs(model);
  auto text = runs.most == 1 ? std::string(" One training run a method")
                             : fmt::format(" {} training runs a method", runs_text(runs));
  if (runs.most < kFewestRuns) text += ": differences are between these checkpoints, not between methods";
  return text + ".";
}

std::string warning_text(const TableView& view) {
  return view.warning.empty() ? "" : " \\textbf{" + latex_prose(view.warning) + "}";
}

/// `what` the table shows; `sentences`: what follows in the caption, as LaTeX.
Float float_of(const TableModel& model, const std::string& what, const std::string& sentences,
               const std::string& label, const ViewTable& table) {
  return {.caption = latex_prose(model.id + ": " + what) + "." + sentences,
          .label = label_of(model.id + "-" + label),
          .table = table};
}

Float results_float(const TableModel& model, const TableView& view) {
  Float out{.caption = fmt::format("{}. {}.{}{}", latex_prose(view.heading), latex_prose(view.subtitle),
                                   runs_sentence(model), warning_text(view)),
            .label = label_of(model.id),
            .table = view.results};
  for (const auto& alarm : view.guardrails.alarms)
    out.notes.push_back("\\textbf{" + latex_prose(alarm) + "}");
  if (const auto blank = drop_blank_columns(out.table); !blank.empty())
    out.notes.push_back(latex_prose("Left out, as no row has a value: " + join(blank, ", ") + "."));
  std::ranges::move(texts_of(view.notes, latex_prose), std::back_inserter(out.notes));
  if (!view.signature.empty()) out.notes.push_back("Signature: " + latex_text(view.signature));
  return out;
}

/// The rows of one baseline, which the caption names, so that they begin with the method alone.
ViewTable differences_to(const TableModel& model, const ViewTable& all, const std::string& baseline) {
  ViewTable table{all.columns, {}};
  const auto first = first_column(model);
  table.columns.at(first).title = "Method";
  const TableComparison* comparison = nullptr;
  std::size_t next = 0;
  for (auto row : all.rows) {
    if (row.kind == RowKind::kOurs) {
      comparison = &model.comparisons.at(next++);
      row.cells.at(first).text = comparison->method;
    }
    if (comparison != nullptr && comparison->baseline == baseline) table.rows.push_back(std::move(row));
  }
  // "20 / 8 / 12" -> "20/8/12": a narrow column.
  for (auto& column : table.columns) boost::replace_all(column.title, " / ", "/");
  for (auto& row : table.rows) {
    for (auto& cell : row.cells) boost::replace_all(cell.text, " / ", "/");
  }
  drop_blank_columns(table);
  return table;
}

/// The table in pieces of at most kTableRows; a paper's row stays with ours.
std::vector<ViewTable> pieces_of(const ViewTable& table) {
  std::vector<ViewTable> pieces;
  for (const auto& row : table.rows) {
    const bool is_full = !pieces.empty() && pieces.back().rows.size() >= kTableRows;
    if (pieces.empty() || (is_full && row.kind != RowKind::kPaper)) pieces.push_back({table.columns, {}});
    pieces.back().rows.push_back(row);
  }
  return pieces;
}

std::vector<Float> difference_floats(const TableModel& model, const TableView& view) {
  std::vector<Float> floats;
  for (const auto& baseline : baselines_of(model)) {
    int part = 0;
    for (const auto& table : pieces_of(differences_to(model, view.comparisons, baseline))) {
      const bool is_first = ++part == 1;
      floats.push_back(float_of(
          model, fmt::format("differences to {}{}", baseline, is_first ? "" : ", continued"),
          runs_sentence(model) + warning_text(view),
          fmt::format("differences-{}{}", baseline, is_first ? "" : fmt::format("-{}", part)), table));
    }
  }
  if (floats.empty()) return floats;
  for (auto& one : floats) one.notes = {fmt::format("Notes: Table~\\ref{{{}}}.", floats.front().label)};
  floats.front().notes = texts_of(view.difference_notes, latex_prose);
  return floats;
}

std::vector<Float> guardrail_floats(const TableModel& model, const GuardrailView& view) {
  std::vector<Float> floats;
  for (const auto& table : view.tables) {
    const auto& baseline = table.columns.at(2).title;
    floats.push_back(float_of(model, "guardrails, against " + baseline, "", "guardrails-" + baseline, table));
  }
  if (floats.empty()) return floats;
  floats.front().notes.push_back(latex_prose(view.legend));
  std::ranges::move(texts_of(view.words, latex_prose), std::back_inserter(floats.back().notes));
  return floats;
}

/// Floats across both columns of a page that has two.
constexpr const char* kFloatCommands =
    "\\makeatletter\n"
    "\\if@twocolumn\n"
    "  \\def\\harnesstable{\\begin{table*}[tbp]}\\def\\endharnesstable{\\end{table*}}\n"
    "\\else\n"
    "  \\def\\harnesstable{\\begin{table}[tbp]}\\def\\endharnesstable{\\end{table}}\n"
    "\\fi\n"
    "\\makeatother\n\n";

}  // namespace

std::string table_latex(const TableModel& model) {
  const auto view = table_view(model);
  std::vector<Float> floats{results_float(model, view)};
  const auto add = [&](const ViewTable& table, const char* what, const char* label) {
    if (!table.rows.empty()) floats.push_back(float_of(model, what, warning_text(view), label, table));
  };
  add(view.by_tag, "results by tag of the prompts", "tags");
  std::ranges::move(difference_floats(model, view), std::back_inserter(floats));
  add(view.claims, "what the paper says, and what is found here", "paper");
  add(view.yardstick, "what runs of one method differ by", "yardstick");
  std::ranges::move(guardrail_floats(model, view.guardrails), std::back_inserter(floats));
  std::string body = kFloatCommands;
  for (auto& one : floats) {
    for (const auto& page : on_pages(std::move(one))) body += float_text(page);
  }
  return latex_file({"booktabs", "graphicx"}, body);
}

namespace {
const bool kRegistered =
    register_table_format({.name = "latex", .file = "table.tex", .place = 2, .render = table_latex});
}  // namespace

}  // namespace harness
