#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <iterator>
#include <utility>

#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/notation.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

// A float of article at 10 pt, in points: letter paper, the lower one, holds 550 of them, A4 598.
constexpr double kPage = 535;
constexpr double kRow = 9.5, kRules = 57;  ///< a line of the table, in \footnotesize; its rules and spaces
constexpr double kCaptionLine = 12, kNoteLine = 8;
constexpr std::size_t kCaptionCharacters = 80, kNoteCharacters = 92;  ///< of such a line
constexpr std::size_t kTableLines = 40;  ///< of one float; longer tables are continued in another
constexpr const char* kProseColumn = "p{4.6cm}";
constexpr std::size_t kProseCharacters = 36;  ///< of a line of such a column

/// "0.9469 \u00b1 0.0041": the spread smaller than the mean.
std::string math_or_prose(const std::string& text, const auto& prose, bool strong) {
  constexpr std::string_view kPlusMinus = " \u00b1 ";
  if (const auto at = text.find(kPlusMinus); at != std::string::npos) {
    const auto mean = text.substr(0, at), spread = text.substr(at + kPlusMinus.size());
    if (is_numeric(mean) && is_numeric(spread))
      return math_or_prose(mean, prose, strong) + "{\\scriptsize$\\,\\pm\\,$" + latex_math(spread) + "}";
  }
  if (!is_numeric(text)) return strong ? "\\textbf{" + prose(text) + "}" : prose(text);
  const auto set = latex_math(text);
  return strong ? "$\\mathbf{" + set.substr(1, set.size() - 2) + "}$" : set;
}

/// The lines that the row's words need in columns that wrap.
std::size_t lines_of(const ViewTable& table, const ViewRow& row) {
  std::size_t lines = 1;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const auto width = static_cast<std::size_t>(display_width(row.cells[i].text));
    if (table.columns[i].wraps) lines = std::max(lines, (width + kProseCharacters - 1) / kProseCharacters);
  }
  return lines;
}

/// Whether a column's words stand in several lines.
bool is_prose(const ViewTable& table, std::size_t column) {
  return table.columns[column].wraps && std::ranges::any_of(table.rows, [&](const ViewRow& row) {
           return display_width(row.cells[column].text) > static_cast<int>(kProseCharacters);
         });
}

/// Lays out with the names that a paper's reader knows.
class Writer {
 public:
  explicit Writer(const TableModel& model) : names_(model.show.names) {}

  /// Sentences and headings; "\u039b_{late}" with its subscript.
  std::string prose(std::string_view text) const {
    std::string out;
    for (const auto& [piece, level] : notation_pieces(names_.in_text(text)))
      out += level == 0 ? latex_prose(piece) : latex_shifted(latex_text(piece), level);
    return out;
  }

  std::string table(const ViewTable& table) const {
    std::string shape, head;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto& column = table.columns[i];
      shape += column.numeric ? "r" : is_prose(table, i) ? kProseColumn : "l";
      head += (head.empty() ? "" : " & ") + prose(column.title);
    }
    std::string body;
    bool in_reference = false;
    for (const auto& row : table.rows) {
      const bool is_reference = row.kind == RowKind::kReference;
      if (in_reference != is_reference && &row != &table.rows.front()) body += "\\midrule\n";
      in_reference = is_reference;
      body += this->row(table, row);
    }
    const auto tabular = fmt::format(
        "\\begin{{tabular}}{{@{{}}{}@{{}}}}\n\\toprule\n{} \\\\\n\\midrule\n{}\\bottomrule\n\\end{{tabular}}",
        shape, head, body);
    // Made smaller where the page is too narrow for it, and left alone where it is not.
    return fmt::format(
        "\\sbox0{{%\n{}}}%\n\\ifdim\\wd0>\\linewidth\\resizebox{{\\linewidth}}{{!}}{{\\usebox0}}"
        "\\else\\usebox0\\fi\n",
        tabular);
  }

 private:
  std::string row(const ViewTable& table, const ViewRow& row) const {
    std::string line;
    bool has_prose = false;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto& cell = row.cells[i];
      if (!line.empty()) line += " & ";
      auto text = math_or_prose(
          cell.text, [&](const std::string& words) { return prose(words); }, cell.strong);
      if (!cell.marks.empty()) text += "\\rlap{\\textsuperscript{" + latex_text(cell.marks) + "}}";
      if (is_prose(table, i)) {  // to the paragraph's end, so without braces
        line += "\\raggedright " + text;
        has_prose = true;
        continue;
      }
      // Braces keep a leading "[" from being read as an argument of the \\ before it.
      line += row.kind == RowKind::kPaper && !text.empty() ? "{\\itshape " + text + "}" : "{" + text + "}";
    }
    return line + (has_prose ? " \\tabularnewline\n" : " \\\\\n");  // \raggedright has a \\ of its own
  }

  const DisplayNames& names_;
};

