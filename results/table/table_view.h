#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/table/table.h"

namespace harness {

/// What a table shows, decided once and independent of the format: every renderer only lays this out.
struct ViewCell {
  std::string text;
  bool strong = false;     ///< the best of its column, and shown to be
  std::string marks = {};  ///< references to the notes, such as a dagger
};

enum class RowKind {
  kReference,  ///< the base model
  kOurs,
  kPaper  ///< the paper's row under ours
};

struct ViewRow {
  RowKind kind = RowKind::kOurs;
  std::vector<ViewCell> cells = {};
};

/// A table that is too wide for a page in two parts, which have some columns in common.
enum class ViewSheet { kBoth, kFirst, kSecond };

struct ViewColumn {
  std::string title;
  bool numeric = true;  ///< aligned right
  ViewSheet sheet = ViewSheet::kBoth;
  bool wraps = false;  ///< words that may stand in several lines
};

struct ViewTable {
  std::vector<ViewColumn> columns = {};
  std::vector<ViewRow> rows = {};
};

void drop_column(ViewTable& table, std::size_t column);

/// The columns that stand on a sheet.
ViewTable sheet_of(ViewTable table, ViewSheet sheet);

/// Drops the columns, but the first, in which no row has anything; returns their titles without arrows.
std::vector<std::string> drop_blank_columns(ViewTable& table);

/// Where the columns of a table's views begin: behind that of the task, if it has several.
std::size_t first_column(const TableModel& model);

/// What moved beside the reward (guardrails.h).
struct GuardrailView {
  std::vector<std::string> alarms = {};  ///< a sentence a method; they stand above the table
  /// By baseline: the base model, and the table's.
  std::vector<std::pair<std::string, ViewTable>> tables = {};
};

GuardrailView guardrail_view(const TableModel& model);

struct TableView {
  std::string heading, subtitle;
  std::string warning;  ///< that the scale shows nothing about the methods; it stands above the table
  ViewTable results;
  ViewTable leaderboard;  ///< without rows where the table ranks nothing
  ViewTable by_tag;       ///< without rows where nothing is shown by tag
  ViewTable comparisons;  ///< without rows where nothing was compared
  ViewTable claims;       ///< without rows where the table decides none
  GuardrailView guardrails;
  std::vector<TableNote> notes;  ///< by place
  std::string signature;

