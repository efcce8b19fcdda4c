#include "harness/compare/conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/sha256.h"
#include "core/text.h"
#include "harness/plan/registry.h"
#include "harness/plan/table_spec.h"
#include "harness/run/builds.h"
#include "results/statistics/verdict.h"
#include "results/store/rows.h"

namespace harness {
namespace {

using Names = std::set<std::string>;

/// Parts of an evaluation's identity that say which one it is, or are compared for themselves.
const Names kNoCondition = {"kind", "run", "step", "seed", "split", "metrics", "scorers", "settings"};
/// Those that say which prompts were drawn.
const std::map<std::string, std::string> kPromptParts = {{"prompts_sha256", "prompt set"},
                                                         {"split_seed", "seed of the split"},
                                                         {"split_sizes", "sizes of the splits"},
                                                         {"positions_sha256", "prompts of the split"}};
/// Parts of a training's identity that its evaluations have too, or that are told for themselves.
const Names kNoTraining = {
    "kind",         "seed",   "backbone",        "weights_sha256", "precision", "device", "numerics_version",
    "cpu_numerics", "method", "method_settings", "method_source",  "imported"};
const std::map<std::string, std::string> kNames = {{"weights_sha256", "weights"},
                                                   {"numerics_version", "version of the numerics"},
                                                   {"cpu_numerics", "version of the numerics on CPUs"},
                                                   {"train_prompts_sha256", "training prompts"},
                                                   {"task", "task"}};

std::string name_of(const std::string& part, const std::map<std::string, std::string>& names = kNames) {
  const auto found = names.find(part);
  return found == names.end() ? part : found->second;
}

/// "cpu" of "cpu", "cuda" of what a GPU's identity says.
bool is_cpu(const Json& device) {
  return device == "cpu";
}

/// Calls see(name, a, b) for each value, however deep, that two documents do not have alike.
void for_each_difference(const Json& a, const Json& b, const std::string& name,
                         const std::function<void(const std::string&, const Json&, const Json&)>& see) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) return see(name, a, b);
  Json both = a;
  both.update(b);
  for (const auto& [key, _] : both.items())
    for_each_difference(a.value(key, Json()), b.value(key, Json()), name.empty() ? key : name + "." + key,
                        see);
}

/// The differences of one comparison, each once.
class Found {
 public:
  explicit Found(std::string method) : method_(std::move(method)) {}

  void add(const std::string& what, const Json& a, const Json& b, Bearing bearing,
           const std::vector<std::string>& metrics = {}) {
    if (a == b) return;
    const auto is_same = [&](const SideDifference& other) {
      return other.what == what && other.baseline_value == a && other.method_value == b;
    };
    const auto known = std::ranges::find_if(found_, is_same);
    if (known == found_.end()) {
      found_.push_back({.method = method_,
                        .what = what,
                        .baseline_value = a,
                        .method_value = b,
                        .bearing = bearing,
                        .metrics = metrics});
      return;
    }
    for (const auto& metric : metrics) {
      if (std::ranges::count(known->metrics, metric) == 0) known->metrics.push_back(metric);
    }
  }

  /// Each value that differs in two documents, as "PREFIX name.of.value".
  void add_each(const std::string& prefix, const Json& a, const Json& b, Bearing bearing,
                const std::vector<std::string>& metrics = {}) {
    for_each_difference(a, b, "", [&](const std::string& name, const Json& x, const Json& y) {
      add(prefix + (name.empty() ? "" : " " + name), x, y, bearing, metrics);
    });
  }

  std::vector<SideDifference> all() && { return std::move(found_); }

 private:
  std::string method_;
  std::vector<SideDifference> found_;
};

/// Names of the scorers that give a metric. Of one that this build does not know, those that it does not know
/// either; where that tells nothing, all.
Names scorers_of(const std::string& metric, const Json& config) {
  static const Registry registry = load_registry();
  const auto& scorers = config.at("scorers");
  // An evaluation has one of those that give the metric, whichever images they are for.
  for (const auto& evaluator : registry.evaluators) {
    if (scorers.contains(evaluator.name) && std::ranges::count(names_of(evaluator.metrics), metric) > 0)
      return {evaluator.name};
  }
  const auto built_in = names_of(registry.evaluators);
  Names all, others;
  for (const auto& [name, _] : scorers.items()) {
    all.insert(name);
    if (std::ranges::count(built_in, name) == 0) others.insert(name);
  }
  const bool is_known = registry.evaluator_of(metric) != nullptr;
  return !is_known && !others.empty() ? others : all;
}

/// Scorers of the same name are compared value by value; where another one gives the metric, that is all.
void add_scorers(const Json& a, const Json& b, const std::vector<std::string>& metrics, Found& found) {
  const auto in_order = [](const Names& names) { return Json(fmt::format("{}", fmt::join(names, ", "))); };
  for (const auto& metric : metrics) {
    const auto ours = scorers_of(metric, a), theirs = scorers_of(metric, b);
    found.add("scorer", in_order(ours), in_order(theirs), Bearing::kRefused, {metric});
    for (const auto& name : ours) {
      if (!theirs.contains(name)) continue;
      found.add_each("scorer " + name, a.at("scorers").at(name), b.at("scorers").at(name), Bearing::kRefused,
                     {metric});
    }
  }
}