/// Letters, digits and hyphens: safe in \label whatever the id.
std::string label_of(std::string id) {
  for (char& c : id) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  }
  return "tab:" + id;
}

/// One float: a table with its caption and what is below it, a paragraph each, as LaTeX; and what only the
/// file's reader sees. `continued`: the caption of its further pieces, where not just the table's number.
struct Float {
  std::string caption, label;
  ViewTable table = {};
  std::vector<std::string> notes = {};
  std::string comment = {}, continued = {};
};

double caption_height(const std::string& latex) {
  return kCaptionLine * static_cast<double>(latex.size() / kCaptionCharacters + 1);
}

double note_height(const std::string& latex) {
  return kNoteLine * static_cast<double>(latex.size() / kNoteCharacters + 1);
}

/// Moves what does not fit on the page below the table into floats of notes alone.
std::vector<Float> on_pages(Float whole) {
  std::vector<Float> pages;
  auto notes = std::move(whole.notes);
  whole.notes.clear();
  const auto label = whole.label;
  double height = kRules + caption_height(whole.caption);
  for (const auto& row : whole.table.rows) height += kRow * static_cast<double>(lines_of(whole.table, row));
  pages.push_back(std::move(whole));
  for (auto& note : notes) {
    if (height + note_height(note) > kPage) {
      pages.push_back({.caption = fmt::format("Notes on Table~\\ref{{{}}}.", label),
                       .label = fmt::format("{}-notes-{}", label, pages.size())});
      height = 3 * kCaptionLine;
    }
    height += note_height(note);
    pages.back().notes.push_back(std::move(note));
  }
  return pages;
}

std::string float_text(const Writer& writer, const Float& one) {
  auto out = one.comment.empty() ? std::string() : "% " + printable_line(one.comment) + "\n";
  out += fmt::format(
      "\\harnesstable\n\\centering\\footnotesize\n\\setlength{{\\tabcolsep}}{{3.5pt}}\n"
      "\\caption{{{}}}\n\\label{{{}}}\n\\vspace{{6pt}}\n",
      one.caption, one.label);
  if (!one.table.columns.empty()) out += writer.table(one.table);
  if (!one.notes.empty()) {
    out += "\\par\\medskip\n\\begin{minipage}{\\linewidth}\\scriptsize\\raggedright\\sloppy\n";
    for (const auto& note : one.notes) out += note + "\\par\n";
    out += "\\end{minipage}\n";
  }
  return out + "\\endharnesstable\n\n";
}

/// What the number of training runs means for a reader of this table alone.
std::string runs_sentence(const TableModel& model) {
  if (model.comparisons.empty() || model.rows.empty()) return {};
  const auto runs = paired_runs(model);
  auto text = runs.most == 1 ? std::string(" One training run per method")
                             : fmt::format(" {} training runs per method", runs_text(runs));
  if (runs.most < kFewestRuns || !model.scale_warning.empty())
    text += in_its_words(model, ": differences are between these checkpoints, not between methods");
  return text + ".";
}

/// The table in pieces of about kTableLines; a paper's row stays with ours.
std::vector<ViewTable> pieces_of(const ViewTable& table) {
  std::vector<ViewTable> pieces;
  std::size_t lines = 0;
  for (const auto& row : table.rows) {
    const bool is_full = lines >= kTableLines && row.kind != RowKind::kPaper;
    if (pieces.empty() || is_full) {
      pieces.push_back({table.columns, {}});
      lines = 0;
    }
    pieces.back().rows.push_back(row);
    lines += lines_of(table, row);
  }
  return pieces;
}

/// The floats of a table.
class Floats {
 public:
  explicit Floats(const TableModel& model)
      : model_(model), writer_(model), view_(table_view(model)), first_label_(model.show.label) {}

