#include "harness/compare/conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/read/builds.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"
#include "results/statistics/verdict.h"
#include "results/store/rows.h"

namespace harness {
namespace {

using Names = std::set<std::string>;

/// Evaluations of one seed.
using Pairs = std::vector<std::pair<EvaluatedCheckpoint, EvaluatedCheckpoint>>;

/// Parts of an evaluation's identity that say which one it is, or are compared for themselves.
const Names kNoCondition = {"kind", "run", "step", "seed", "split", "metrics", "scorers", "settings"};
/// Parts of a training's identity that its evaluations have too, or that are told for themselves.
const Names kNoTraining = {
    "kind",         "seed",   "backbone",        "weights_sha256", "precision", "device", "numerics_version",
    "cpu_numerics", "method", "method_settings", "method_source",  "imported"};
const std::map<std::string, std::string> kNames = {{"weights_sha256", "weights"},
                                                   {"numerics_version", "version of the numerics"},
                                                   {"cpu_numerics", "version of the numerics on CPUs"},
                                                   {"train_prompts_sha256", "training prompts"},
                                                   {"prompts_sha256", "prompt set"},
                                                   {"split_seed", "seed of the split"},
                                                   {"split_sizes", "sizes of the splits"},
                                                   {"positions_sha256", "prompts of the split"}};

std::string name_of(const std::string& part) {
  const auto found = kNames.find(part);
  return found == kNames.end() ? part : found->second;
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

/// Differences of one comparison, each once.
class Found {
 public:
  explicit Found(std::string method) : method_(std::move(method)) {}

  void add(const std::string& what, const Json& a, const Json& b) {
    const auto is_same = [&](const SideDifference& other) {
      return other.what == what && other.baseline_value == a && other.method_value == b;
    };
    if (a != b && std::ranges::none_of(found_, is_same)) found_.push_back({method_, what, a, b});
  }

  /// Each value that differs in two documents, as "PREFIX name.of.value".
  void add_each(const std::string& prefix, const Json& a, const Json& b) {
    for_each_difference(a, b, "", [&](const std::string& name, const Json& x, const Json& y) {
      add(prefix + (name.empty() ? "" : " " + name), x, y);
    });
  }

  const std::vector<SideDifference>& all() const { return found_; }

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
void add_scorers(const Json& a, const Json& b, const std::vector<std::string>& metrics, Found& refused) {
  const auto in_order = [](const Names& names) { return Json(fmt::format("{}", fmt::join(names, ", "))); };
  for (const auto& metric : metrics) {
    const auto ours = scorers_of(metric, a), theirs = scorers_of(metric, b);
    refused.add("scorer", in_order(ours), in_order(theirs));
    for (const auto& name : ours) {
      if (theirs.contains(name))
        refused.add_each("scorer " + name, a.at("scorers").at(name), b.at("scorers").at(name));
    }
  }
}

/// How the images of two evaluations were generated and scored.
void add_evaluation(const Json& a, const Json& b, const std::vector<std::string>& metrics, Found& refused) {
  Json both = a;
  both.update(b);
  for (const auto& [part, _] : both.items()) {
    if (!kNoCondition.contains(part))
      refused.add(name_of(part), a.value(part, Json()), b.value(part, Json()));
  }
  refused.add_each("evaluation setting", a.at("settings"), b.at("settings"));
  add_scorers(a, b, metrics, refused);
}

/// How two runs were trained.
void add_training(const Json& a, const Json& b, Found& refused, Found& noted) {
  noted.add("method", a.at("method"), b.at("method"));
  if (a.at("method") == b.at("method")) {  // those of two methods have little in common
    const Json none = Json::object();
    noted.add_each("method setting", a.value("method_settings", none), b.value("method_settings", none));
    noted.add("code of the method", a.value("method_source", Json()), b.value("method_source", Json()));
  }
  const auto is_elsewhere = [](const Json& config) { return !row_traits(config.at("method")).trains; };
  if (is_elsewhere(a) || is_elsewhere(b)) {
    const auto where = [&](const Json& config) {
      const std::string given = row_traits(config.at("method")).given;
      return is_elsewhere(config)
                 ? Json("elsewhere " + sha256_hex(canonical_json(config.value(given, Json()))).substr(0, 12))
                 : Json("here");
    };
    refused.add("training", where(a), where(b));
    return;
  }
  Json both = a;
  both.update(b);
  for (const auto& [part, _] : both.items()) {
    if (kNoTraining.contains(part)) continue;
    const auto prefix = part == "settings"  ? "training setting"
                        : part == "scorers" ? "reward scorer"
                                            : name_of(part);
    refused.add_each(prefix, a.value(part, Json()), b.value(part, Json()));
  }
}

/// How two rows' checkpoints were chosen.
void add_selection(Store& store, const ComparedRow& baseline, const ComparedRow& method, Found& refused) {
  const auto& a = baseline.experiment().table.selection;
  const auto& b = method.experiment().table.selection;
  refused.add("checkpoint selected by", a.metric, b.metric);
  refused.add("checkpoint selected on", a.split, b.split);
  refused.add("rule of selection", a.rule, b.rule);
  const auto prompts = [&](const ComparedRow& row) {
    for (const auto& checkpoint : row.selected("validation"))
      return store.evaluation(checkpoint.evaluation_id)->config.value("positions_sha256", Json());
    return Json();
  };
  refused.add("prompts that selected the checkpoint", prompts(baseline), prompts(method));
}

/// What recorded the jobs: the sources of the code, else the worker; and the kinds of CPU.
void add_code(Store& store, const Pairs& pairs, Found& noted) {
  constexpr auto kCpu = R"sql(
    SELECT DISTINCT json_extract(detail, '$.cpu') FROM events
    WHERE type = 'job_started' AND job_id = ?1 AND json_extract(detail, '$.cpu') IS NOT NULL)sql";
  const auto of = [&](auto side) {
    std::vector<std::string> jobs;
    Names code, cpus;
    for (const auto& pair : pairs) {
      const EvaluatedCheckpoint& checkpoint = pair.*side;
      for (const auto& job : {checkpoint.run_id, checkpoint.evaluation_id}) jobs.push_back(job);
    }
    for (const auto& group : code_of_jobs(store, jobs)) code.insert(group.text());
    for (const auto& job : jobs) {
      for (const auto& cpu : rows_of<std::string>(store, kCpu, job)) cpus.insert(cpu);
    }
    const auto text = [](const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); };
    return std::pair(text(code), text(cpus));
  };
  const auto [our_code, our_cpus] = of(&Pairs::value_type::first);
  const auto [their_code, their_cpus] = of(&Pairs::value_type::second);
  noted.add("code", our_code, their_code);
  noted.add("CPU", our_cpus, their_cpus);
}

/// The evaluations of the seeds that both have, in their order.
Pairs pairs_of(const ComparedRow& baseline, const ComparedRow& method, const std::string& split,
               SidePairing& told) {
  const auto ours = baseline.selected(split), theirs = method.selected(split);
  const auto seeds = [](const auto& checkpoints) {
    std::vector<std::int64_t> found;
    for (const auto& checkpoint : checkpoints) found.push_back(checkpoint.seed);
    return found;
  };
  const auto a = seeds(ours), b = seeds(theirs);
  std::ranges::set_intersection(a, b, std::back_inserter(told.seeds));
  std::ranges::set_difference(a, b, std::back_inserter(told.only_baseline));
  std::ranges::set_difference(b, a, std::back_inserter(told.only_method));
  Pairs pairs;
  for (const auto seed : told.seeds)
    pairs.emplace_back(*std::ranges::find(ours, seed, &EvaluatedCheckpoint::seed),
                       *std::ranges::find(theirs, seed, &EvaluatedCheckpoint::seed));
  return pairs;
}

}  // namespace

Terms require_comparable(Store& store, const ComparedRow& baseline, const ComparedRow& method,
                         const std::string& split, const std::vector<std::string>& metrics) {
  SidePairing pairing{.method = method.name};
  const auto pairs = pairs_of(baseline, method, split, pairing);
  Found refused(method.name), noted(method.name);
  if (pairs.empty()) refused.add("seeds", pairing.only_baseline, pairing.only_method);
  const auto is_start = [](const ComparedRow& row) { return row.experiment().traits_of(row.row).is_start; };
  const bool are_trained = !is_start(baseline) && !is_start(method);
  for (const auto& [ours, theirs] : pairs) {
    add_evaluation(store.evaluation(ours.evaluation_id)->config,
                   store.evaluation(theirs.evaluation_id)->config, metrics, refused);
    if (are_trained)
      add_training(store.run(ours.run_id)->config, store.run(theirs.run_id)->config, refused, noted);
  }
  for (const auto& metric : metrics)
    refused.add("good direction of " + metric, baseline.experiment().table.better(metric),
                method.experiment().table.better(metric));
  if (are_trained) add_selection(store, baseline, method, refused);
  const bool judged_alike = baseline.experiment().judges_methods() == method.experiment().judges_methods();
  (judged_alike ? noted : refused).add("scale", baseline.experiment().scale, method.experiment().scale);
  if (!refused.all().empty()) {
    std::vector<std::string> reasons;
    for (const auto& difference : refused.all()) reasons.push_back(in_words(difference));
    throw Error(fmt::format("{} and {} differ in more than the method: {}", baseline.name, method.name,
                            join(reasons, "; ")),
                "harness compare", "make them rows of one table, or evaluate and train both alike");
  }
  if (std::ranges::all_of(pairs,
                          [](const auto& p) { return p.first.evaluation_id == p.second.evaluation_id; }))
    throw Error(
        fmt::format("{} and {} are the same evaluations of the same runs", baseline.name, method.name),
        "harness compare", "name two rows that differ");
  add_code(store, pairs, noted);
  return {.pairing = std::move(pairing), .differences = noted.all()};
}

}  // namespace harness
