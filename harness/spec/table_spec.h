#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "datasets/split.h"
#include "harness/spec/metric_catalogue.h"
#include "harness/spec/registry.h"
#include "harness/spec/row_traits.h"

namespace harness {

/// How checkpoints are chosen: `rule` over the values of `metric` on `split`.
struct SelectionSpec {
  std::string split = "validation", metric, rule = "max-mean";
};

/// What a table is made of: evaluations of checkpoints, or statistics of the training itself.
enum class TableKind { kEvaluation, kTraining };

/// The training statistic of a column of a training table: its mean over the table's window of updates.
struct StatisticSpec {
  std::string name;             ///< as in train_stats
  std::optional<int> timestep;  ///< nothing: a statistic of the whole update
  bool of_method = false;       ///< stored by a user's own method, under its own name
  bool on_policy_too = false;   ///< also over on-policy updates, where every log-ratio is 0 by construction
};

/// One column of the table. Direction and unit are those of its metric, title and decimals too unless the
/// table gives its own. `paper` is the key of the paper's figure, empty where the paper prints none.
struct ColumnSpec : MetricInfo {
  std::string paper, note;
  StatisticSpec statistic = {};   ///< in a training table, and where an evaluation table names one
  std::string std_of = {};        ///< the metric whose spread over prompts this is; empty: `name`'s mean
  std::string stands_for = {};    ///< the column's name in the table, where another metric stands in it
  std::string paper_metric = {};  ///< title of what the paper measured there, then
  bool is_statistic() const { return !statistic.name.empty(); }
};

/// The last so many updates of a run, an update being an optimiser step or an epoch.
struct WindowSpec {
  int last = 50;
  std::string unit = "updates";  ///< or "epochs"
};

/// In the place of a row from outside: the checkpoints of a run, for every number that is there.
inline constexpr const char* kStepInPlace = "{step}";
inline bool has_steps(const std::string& place) {
  return place.find(kStepInPlace) != std::string::npos;
}

/// One row of a table: a registered method, alone or with settings under a name of its own; or one whose
/// checkpoints or images come from outside.
struct ArmSpec {
  std::string name, method;
  Json settings = Json::object();
  std::vector<std::string> places = {};  ///< of what comes from outside, one a run

  const RowTraits& traits() const { return row_traits(method); }
};

/// A statement of the paper that a table can decide, from the columns of its rows.
struct ClaimSpec {
  std::string text, rule;
  std::string column, method, against;  ///< `against`: a method or a column, as the rule says
  double bound = 0;
  double factor = 1;  ///< columns-agree: of the column `against`
};

/// Which evaluations a table of kind `evaluation` shows.
struct ShownSpec {
  std::string split = "test";     ///< or "validation": then nothing is tested
  bool every_checkpoint = false;  ///< of a run, rather than the selected one; on validation only
};

/// A table that ranks its methods (results/verdict/leaderboard.h).
struct LeaderboardSpec {
  bool groups = false;       ///< all pairs are compared, for groups that cannot be distinguished
  bool second_view = false;  ///< at equal evaluations too: each run's checkpoint chosen within them is tested
};

/// What `harness grid` shows by default.
struct GridSpec {
  std::vector<std::string> pick = {"wins", "mixed", "failures"};
  int rows = 9;
};

/// What a backbone changes beside its settings; empty parts keep the table's own values.
struct BackboneSpec {
  std::string title, task;
  std::map<std::string, std::string> stands_in;  ///< metric of the table -> what is measured in its place
  std::optional<std::vector<std::string>> required_metrics, optional_metrics;
  std::optional<int> prompts_first;
  std::optional<SplitRule> split;
  std::vector<std::string> notes;  ///< after the table's own
};

/// What a scale changes; absent parts keep the table's own values.
struct ScaleSpec {
  std::string name, note;
  std::vector<std::string> notes;  ///< printed after `note`, as they are
  bool judges = true;              ///< false: it shows that everything works, and nothing about the methods
  std::optional<std::vector<int>> checkpoints;
  std::optional<int> validation_limit, test_limit;  ///< only the first so many positions of a split
  std::optional<std::string> prompt_set;            ///< the only prompt set that this scale accepts
  std::optional<std::string> train_prompt_set;      ///< likewise for training
  Json settings = Json::object();
};

/// The note as it stands under a table: "Scale smoke: ...".
std::string scale_note(const ScaleSpec& scale);

/// A table as its author wrote it: one JSON file, no C++.
struct TableSpec {
  std::string id, title, task, reproduces, backbone, baseline;
  std::string paper_task;  ///< `task`, whatever a backbone makes of it
  TableKind kind = TableKind::kEvaluation;
  int version = 1;
  std::vector<std::string> methods;     ///< names of the rows: of methods, or of `arms`
  std::map<std::string, ArmSpec> arms;  ///< rows that are more than a method's name
  std::map<std::string, std::string>
      paper_rows;               ///< the paper's name for a row where it is another than ours
  bool levels_compare = false;  ///< our figures and the paper's stand for the same thing: their ratio counts
  std::vector<std::int64_t> seeds;
  int prompts_first = 0;          ///< evaluation uses the first so many prompts of the set
  int samples = 1;                ///< images of a prompt
  bool with_images_only = false;  ///< of these prompts, those that a row of images has one of
  bool has_base = true;           ///< the base model is a row
  std::string prompt_set;         ///< required prompt set, empty for any
  /// Of the program's own sets those that are used without --prompts and --train-prompts; empty: its task's.
  std::string default_prompts, default_training_prompts;
  SplitRule split;  ///< which of them are for validation; the rest is the test split
  std::vector<int> checkpoints;
  SelectionSpec selection;
  std::map<std::string, double> equal_within;  ///< by metric: differences below it count as equal
  std::vector<std::string> required_metrics, optional_metrics;
  std::vector<ColumnSpec> columns;
  std::map<std::string, std::int64_t> tuning;  ///< by row: runs spent to choose its method's settings
  WindowSpec window;                           ///< of the columns of training statistics
  std::vector<ClaimSpec> claims;
  std::vector<std::string> notes;  ///< the author's, printed below the table
  Json settings = Json::object();
  std::map<std::string, Json> backbone_settings;
  std::map<std::string, BackboneSpec> backbones;
  ShownSpec shown;
  std::string by_tag;  ///< the metric that is also shown by tag of GenEval's prompts; empty: none
  GridSpec grid;
  std::optional<LeaderboardSpec> leaderboard;
  std::map<std::string, ScaleSpec> scales;
  MetricCatalogue metric_catalogue;  ///< what the metrics are that a table of this build can name
  std::filesystem::path file;
  Json document;  ///< the file as read, with the table that it extends