/// How the images of two evaluations were drawn and scored.
void add_evaluation(const Json& a, const Json& b, const std::vector<std::string>& metrics, Found& found) {
  Json both = a;
  both.update(b);
  for (const auto& [part, _] : both.items()) {
    if (kNoCondition.contains(part)) continue;
    const auto x = a.value(part, Json()), y = b.value(part, Json());
    if (kPromptParts.contains(part)) {
      found.add(name_of(part, kPromptParts), x, y, Bearing::kCheckpoints);
    } else if (part == "device" && is_cpu(x) == is_cpu(y)) {
      found.add(part, x, y, Bearing::kCheckpoints);  // one GPU and another
    } else {
      found.add(name_of(part), x, y, Bearing::kRefused);
    }
  }
  auto x = a.at("settings"), y = b.at("settings");
  // It says which prompts are left out, and changes no image.
  for (const char* prompts : {"leave_out_validation_prompts"}) {
    found.add(prompts, x.value(prompts, Json()), y.value(prompts, Json()), Bearing::kCheckpoints);
    x.erase(prompts);
    y.erase(prompts);
  }
  found.add_each("evaluation setting", x, y, Bearing::kRefused);
  add_scorers(a, b, metrics, found);
}

/// How two runs were trained.
void add_training(const Json& a, const Json& b, Found& found) {
  found.add("method", a.at("method"), b.at("method"), Bearing::kNone);
  if (a.at("method") == b.at("method")) {  // those of two methods have little in common
    const Json none = Json::object();
    found.add_each("method setting", a.value("method_settings", none), b.value("method_settings", none),
                   Bearing::kNone);
    found.add("code of the method", a.value("method_source", Json()), b.value("method_source", Json()),
              Bearing::kNone);
  }
  const auto is_outside = [](const Json& config) { return !is_trained_here(config.at("method")); };
  if (is_outside(a) || is_outside(b)) {
    const auto where = [&](const Json& config) {
      const char* given = config.at("method") == kImagesMethod ? "images" : "imported";
      return is_outside(config)
                 ? Json("elsewhere " + sha256_hex(canonical_json(config.value(given, Json()))).substr(0, 12))
                 : Json("here");
    };
    found.add("training", where(a), where(b), Bearing::kCheckpoints);
    return;
  }
  Json both = a;
  both.update(b);
  for (const auto& [part, _] : both.items()) {
    if (kNoTraining.contains(part)) continue;
    const auto x = a.value(part, Json()), y = b.value(part, Json());
    const auto prefix = part == "settings"  ? "training setting"
                        : part == "scorers" ? "reward scorer"
                                            : name_of(part);
    found.add_each(prefix, x, y, Bearing::kCheckpoints);
  }
}

/// How two rows' checkpoints were chosen.
void add_selection(const ComparedRow& baseline, const ComparedRow& method, Found& found) {
  const auto& a = baseline.experiment->table.selection;
  const auto& b = method.experiment->table.selection;
  found.add("checkpoint selected by", a.metric, b.metric, Bearing::kCheckpoints);
  found.add("checkpoint selected on", a.split, b.split, Bearing::kCheckpoints);
  found.add("rule of selection", a.rule, b.rule, Bearing::kCheckpoints);
  const auto prompts = [](const ComparedRow& row) {
    for (const auto& checkpoint : row.selected("validation"))
      return row.store->evaluation(checkpoint.evaluation_id)->config.value("positions_sha256", Json());
    return Json();
  };
  found.add("prompts that selected the checkpoint", prompts(baseline), prompts(method),
            Bearing::kCheckpoints);
}

/// What recorded the jobs: the sources of the code, else the worker; and the kinds of CPU.
void add_code(const ComparedRow& baseline, const ComparedRow& method,
              const std::vector<EvaluationPair>& pairs, Found& found) {
  constexpr auto kCpu = R"sql(
    SELECT DISTINCT json_extract(detail, '$.cpu') FROM events
    WHERE type = 'job_started' AND job_id = ?1 AND json_extract(detail, '$.cpu') IS NOT NULL)sql";
  const auto of = [&](const ComparedRow& row, auto side) {
    std::vector<std::string> jobs;
    Names code, cpus;
    for (const auto& pair : pairs) {
      const EvaluatedCheckpoint& checkpoint = pair.*side;
      for (const auto& job : {checkpoint.run_id, checkpoint.evaluation_id}) jobs.push_back(job);
    }
    for (const auto& group : code_of_jobs(*row.store, jobs)) code.insert(group.text());
    for (const auto& job : jobs) {
      for (const auto& cpu : rows_of<std::string>(*row.store, kCpu, job)) cpus.insert(cpu);
    }
    const auto text = [](const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); };
    return std::pair(text(code), text(cpus));
  };
  const auto [our_code, our_cpus] = of(baseline, &EvaluationPair::baseline);
  const auto [their_code, their_cpus] = of(method, &EvaluationPair::method);
  found.add("code", our_code, their_code, Bearing::kNone);
  found.add("CPU", our_cpus, their_cpus, Bearing::kNone);
}

}  // namespace

std::vector<SideDifference> differences_of(const ComparedRow& baseline, const ComparedRow& method,
                                           const std::vector<EvaluationPair>& pairs,
                                           const std::vector<std::string>& metrics) {
  Found found(method.side.name);
  const bool are_trained = !baseline.is_base() && !method.is_base();
  for (const auto& [ours, theirs] : pairs) {
    add_evaluation(baseline.store->evaluation(ours.evaluation_id)->config,
                   method.store->evaluation(theirs.evaluation_id)->config, metrics, found);
    if (are_trained)
      add_training(baseline.store->run(ours.run_id)->config, method.store->run(theirs.run_id)->config, found);
  }
  for (const auto& metric : metrics) {
    const auto direction = [&](const ComparedRow& row) { return row.experiment->table.better(metric); };
    found.add("good direction of " + metric, direction(baseline), direction(method), Bearing::kRefused,
              {metric});
  }
  if (are_trained) add_selection(baseline, method, found);
  found.add("scale", baseline.experiment->scale, method.experiment->scale, Bearing::kNone);
  add_code(baseline, method, pairs, found);
  return std::move(found).all();
}

}  // namespace harness