  std::vector<std::string> notes_at(std::initializer_list<NotePlace> places) const;
  /// What stands above the table, then every note: what formats say that lay out no page.
  std::vector<std::string> all_notes() const;
};

TableView table_view(const TableModel& model);

// Its tables.

/// A row a method, or a run. Seed, split and n are shown only where they differ between rows, and which
/// images of a run only where there are several.
ViewTable results_view(const TableModel& model);

/// A row a comparison. t is shown where the paper prints one, the difference on validation prompts where
/// there is one.
ViewTable comparisons_view(const TableModel& model);

/// What `view` makes of a table, or of each of its parts that it shows something of, one below another with
/// the task in front.
ViewTable by_task(const TableModel& model, ViewTable (*view)(const TableModel&));

/// True if the part is shown (TableShow::parts).
bool shows_part(const TableModel& model, std::string_view part);

/// The tables above the notes with their parts, in order.
std::vector<std::pair<std::string_view, const ViewTable*>> main_parts(const TableView& view);

/// The notes on what is shown of them.
std::vector<std::string> shown_notes(const TableModel& model, const TableView& view);

/// True for a table with a row a method, over several training runs.
bool is_pooled(const TableModel& model);

/// Standard deviation of a column over the seeds of a method (divisor n - 1); nothing for fewer than two.
std::optional<double> sd_over_seeds(const TableModel& model, const std::string& method,
                                    const TableColumn& column);

ViewTable claims_view(const TableModel& model);

/// A row a method: its group, its difference to the baseline at both views, and the verdict.
ViewTable leaderboard_view(const TableModel& model);
/// Means of one metric over the images of each tag of GenEval's prompts, and over the tags
/// (TableModel::by_tag): a row a method, its seeds pooled. Without rows where nothing is shown by tag.
ViewTable by_tag_view(const TableModel& model);
/// The tags that the rows have images of, in the benchmark's order.
std::vector<std::string> tags_of(const TableModel& model);
/// The benchmark's overall figure: the unweighted mean of the tags' means. Nothing where a tag has none.
std::optional<double> overall_of(const TableRow& row);
/// What differences on the prompts that chose the checkpoints are worth.
inline constexpr const char* kChosenHere =
    "These prompts also selected the checkpoints: values and differences are optimistic, and intervals and p do "
    "not allow for the choice. Quote the table on the test split.";

inline constexpr const char* kPaperRowTitle = "\u21b3 paper";
inline constexpr const char* kIncompleteMark = "#";
inline constexpr const char* kDiffersMark = "\u2020";          ///< dagger
inline constexpr const char* kUnequalMovementMark = "\u00a7";  ///< section sign
inline constexpr const char* kSelectedMark = "\u00b6";         ///< pilcrow

/// What `text_of` says of each item, where it says anything.
template <class Items, class Text>
std::vector<std::string> texts_of(const Items& items, Text text_of) {
  std::vector<std::string> texts;
  for (const auto& item : items) {
    if (std::string text = std::invoke(text_of, item); !text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

/// The same, each text once, in order of first appearance.
template <class Items, class Text>
std::vector<std::string> distinct_of(const Items& items, Text text_of) {
  std::vector<std::string> distinct;
  for (auto& text : texts_of(items, text_of)) {
    if (std::ranges::find(distinct, text) == distinct.end()) distinct.push_back(std::move(text));
  }
  return distinct;
}

template <class Number>
std::string number_or_blank(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "";
}

/// The different values that the rows, those of the base model too, have there.
template <class Value>
std::set<Value> values_of(const TableModel& model, Value TableRow::*field) {
  std::set<Value> values;
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) values.insert(row.*field);
  }
  return values;
}

/// In order of first appearance.
std::vector<std::int64_t> seeds_of(const TableModel& model);
std::vector<std::string> methods_of(const TableModel& model);
std::vector<std::string> baselines_of(const TableModel& model);

/// Which method is the best of a column, over the methods' means (seeds pooled), and whether that is shown.
struct BestOfColumn {
  std::string method;
  bool resolved = false;
};

/// Nothing where fewer than two methods have a value, where two share the best one, or where the column's
/// metric was never compared. Resolved: the best method's difference to the baseline is, on the good side;
/// where the baseline itself is best, those of all other methods are, on the bad one.
std::optional<BestOfColumn> best_of_column(const TableModel& model, const TableColumn& column);

/// True where the difference of a method to the table's baseline is resolved, on either side.
bool differs_from_baseline(const TableModel& model, const std::string& method, const TableColumn& column);

/// Mean of a column over the seeds of a method, at its selected checkpoints; nothing if a seed has no value.
std::optional<double> mean_over_seeds(const TableModel& model, const std::string& method,
                                      const TableColumn& column);

bool has_claim(const TableModel& model, Claim claim);

/// The fewest and the most pairs of training runs behind the comparisons, or behind those of one claim. There
/// must be one.
struct PairedRuns {
  std::int64_t fewest, most;
};
PairedRuns paired_runs(const TableModel& model, std::optional<Claim> claim = {});
std::string runs_text(const PairedRuns& runs);  ///< "3", "2 to 3"
std::int64_t runs_of(const PairedComparison& values);

/// The column with its notation decided, for all that the table shows of it: scientific where one of its
/// values would show fewer than two digits; its differences where all of them would.
TableColumn with_notation(const TableModel& model, TableColumn column);

/// The column that shows a metric: the table's, else as the guardrail rule describes it; with_notation.
TableColumn column_of(const TableModel& model, const std::string& metric);

/// The paper's figure for a row and column as printed, or in the column's unit where the paper's is another;
/// empty where it prints none.
std::string paper_cell(const TableModel& model, const PaperRow& paper, const TableColumn& column);

std::string title_of(const TableColumn& column);                ///< "OCR reward", "Exact (%)"
std::string difference_title(const TableColumn& column);        ///< "OCR reward", "Exact (points)"
std::string paper_difference_title(const TableColumn& column);  ///< how the paper's difference is called

/// The paper's own difference for one of ours, where it prints one, and the column as its numbers are given.
const PaperComparison* printed_comparison(const TableModel& model, const Comparison& comparison);
TableColumn as_printed(TableColumn column);

/// Of a row and metric: values that are missing though their prompt has one to give.
std::int64_t missing_values(const TableRow& row, const std::string& metric);
/// kIncompleteMark at a mean over fewer images than were asked for, in one of the method's runs; else empty.
std::string incomplete_mark(const TableModel& model, const std::string& method, const TableColumn& column);

/// A text about checkpoints, of images that are given as one about images: "these images differ".
std::string in_its_words(const TableModel& model, std::string text);

}  // namespace harness