  /// Throws Error (status 2) with the nearest known scale.
  const ScaleSpec& scale(const std::string& name) const;
  std::vector<std::string> metrics() const;     ///< required, then optional
  bool names(const std::string& metric) const;  ///< it is one of these
  /// What a row's name stands for; a name that is no arm's is a method's.
  ArmSpec arm(const std::string& name) const;
  bool is_training() const { return kind == TableKind::kTraining; }
  bool tests() const { return !is_training() && shown.split == "test"; }
  bool has_second_view() const { return leaderboard && leaderboard->second_view; }
  /// The good direction of a metric or column: "higher", "lower" or "none".
  std::string better(const std::string& metric) const;
};

/// The default baseline, the row that others are compared with: the table's baseline if it is among
/// these rows, else the first of them.
std::string usual_baseline(const TableSpec& spec, const std::vector<std::string>& methods);

/// The table as it is with a backbone, which changes nothing where the table does not name it.
TableSpec for_backbone(TableSpec spec, const std::string& backbone);

/// The places that a text names: one where something is there by the whole of it, else those between its
/// commas, without blanks around them. `folder`: that relative ones are below.
std::vector<std::string> places_in(const std::string& text, const std::filesystem::path& folder);
/// Places from the command line between commas, absolute, without "." and ".." in them, and links followed.
std::string absolute_places(const std::string& given);

/// Reads tables/ID.json, or a user's own FILE.json; "extends" (an ID, or a path relative to the file) names
/// the table that it changes. Throws Error: an unknown id or key (with the nearest), a value of the wrong
/// type or impossible, a direction or unit that is not the metric's, a text or list that is too long.
/// `where`: what names it, for messages.
TableSpec load_table_spec(const std::string& id_or_file, const std::string& where = "--table");
/// The table with further rows whose checkpoints ("adapters") or images ("images": `key`) come from outside:
/// NAME=PLACE[,PLACE...], again for each further run. Throws Error (at `option`) for an invalid row, or
/// has the name of another one.
TableSpec with_outside_rows(TableSpec spec, const std::vector<std::string>& given, const char* option,
                            const char* key);
/// NAME=PLACE in its two parts. Throws Error (at `option`) for what is none.
std::pair<std::string, std::string> name_and_place(const std::string& text, const std::string& option);
TableSpec read_table_spec(const std::filesystem::path& file);

/// The table with the first `validation + test` prompts divided in these sizes, by its own rule.
TableSpec with_split(TableSpec spec, int validation, int test);

/// Where a table's document comes from: a file, or the record of an experiment. Of a record a metric's own
/// direction counts, whatever it states.
enum class SpecSource { kFile, kRecord };

/// The same of a document that was read from `file`. `metrics`: what the metrics are that it may name.
TableSpec parse_table_spec(Json document, const std::filesystem::path& file,
                           const MetricCatalogue& metrics = built_in_catalogue(),
                           SpecSource source = SpecSource::kFile);

/// What only the file of a collection has (collection.h): the tables that it joins.
inline constexpr const char* kTablesKey = "tables";

/// True for a path, false for an id.
bool is_table_file(const std::string& id_or_file);
/// The file as it is. Throws Error if it is too long, or no JSON.
Json read_table_document(const std::filesystem::path& file);
/// Throws Error for what cannot name a table's folder in a workspace.
void require_table_id(const std::string& id, const std::string& where);

/// Throws Error for methods, task, backbone and metrics that this build does not know, with the nearest.
void check_against_registry(const TableSpec& spec, const Registry& registry);

/// Columns of timesteps that a training of `steps` steps does not have. Throws Error naming the column.
void check_timesteps(const TableSpec& spec, std::int64_t steps);

/// Ids of all tables found in $HARNESS_PATH, the share folder and the source tree, sorted.
std::vector<std::string> known_tables();
bool is_known_table(const std::string& id);

}  // namespace harness