  std::string text() {
    if (wants("results")) add(results());
    if (wants("leaderboard")) add_leaderboard();
    if (wants("tags")) add(view_.by_tag, "results by tag of the prompts", "tags");
    if (wants("differences")) add_differences();
    if (wants("claims")) add(view_.claims, "the paper's claims and the findings here", "paper");
    if (wants("guardrails")) add_guardrails();
    if (!floats_.empty()) {
      auto& first = floats_.front();
      if (!view_.signature.empty()) first.comment = "Signature: " + view_.signature;
      std::ranges::copy(notes_at(view_, {NotePlace::kTestSplit}),
                        std::inserter(first.notes, first.notes.begin()));
    }
    std::string body;
    for (auto& one : floats_) {
      for (const auto& page : on_pages(std::move(one))) body += float_text(writer_, page);
    }
    return body;
  }

 private:
  bool wants(std::string_view part) const { return shows_part(model_, part); }

  std::string warning() const {
    return view_.warning.empty() ? "" : " \\textbf{" + writer_.prose(view_.warning) + "}";
  }

  std::string title() const { return writer_.prose(model_.title.empty() ? model_.id : model_.title); }

  /// `what` a table shows; `sentences`: what follows, as LaTeX.
  std::string caption_of(const std::string& what, const std::string& sentences) const {
    return title() + ": " + writer_.prose(what) + "." + sentences;
  }

  /// The first float that is made takes the label that was asked for; its further pieces and pages count from
  /// it.
  std::string next_label(const std::string& own) {
    const auto asked = std::exchange(first_label_, {});
    return asked.empty() ? label_of(own) : asked;
  }

  Float float_of(const std::string& what, const std::string& sentences, const std::string& label,
                 const ViewTable& table) {
    return {
        .caption = caption_of(what, sentences), .label = next_label(model_.id + "-" + label), .table = table};
  }

  void add(Float one) { add_pieces(std::move(one), floats_); }

  /// A float, or several where its table is too long for one; the first has the notes.
  static void add_pieces(Float whole, std::vector<Float>& floats) {
    const auto pieces = pieces_of(whole.table);
    if (pieces.size() <= 1) {
      floats.push_back(std::move(whole));
      return;
    }
    const auto caption = whole.caption, label = whole.label;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      Float piece{.caption = caption, .label = label, .table = pieces[i]};
      if (i == 0) {
        piece.notes = std::move(whole.notes);
      } else {
        piece.caption =
            whole.continued.empty() ? fmt::format("Table~\\ref{{{}}}, continued.", label) : whole.continued;
        piece.label = fmt::format("{}-{}", label, i + 1);
      }
      floats.push_back(std::move(piece));
    }
  }

  void add(const ViewTable& table, const char* what, const char* label) {
    if (!table.rows.empty()) add(float_of(what, warning(), label, table));
  }

  std::vector<std::string> notes_at(const TableView& view, std::initializer_list<NotePlace> places) const {
    return texts_of(view.notes_at(places), [&](const std::string& note) { return writer_.prose(note); });
  }

  Float results() {
    Float out{.caption = fmt::format("{}. {}.{}{}", title(), writer_.prose(view_.subtitle),
                                     runs_sentence(model_), warning()),
              .label = next_label(model_.id),
              .table = view_.results};
    for (const auto& alarm : view_.guardrails.alarms)
      out.notes.push_back("\\textbf{" + writer_.prose(alarm) + "}");
    if (const auto blank = drop_blank_columns(out.table); !blank.empty())
      out.notes.push_back(writer_.prose("Left out, as no row has a value: " + join(blank, ", ") + "."));
    std::ranges::move(notes_at(view_, {NotePlace::kResults}), std::back_inserter(out.notes));
    return out;
  }

  /// In two floats, each with its notes: one would be twice as wide as a page.
  void add_leaderboard() {
    if (view_.leaderboard.rows.empty()) return;
    add_leaderboard("leaderboard", "leaderboard", ViewSheet::kFirst);
    add_leaderboard("leaderboard at equal evaluations", "leaderboard-costs", ViewSheet::kSecond);
  }

  void add_leaderboard(const std::string& what, const std::string& label, ViewSheet sheet) {
    auto table = sheet_of(view_.leaderboard, sheet);
    if (table.columns.size() <= first_column(model_) + 1) return;
    table.columns.at(first_column(model_)).title = "Method";
    auto one = float_of(what, " " + writer_.prose(view_.subtitle) + "." + runs_sentence(model_) + warning(),
                        label, table);
    one.notes = notes_at(
        view_, {sheet == ViewSheet::kFirst ? NotePlace::kLeaderboard : NotePlace::kEqualEvaluations});
    add(std::move(one));
  }

  void add_differences();
  void add_guardrails();

  const TableModel& model_;
  Writer writer_;
  TableView view_;
  std::string first_label_;  ///< that was asked for and that no float has yet
  std::vector<Float> floats_ = {};
};

