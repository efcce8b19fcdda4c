#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "harness/output.h"

namespace harness {
namespace {

struct CompareOptions {
  DbOptions db;
  std::string baseline, metric = "ocr_reward", split = "test";
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
  fmt::print("{:+.4f}", *r.delta);
  if (r.ci)
    fmt::print(" [{:+.4f}, {:+.4f}]{}", r.ci->low, r.ci->high, r.ci->excludes_zero() ? "" : " (includes 0)");
  fmt::print("\n  means {:.4f} and {:.4f}; n {}, {} missing; {} wins, {} ties, {} losses", *r.method_mean,
             *r.baseline_mean, r.n, r.n_missing, r.wins, r.ties, r.losses);
  if (r.p_value) fmt::print("; {} p {:.3g}", r.test, *r.p_value);
  fmt::print("{}\n", record.note ? "; " + *record.note : "");
}

int compare(const CompareOptions& options) {
  Store store(options.db.db, OpenMode::kReadOnly);
  const auto reproduction = chosen_reproduction(store, options.db);
  const auto checkpoints = evaluated_checkpoints(store, reproduction);
  std::vector<std::string> methods = {"base"}, splits;
  methods.insert(methods.end(), reproduction.methods.begin(), reproduction.methods.end());
  for (const auto& checkpoint : checkpoints) {
    if (std::find(splits.begin(), splits.end(), checkpoint.split) == splits.end())
      splits.push_back(checkpoint.split);
  }
  require_choice(options.baseline, methods, "method", "harness compare");
  for (const auto& method : options.methods) require_choice(method, methods, "method", "harness compare");
  require_choice(options.metric, metrics_of(store, checkpoints), "metric", "--metric");
  require_choice(options.split, splits, "split", "--split");
  Json comparisons = Json::array();
  for (const auto& method : options.methods) {
    const auto record = compare_methods(store, reproduction, checkpoints, options.baseline, method,
                                        options.split, options.metric);
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
  command->add_option("--metric", o->metric, "metric")->capture_default_str();
  command->add_option("--split", o->split, "test or validation")->capture_default_str();
  add_db_option(*command, o->db);
  add_filter_options(*command, o->db, true);
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o] { return compare(*o); };
}

}  // namespace harness
