#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "harness/output.h"
#include "harness/training_table.h"

namespace harness {
namespace {

struct CompareOptions {
  DbOptions db;
  std::string baseline, metric, split;
  std::vector<std::string> methods;
  bool json = false;
};

template <class Number>
Json number(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json comparison_json(const ComparisonRecord& record) {
  const auto& r = record.result;
  return {{"baseline", record.baseline},
          {"method", record.method},
          {"metric", record.metric},
          {"split", record.split},
          {"n", r.n},
          {"n_missing", r.n_missing},
          {"baseline_mean", number(r.baseline_mean)},
          {"method_mean", number(r.method_mean)},
          {"delta", number(r.delta)},
          {"ci95", r.ci ? Json::array({r.ci->low, r.ci->high}) : Json()},
          {"wins", r.wins},
          {"ties", r.ties},
          {"losses", r.losses},
          {"t", number(r.t)},
          {"p_value", number(r.p_value)},
          {"test", r.test},
          {"note", number(record.note)}};
}

void print_comparison(const ComparisonRecord& record) {
  const auto& r = record.result;
  fmt::print("{} - {}, {} on {}: ", record.method, record.baseline, record.metric, record.split);
  if (!r.delta) {
    fmt::print("no complete pairs\n");
    return;
  }
  fmt::print("{:+.4g}", *r.delta);
  if (r.ci)
    fmt::print(" [{:+.4g}, {:+.4g}]{}", r.ci->low, r.ci->high, r.ci->excludes_zero() ? "" : " (includes 0)");
  fmt::print("\n  means {:.6g} and {:.6g}; n {}, {} missing; {} wins, {} ties, {} losses", *r.method_mean,
             *r.baseline_mean, r.n, r.n_missing, r.wins, r.ties, r.losses);
  if (r.p_value) fmt::print("; {} p {:.3g}", r.test, *r.p_value);
  fmt::print("{}\n", record.note ? "; " + *record.note : "");
}

std::vector<std::string> column_names(const StoredReproduction& reproduction) {
  std::vector<std::string> names;
  for (const auto& column : spec_of(reproduction).columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> splits_of(const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::string> splits;
  for (const auto& checkpoint : checkpoints) {
    if (std::find(splits.begin(), splits.end(), checkpoint.split) == splits.end())
      splits.push_back(checkpoint.split);
  }
  return splits;
}

void require_method(const std::string& method, const std::vector<std::string>& known,
                    const StoredReproduction& reproduction) {
  if (std::find(known.begin(), known.end(), method) != known.end()) return;
  throw Error(fmt::format("experiment {} has no method \"{}\"", reproduction.id, method), "harness compare",
              fmt::format("it has {}; `harness list experiments` shows the others", join(known, ", ")));
}

int compare(const CompareOptions& options) {
  Store store(options.db.db, OpenMode::kReadOnly);
  const auto reproduction = chosen_reproduction(store, options.db);
  const auto checkpoints = evaluated_checkpoints(store, reproduction);
  const bool over_training = is_training_table(reproduction);
  auto methods = reproduction.methods;
  if (!over_training) methods.insert(methods.begin(), "base");
  require_method(options.baseline, methods, reproduction);
  for (const auto& method : options.methods) require_method(method, methods, reproduction);
  const auto metrics = over_training ? column_names(reproduction) : metrics_of(store, checkpoints);
  const auto metric = options.metric.empty() ? metrics.at(0) : options.metric;
  require_choice(metric, metrics, "metric", "--metric");
  const auto split =
      !options.split.empty() ? options.split : std::string(over_training ? kTrainingSplit : "test");
  require_choice(split, over_training ? std::vector<std::string>{kTrainingSplit} : splits_of(checkpoints),
                 "split", "--split");
  Json comparisons = Json::array();
  for (const auto& method : options.methods) {
    const auto record =
        compare_methods(store, reproduction, checkpoints, options.baseline, method, split, metric);
    if (options.json) {
      comparisons.push_back(comparison_json(record));
    } else {
      print_comparison(record);
    }
  }
  if (options.json) print_json({{"baseline", options.baseline}, {"comparisons", std::move(comparisons)}});
  return 0;
}

}  // namespace

void add_compare_command(CLI::App& app, Actions& actions) {
  auto* command =
      app.add_subcommand("compare", "Paired differences of methods against a baseline, from the results DB");
  command->footer(R"(
At the selected checkpoints, pooled over seeds and clustered by prompt. Exit status 0 whatever it finds.
Examples:
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test
  harness compare base ratio-norm dual lambda-controlled --metric cer --json)");
  auto o = std::make_shared<CompareOptions>();
  command->add_option("baseline", o->baseline, "the baseline: a method, or base for the starting weights")
      ->required();
  command->add_option("methods", o->methods, "methods to compare with it")->required();
  command->add_option("--metric", o->metric,
                      "metric, or column of a training table; unset: the table's first");
  command->add_option("--split", o->split, "test (the default) or validation; train in a training table");
  add_db_option(*command, o->db);
  add_filter_options(*command, o->db, true);
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o] { return compare(*o); };
}

}  // namespace harness
