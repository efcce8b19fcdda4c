#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/registry.h"

namespace harness {

/// How checkpoints are chosen: `rule` over the values of `metric` on `split`.
struct SelectionSpec {
  std::string split = "validation", metric, rule = "max-mean";
};

/// One column of the table. `paper` is the key of the paper's figure, empty where the paper prints none.
struct ColumnSpec {
  std::string name, title, unit, better, paper, note;
  int decimals = 4;
};

/// What a scale changes; absent parts keep the table's own values.
struct ScaleSpec {
  std::string name, note;
  std::optional<std::vector<int>> checkpoints;
  std::optional<int> validation_limit, test_limit;  ///< only the first so many positions of a split
  std::optional<std::string> prompt_set;            ///< the only prompt set that this scale accepts
  Json settings = Json::object();
};

/// A table as its author wrote it: one JSON file, no C++.
struct TableSpec {
  std::string id, title, task, reproduces, backbone, baseline;
  int version = 1;
  std::vector<std::string> methods;
  std::vector<std::int64_t> seeds;
  int prompts_first = 0;   ///< evaluation uses the first so many prompts of the set
  std::string prompt_set;  ///< required prompt set, empty for any
  std::uint64_t split_seed = 0;
  int split_take = 0;  ///< size of the validation split; the rest is the test split
  std::vector<int> checkpoints;
  SelectionSpec selection;
  std::vector<std::string> required_metrics, optional_metrics;
  std::vector<ColumnSpec> columns;
  Json settings = Json::object();
  std::map<std::string, Json> backbone_settings;
  std::map<std::string, ScaleSpec> scales;
  std::filesystem::path file;
  Json document;  ///< the file as read

  /// Throws Error (status 2) with the nearest known scale.
  const ScaleSpec& scale(const std::string& name) const;
  std::vector<std::string> metrics() const;  ///< required, then optional
};

/// Reads ID from the tables folder (tables/ID.json), or a user's own FILE.json.
/// Throws Error: an unknown id (with the nearest known one), an unknown key, a value of the wrong type, an
/// impossible value.
TableSpec load_table_spec(const std::string& id_or_file);
TableSpec read_table_spec(const std::filesystem::path& file);

/// Names in the spec that this build does not know: methods, task, backbone, metrics. Throws Error with the
/// nearest name.
void check_against_registry(const TableSpec& spec, const Registry& registry);

/// Ids of all tables found in $HARNESS_PATH, the share folder and the source tree, sorted.
std::vector<std::string> known_tables();

}  // namespace harness
