#include "evaluators/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/require.h"
#include "core/source_sums/source_sums.h"
#include "core/text.h"
#include "evaluators/ocr.h"

namespace harness {
namespace {

std::set<Evaluator, ByPlace>& registry() {
  static std::set<Evaluator, ByPlace> all;  // made on first use: registration runs before main
  return all;
}

/// Scores in the calling thread.
class PlainScorer : public Scorer {
 public:
  explicit PlainScorer(const Evaluator& evaluator) : evaluator_(evaluator) {}

  std::future<SampleScore> score(const ScorerText& text, const Image& image) override {
    std::promise<SampleScore> done;
    done.set_value(scored(text, image));
    return done.get_future();
  }

 private:
  SampleScore scored(const ScorerText& text, const Image& image) const {
    if (evaluator_.needs_target && text.target.empty())
      return without_values(evaluator_.metrics, kNoTargetReason);
    try {
      return evaluator_.score(text, image);
    } catch (const Error& error) {
      return without_values(evaluator_.metrics, error.what());
    }
  }

  const Evaluator& evaluator_;
};

Json identity_of(const Evaluator& evaluator) {
  if (evaluator.identity) return evaluator.identity();
  return evaluator.score ? Json{{"name", evaluator.name}, {"version", evaluator.version}} : Json();
}

std::vector<const Evaluator*> evaluators_here() {
  std::vector<const Evaluator*> here;
  for (const auto& evaluator : evaluators()) {
    if (!evaluator.identity || !evaluator.identity().is_null()) here.push_back(&evaluator);
  }
  return here;
}

Json described(const Evaluator& evaluator) {
  Json json = {{"name", evaluator.name},
               {"summary", evaluator.summary},
               {"metrics", Json::array()},
               {"source", source_of(evaluator.sources)}};
  for (const auto& metric : evaluator.metrics) json["metrics"].push_back(declared_metric_json(metric));
  if (auto identity = identity_of(evaluator); !identity.is_null()) json["identity"] = std::move(identity);
  if (!evaluator.images.empty()) json["images"] = evaluator.images;
  if (evaluator.guardrail) json["guardrail"] = true;
  if (!evaluator.folder) return json;
  json["folder"] = {{"class", evaluator.folder->model_class}, {"model", evaluator.folder->model}};
  if (!evaluator.folder->parts.empty()) json["folder"]["parts"] = evaluator.folder->parts;
  for (const auto& profile : evaluator.profiles) json["folder"]["profiles"][profile.name] = profile.formula;
  return json;
}

RewardTask task_named(const std::string& name) {
  if (name.starts_with(kMaximizeTask))
    return {.name = name, .summary = {}, .metric = name.substr(std::strlen(kMaximizeTask))};
  if (name.starts_with(kMinimizeTask)) {
    return {.name = name,
            .summary = {},
            .metric = name.substr(std::strlen(kMinimizeTask)),
            .reward = [](double value) { return -value; }};
  }
  std::vector<std::string> known;
  for (const auto& evaluator : evaluators()) {
    for (const auto& task : evaluator.tasks) {
      if (task.name == name) return task;
      known.push_back(task.name);
    }
  }
  throw Error(fmt::format("unknown task \"{}\"", name), "task", suggestion(name, known));
}

}  // namespace

bool register_evaluator(Evaluator evaluator, const char* file) {
  if (evaluator.sources.empty()) evaluator.sources = {file};
  require(find_evaluator(evaluator.name) == nullptr, ("two evaluators are named " + evaluator.name).c_str());
  return registry().insert(std::move(evaluator)).second;
}

const std::set<Evaluator, ByPlace>& evaluators() {
  return registry();
}

const Evaluator* find_evaluator(const std::string& name) {
  const auto found = std::ranges::find(registry(), name, &Evaluator::name);
  return found == registry().end() ? nullptr : &*found;
}

std::unique_ptr<Scorer> open_scorer(const Evaluator& evaluator, const ScorerSetup& setup) {
  if (evaluator.open) return evaluator.open(setup);
  require_planned(setup, identity_of(evaluator), "harness-worker");
  return std::make_unique<PlainScorer>(evaluator);
}

void require_planned(const ScorerSetup& setup, const Json& found, const std::string& where) {
  if (setup.identity == found) return;
  throw Error(fmt::format("scorer {} differs from the one that the run was planned with: {} instead of {}",
                          setup.name, found.dump(), setup.identity.dump()),
              where, "repeat the command: it plans with the scorer that is there now");
}

SampleScore without_values(const std::vector<MetricInfo>& metrics, const std::string& reason) {
  SampleScore score;
  for (const auto& metric : metrics) {
    score.metrics[metric.name] = std::nullopt;
    score.reasons[metric.name] = reason;
  }
  return score;
}

Json describe_evaluators() {
  Json list = Json::array();
  for (const auto* evaluator : evaluators_here()) list.push_back(described(*evaluator));
  return list;
}

Json describe_tasks() {
  Json list = Json::array();
  for (const auto* evaluator : evaluators_here()) {
    for (const auto& task : evaluator->tasks)
      list.push_back({{"name", task.name}, {"evaluator", evaluator->name}, {"summary", task.summary}});
  }
  return list;
}

std::vector<Setting> profile_settings() {
  std::vector<Setting> settings;
  for (const auto* evaluator : evaluators_here()) {
    if (evaluator->profiles.size() < 2) continue;
    std::vector<std::string> names, formulas;
    for (const auto& profile : evaluator->profiles) {
      names.push_back(profile.name);
      formulas.push_back(fmt::format("{}: {}", profile.name, profile.formula));
    }
    settings.push_back(
        {.name = fmt::format("{}_profile", evaluator->name),
         .default_value = names.front(),
         .choices = names,
         .help = fmt::format("what {} means; {}", evaluator->metrics.front().name, join(formulas, "; ")),
         .used_by = "scorer"});
  }
  return settings;
}

std::optional<double> task_reward(const std::string& task, const SampleScore& score) {
  const auto rewarded = task_named(task);
  const auto value = score.metrics.at(rewarded.metric);
  return value && rewarded.reward != nullptr ? std::optional(rewarded.reward(*value)) : value;
}

std::string missing_reward_reason(const std::string& task, const SampleScore& score) {
  const auto reason = score.reasons.find(task_named(task).metric);
  return reason == score.reasons.end() ? "the scorer gave no reason" : reason->second;
}

std::int64_t check_scorer_folder(const std::string& name, const Json& request) {
  const auto where = "scorers." + name;
  const auto* evaluator = find_evaluator(name);
  if (evaluator == nullptr || !evaluator->check) throw Error("has no model folder", where);
  Fields fields(request, where);
  const auto folder = fields.required<std::string>("folder");
  const auto& profiles = evaluator->profiles;
  const auto profile = fields.optional<std::string>("profile", profiles.empty() ? "" : profiles.front().name);
  fields.finish();
  return evaluator->check(folder, profile, where);
}

}  // namespace harness