/// A difference that is another one turned round is shown only if its column was asked for.
bool is_shown(const TableModel& model, const Comparison& comparison) {
  return comparison.restates.empty() || model.show.with_restated || !model.show.columns.empty();
}

/// The rows of one baseline, which the caption names, so that they begin with the method alone.
ViewTable differences_to(const TableModel& model, const ViewTable& all, const std::string& baseline) {
  ViewTable table{all.columns, {}};
  const auto first = first_column(model);
  table.columns.at(first).title = "Method";
  const Comparison* comparison = nullptr;
  std::size_t next = 0;
  for (auto row : all.rows) {
    if (row.kind == RowKind::kOurs) {
      comparison = &model.comparisons.at(next++);
      row.cells.at(first).text = comparison->method;
    }
    if (comparison != nullptr && comparison->baseline == baseline && is_shown(model, *comparison))
      table.rows.push_back(std::move(row));
  }
  // "20 / 8 / 12" -> "20/8/12": a narrow column.
  for (auto& column : table.columns) boost::replace_all(column.title, " / ", "/");
  for (auto& row : table.rows) {
    for (auto& cell : row.cells) boost::replace_all(cell.text, " / ", "/");
  }
  drop_blank_columns(table);
  return table;
}

/// The model with the differences that such a float shows.
TableModel with_differences_to(TableModel model, const std::string& baseline) {
  const auto is_elsewhere = [&baseline](const TableModel& of) {
    return [&](const Comparison& c) { return c.baseline != baseline || !is_shown(of, c); };
  };
  std::erase_if(model.comparisons, is_elsewhere(model));
  for (auto& part : model.parts) std::erase_if(part.comparisons, is_elsewhere(part));
  return model;
}

void Floats::add_differences() {
  std::vector<Float> floats;
  const auto sentences = runs_sentence(model_) + warning();
  for (const auto& baseline : baselines_of(model_)) {
    const auto table = differences_to(model_, view_.comparisons, baseline);
    if (table.rows.empty()) continue;
    const auto what = "differences to " + baseline;
    auto whole = float_of(what, sentences, "differences-" + baseline, table);
    whole.continued = caption_of(what + ", continued", sentences);
    const auto first = floats.size();
    add_pieces(std::move(whole), floats);
    for (auto i = first; i < floats.size(); ++i) {
      if (i == 0) {
        floats[i].notes = notes_at(view_, {NotePlace::kDifferences});
      } else {
        floats[i].notes = {fmt::format("Notes: Table~\\ref{{{}}}.", floats.front().label)};
      }
    }
    const auto of_baseline = table_view(with_differences_to(model_, baseline));
    std::ranges::move(notes_at(of_baseline, {NotePlace::kSingleDifferences}),
                      std::back_inserter(floats[first].notes));
  }
  std::ranges::move(floats, std::back_inserter(floats_));
}

void Floats::add_guardrails() {
  const auto& view = view_.guardrails;
  std::vector<Float> floats;
  for (const auto& [baseline, table] : view.tables)
    add_pieces(float_of("guardrails, against " + baseline, "", "guardrails-" + baseline, table), floats);
  if (floats.empty()) return;
  floats.front().notes = notes_at(view_, {NotePlace::kGuardrails});
  std::ranges::move(floats, std::back_inserter(floats_));
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
  auto shown = model;
  shown.show.for_readers = true;
  shown.show.with_restated = false;
  for (auto& part : shown.parts) part.show = shown.show;
  return latex_file({"booktabs", "graphicx"}, kFloatCommands + Floats(shown).text());
}

namespace {
const bool kRegistered = register_table_format(
    {.name = "latex", .file = "table.tex", .place = 2, .takes_parts = true, .render = table_latex});
}  // namespace

}  // namespace harness
