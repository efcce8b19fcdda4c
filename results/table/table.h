#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "results/paper/paper.h"
#include "results/statistics/comparison.h"
#include "results/table/notation.h"
#include "results/table/table_note.h"
#include "results/verdict/families.h"
#include "results/verdict/guardrails.h"
#include "results/verdict/leaderboard.h"

namespace harness {

/// How a column's numbers, fractions in the DB, are printed: as they are, times 100, or any other number
/// (whose column turns to scientific notation as a whole where `decimals` would leave fewer than two digits).
enum class Unit { kFraction, kPercent, kNumber };

/// The names that table specs use: "fraction", "percent", "number" or "log-ratio"; "higher" or "up", "lower"
/// or "down", "none". Throws Error for any other.
Unit unit_from_name(std::string_view name);
std::string_view unit_name(Unit unit);  ///< "fraction", "percent", "number"
Better better_from_name(std::string_view name);

/// One printed column. `key` is a metric's name, one of "lambda_late", "clip_fraction" and "tau_share"
/// (Lambda_late over the budget tau), which belong to a checkpoint, what its training had spent by then
/// (TableRow::spent), or any name of a column with `std_of`.
struct TableColumn {
  std::string key, title;
  Unit unit = Unit::kFraction;
  int decimals = 4;
  Better better = Better::kUp;
  std::string paper_key = {};   ///< the column of the paper's table; empty where the paper has none
  std::string note = {};        ///< what the column measures; stands below the table
  std::string std_of = {};      ///< the metric whose standard deviation over images this is; empty: none
  std::string stands_for = {};  ///< the column that the table has here with other backbones; empty: this one
  std::string paper_metric = {};  ///< what the paper's figure is of where `stands_for` is set; not compared
  bool scientific = false;        ///< its values; decided for the whole column by with_notation
  bool scientific_differences = false;  ///< differences and intervals; likewise
};

/// One evaluated checkpoint: of a method and seed, or the base model.
struct TableRow {
  std::string method;
  std::optional<std::int64_t> seed;
  int checkpoint = 0;
  std::string split;
  std::int64_t n = 0, n_missing = 0;       ///< samples, and those that lack at least one value
  std::map<std::string, Summary> metrics;  ///< by metric name; a metric that was not run has none
  std::optional<double> lambda_late, clip_fraction;
  /// By column (images, nfe_total, seconds, ...) what the training had spent up to the checkpoint.
  std::map<std::string, double> spent = {};
  std::optional<double> tau;  ///< the run's late budget; for a method without one that of the table's others
  std::optional<double> damp_share;  ///< share of the off-policy pairs of shard and step damped
  std::int64_t damped_updates = 0;   ///< of the run, with a damp weight below 1
  std::int64_t undone_updates = 0;   ///< of them, those whose length the norm clip made the undamped one
  bool has_steps = true;             ///< false: its training recorded no steps (forward process)
  /// Of such a training: mean ||v - v_ref||^2 at the checkpoint, over the elements of the velocity.
  std::optional<double> velocity_movement = {};
  bool never_clipped = false;  ///< no ratio left the clip range in any off-policy update of the run
  bool selected = true;        ///< false: shown beside the selected checkpoint of its run
  /// By metric: samples without a value because their prompt quotes no text, which is no failure.
  std::map<std::string, std::int64_t> without_target = {};
  std::map<std::string, Summary> by_tag = {};  ///< of the metric TableModel::by_tag, by tag of the prompts
};

/// A statement of the paper, decided on this table's own figures.
struct TableClaim {
  std::string text;
  std::optional<bool> holds;  ///< nothing where a figure behind it is missing, or training runs are
  bool comparable = true;     ///< false: ours and the paper's are different quantities
  std::string detail;         ///< the numbers that decided it
  bool judged = true;         ///< false: the scale shows nothing about the methods
};

/// "holds", "does not hold", "undecided", "not judged at this scale" or "not comparable".
const char* claim_verdict(const TableClaim& claim);

struct TableModel;

/// What the paper's printed differences become here: each as a claim with a sign, that holds where our
/// difference between the methods is resolved on the same side of 0, does not where it is on the other, and
/// is undecided where it is not resolved or where there are too few training runs.
std::vector<TableClaim> printed_differences(const TableModel& model);

/// What of a table is shown, and how.
struct TableShow {
  bool per_seed = false;      ///< a row a training run, instead of mean and standard deviation over runs
  bool with_paper = true;     ///< the paper's figures, claims and notes
  bool for_readers = false;   ///< of a paper: without what helps only those who run the table
  bool with_restated = true;  ///< metrics that are another one turned round
  std::vector<std::string> columns = {};  ///< by metric, in this order; empty: all
  std::vector<std::string> parts = {};    ///< of table_parts(); empty: all
  std::string label = {};                 ///< of the first LaTeX float; empty: after the table
  DisplayNames names = DisplayNames{};    ///< in formats for papers
};

/// Parts of a table that can be shown alone: "results", "leaderboard", "tags", "differences", "claims",
/// "guardrails".
const std::vector<std::string>& table_parts();

/// Everything that a table says, in whatever format; pure data, filled from the DB.
struct TableModel {
  std::string id, title, backbone, scale, split, baseline, signature;
  std::vector<TableColumn> columns;
  std::vector<TableColumn> metrics = {};  ///< that have no column and may be compared all the same
  std::vector<TableRow> reference;        ///< the base model
  std::vector<TableRow> rows;             ///< in the table's order of methods, the seeds of a method together
  std::vector<Comparison> comparisons;
  std::map<std::string, std::string> not_run;     ///< metric -> reason
  std::vector<TableNote> notes;                   ///< further ones on the results
  std::string fuller_note = {};                   ///< that other verdicts than these are to be quoted
  std::optional<PaperTable> paper;                ///< the paper's table that this one reproduces
  std::string paper_task;                         ///< which task of it, where it holds several
  std::map<std::string, std::string> paper_rows;  ///< the paper's name for a row where it is not ours
  bool images_are_given = false;                  ///< by other systems, in all rows
  /// How a claim about methods gets the runs that it lacks.
  std::string more_runs = "--seeds 42..44";
  std::string backbone_note = {};  ///< what is to be said of the backbone's numbers, without a full stop
  bool levels_compare = false;     ///< ours and the paper's figures stand for the same thing
  bool every_checkpoint = false;   ///< rows are all checkpoints of a run, the selected one marked
  std::vector<TableClaim> claims;
  std::optional<Leaderboard> leaderboard = {};  ///< of a table that ranks its methods
  std::optional<GuardrailPanel> guardrails;     ///< nothing in training tables, and where no rule was stored
  bool over_training = false;                   ///< rows are statistics of the training, paired by seed
  std::uint32_t resamples = 10000;
  double confidence = 0.95;
  std::string task = {};    ///< what is trained for; of a table of several nothing
  std::string by_tag = {};  ///< the metric that is also shown by tag of the prompts; empty: none
  /// The tables of single tasks that this one stands for, with what it shows of them; `rows`, `reference` and
  /// `comparisons` are all of theirs then, and of `columns` the headings alone count.
  std::vector<TableModel> parts = {};
  Families families = {};        ///< what judges all that was compared, shown or not
  std::string scale_warning;     ///< why this scale shows nothing about the methods; empty: it does
  bool chosen_on_split = false;  ///< the prompts shown also chose each run's checkpoint
  std::map<std::string, std::string> artifacts;  ///< name -> path
  double wall_seconds = 0;
  std::int64_t experiment = 0;  ///< reproductions.id; of a table of several tasks nothing
  TableShow show = {};
};

/// Sets what is shown and leaves out the rest: columns with their comparisons (Holm stays over all of them),
/// the paper. Throws Error (status 2, at --columns or --part) for an unknown name and for a part
/// without content.
void choose(const TableShow& show, TableModel& model);

/// True where a column is another one turned round, as the paper's CER is 1 - reward.
bool is_restated(const TableModel& model, const TableColumn& column);

/// The parts of a table, or a table without any itself.
std::span<const TableModel> parts_of(const TableModel& model);

/// The number behind a cell, in the DB's unit.
std::optional<double> cell_value(const TableRow& row, const TableColumn& column);

/// The paper's row for one of ours, of the given checkpoint or without one its selected row, or nullptr; and
/// the paper's name for it.
const PaperRow* paper_row_of(const TableModel& model, std::string_view method,
                             std::optional<int> checkpoint = {});
std::string_view paper_name(const TableModel& model, std::string_view method);

/// The paper's rows that stand beside those of a method: its one row, or with every checkpoint all of them.
std::vector<const PaperRow*> paper_rows_of(const TableModel& model, std::string_view method);

/// The paper's values of a row by our column keys, in the DB's unit (fractions); by the name that the column
/// has otherwise where another metric stands in it. Empty for no row.
std::map<std::string, double> paper_values(const TableModel& model, const PaperRow* row);

/// A format of tables. One file in results/table/formats/ registers it, and nothing else is edited; all show
/// the same rows, comparisons, footnotes and signature.
struct TableFormat {
  std::string name, file;                         ///< --format NAME; its file in the folder of a table
  int place = 1000;                               ///< in lists
  bool takes_parts = false;                       ///< TableShow::parts
  bool is_complete = false;                       ///< shows also what decides nothing
  bool is_read = false;                           ///< in a terminal, where control characters are escaped
  std::string (*render)(const TableModel&) = {};  ///< to the bytes of the file
};

/// Called by the initialiser of a constant in each format's file.
bool register_table_format(TableFormat format);

/// All, by place.
const std::vector<TableFormat>& table_formats();

/// Throws Error (status 2, at --format) for an unknown name.
const TableFormat& table_format(const std::string& name);

/// The table in at most `lines` lines of at most `width` columns for a terminal: a line a method, a line a
/// comparison of the first metric with its verdict, alarms, and what there is besides.
struct SummarySettings {
  int width = 80, lines = 25;
  bool colour = false;
  std::vector<std::string> commands = {};  ///< that show more
};
std::string table_summary(const TableModel& model, const SummarySettings& settings);

std::string table_markdown(const TableModel& model);  ///< aligned: reads well in a terminal and on GitHub
std::string table_latex(const TableModel& model);     ///< booktabs; compiles alone and can be \input
std::string table_csv(const TableModel& model);       ///< a line a row and metric, numbers unrounded
std::string table_html(const TableModel& model);      ///< a small page without references to the outside

/// The document of `--json`: table, backbone, scale, signature, reference, rows, comparisons, artifacts,
/// wall_seconds. All numbers in the DB's unit, the paper's too.
Json table_json(const TableModel& model);

/// One comparison as in table_json, and what several training runs say: {"n", "delta_per_run": {SEED: ...},
/// "ci95", "p_value", ...}, null for one run.
Json comparison_json(const Comparison& comparison);
/// Of it the numbers, the intervals and what may be said, as `harness compare` has them too.
Json judged_json(const PairedComparison& values, const Judgement& judgement);
Json runs_json(const std::optional<CrossedComparison>& crossed);

}  // namespace harness
