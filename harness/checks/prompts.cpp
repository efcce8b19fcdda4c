#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/event_log.h"
#include "core/files.h"
#include "core/geneval/record.h"
#include "core/sha256.h"
#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/checks/check.h"
#include "harness/images/image_list.h"
#include "harness/plan/inputs.h"
#include "results/store/rows.h"

// Which prompts: their texts against the checksum, the split from its seed, and every image of it exactly
// once.

namespace harness {
namespace {

std::vector<Prompt> stored_prompts(Store& store, std::int64_t set) {
  std::vector<Prompt> prompts;
  constexpr auto kSql =
      "SELECT position, text, target FROM prompts WHERE prompt_set_id = ?1 ORDER BY position";
  for (auto& [position, text, target] : rows_of<int, std::string, std::string>(store, kSql, set))
    prompts.push_back({position, std::move(text), std::move(target)});
  return prompts;
}

/// Checksums of every prompt set that the experiment rests on.
std::vector<std::string> sets_of(const CheckedExperiment& experiment) {
  std::vector<std::string> sums;
  const auto add = [&](const Json& config, const char* field) {
    const auto sum = config.value(field, "");
    if (!sum.empty() && std::ranges::find(sums, sum) == sums.end()) sums.push_back(sum);
  };
  for (const auto& run : experiment.runs) add(run.config, "train_prompts_sha256");
  for (const auto& e : experiment.evaluations) add(e.config, "prompts_sha256");
  return sums;
}

/// Of a GenEval set a target is what its record asks for, of others what the prompt quotes.
bool is_target_of(const Prompt& prompt, const std::string& set) {
  if (task_of_set(set) != kGenevalPrompts) return prompt.target == target_or_nothing(prompt.text);
  try {
    return geneval_target(record_of_target(prompt.text, prompt.target, "target")) == prompt.target;
  } catch (const Error&) {
    return false;
  }
}

void check_set(const std::string& name, const std::string& sha256, std::vector<Prompt> prompts,
               Findings& findings) {
  int expected = 0;
  for (const auto& prompt : prompts) {
    if (prompt.position != expected) {
      return findings.add("prompt set {}: prompt {} is missing, or there twice", name, expected);
    }
    ++expected;
    if (!is_target_of(prompt, name)) {
      findings.add("prompt set {}: the target of prompt {} is not {}", name, prompt.position,
                   task_of_set(name) == kGenevalPrompts ? "a record" : "what its text quotes");
      if (task_of_set(name) == kGenevalPrompts) return;
    }
  }
  PromptSet whole;
  whole.name = name;
  whole.prompts = std::move(prompts);
  const auto bytes = prompt_set_bytes(whole);
  if (sha256_hex(bytes) == sha256 || sha256_hex(bytes + "\n") == sha256) return;
  findings.add("prompt set {}: its {} prompts are not those of checksum {}", name, whole.prompts.size(),
               sha256.substr(0, 12));
}

struct SplitParameters {
  SplitRule rule;
  int of;
  bool leaves_out = false;
};

/// What the rule file asks for, else the table's own.
SplitParameters split_parameters(Fields& rule, const CheckedExperiment& experiment) {
  const auto& table = experiment.table;
  SplitParameters parameters{
      .rule = table.split,
      .of = rule.optional<int>("of", table.prompts_first),
      .leaves_out = experiment.effective.evaluation_settings.value(kLeaveOutValidationPrompts, false)};
  if (rule.has("first")) {
    parameters.rule = {.seed = std::nullopt, .take = rule.required<int>("first")};
  } else if (rule.has("seed")) {
    parameters.rule = {.seed = rule.required<std::uint64_t>("seed"), .take = rule.required<int>("take")};
  }
  return parameters;
}

/// The prompts that the experiment was evaluated on, as the DB has them.
PromptSet evaluation_set(const CheckedExperiment& experiment) {
  PromptSet set{
      .name = experiment.effective.prompt_set, .sha256 = {}, .known = false, .origin = {}, .prompts = {}};
  for (const auto id : rows_of<std::int64_t>(experiment.store, "SELECT id FROM prompt_sets WHERE sha256 = ?1",
                                             experiment.effective.prompt_set_sha256))
    set.prompts = stored_prompts(experiment.store, id);
  return set;
}

/// The prompts that images were given of.
std::vector<int> positions_with_images(const CheckedExperiment& experiment) {
  std::set<int> positions;
  for (const auto& run : experiment.runs) {
    if (!run.is_images()) continue;
    for (const auto& checkpoint : experiment.store.checkpoints(run.id))
      add_positions(read_image_list(run.place / checkpoint.path.value_or("") / kImageListFile),
                    experiment.table.samples, positions);
  }
  return {positions.begin(), positions.end()};
}

/// Both parts, before the scale's cut.
Split whole_split(const CheckedExperiment& experiment, const SplitParameters& parameters) {
  const auto& [rule, of, leaves_out] = parameters;
  if (experiment.table.with_images_only) return make_split(rule, positions_with_images(experiment));
  return leaves_out ? split_of(evaluation_set(experiment), rule, of, true) : make_split(rule, of);
}

std::vector<int> positions_of(const CheckedExperiment& experiment, const Split& whole,
                              const std::string& split) {
  const auto& scale = experiment.table.scale(experiment.scale);
  const bool is_test = split == "test";
  auto positions = is_test ? whole.test : whole.validation;
  const auto limit = is_test ? scale.test_limit : scale.validation_limit;
  if (limit && static_cast<std::size_t>(*limit) < positions.size())
    positions.resize(static_cast<std::size_t>(*limit));
  return positions;
}

void check_positions(const CheckedExperiment& experiment, const CheckedEvaluation& e,
                     const std::vector<int>& positions, Findings& findings) {
  if (e.split_sha256 != positions_checksum(positions)) {
    findings.add("{}: its prompts are not those that the split gives", e.name);
  }
  if (const auto file = e.place / kPositionsFile; !std::filesystem::exists(file)) {
    findings.add("{}: {} is missing", e.name, file.string());
  } else if (read_json(file) != Json(positions)) {
    findings.add("{}: {} holds other prompts", e.name, file.string());
  }
  const auto drawn = rows_of<int>(experiment.store, R"sql(
      SELECT DISTINCT position FROM samples JOIN prompts ON prompts.id = prompt_id
      WHERE evaluation_id = ?1 ORDER BY position)sql",
                                  e.id);
  auto wanted = positions;
  std::ranges::sort(wanted);
  std::vector<int> foreign, absent;
  std::ranges::set_difference(drawn, wanted, std::back_inserter(foreign));
  std::ranges::set_difference(wanted, drawn, std::back_inserter(absent));
  if (!foreign.empty())
    findings.add("{}: {} prompts of another split, the first {}", e.name, foreign.size(), foreign[0]);
  if (!absent.empty())
    findings.add("{}: {} prompts of the split have no image, the first {}", e.name, absent.size(), absent[0]);
}

/// Rows and prompts of each metric, and without a name of the images.
constexpr auto kCounts = R"sql(
  SELECT '', count(*), count(DISTINCT prompt_id) FROM samples WHERE evaluation_id = ?1
  UNION ALL
  SELECT name, count(*), count(DISTINCT prompt_id) FROM metrics WHERE evaluation_id = ?1 GROUP BY name)sql";

}  // namespace

Findings check_prompts(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "the DB's prompts were changed: restore it from a copy, or repeat with --fresh"};
  std::size_t prompts = 0;
  const auto sums = sets_of(experiment);
  for (const auto& sum : sums) {
    const auto sets = rows_of<std::int64_t, std::string>(
        experiment.store, "SELECT id, name FROM prompt_sets WHERE sha256 = ?1", sum);
    if (sets.size() != 1) {
      findings.add("the prompt set of checksum {} is not in the DB", sum.substr(0, 12));
      continue;
    }
    const auto& [id, name] = sets.front();
    auto stored = stored_prompts(experiment.store, id);
    prompts += stored.size();
    check_set(name, sum, std::move(stored), findings);
  }
  findings.summary =
      fmt::format("{} prompts of {} sets have their checksums and targets", prompts, sums.size());
  return findings;
}

Findings check_split(const CheckedExperiment& experiment, Fields& rule) {
  const auto parameters = split_parameters(rule, experiment);
  const auto& [divided_by, of, leaves_out] = parameters;
  const auto whole = whole_split(experiment, parameters);
  Findings findings{
      .hint = "only results on the table's own split belong in it: repeat the reproduce with --fresh"};
  const Json sizes = {whole.validation.size(), whole.test.size()}, seed = or_null(divided_by.seed);
  std::map<std::string, std::vector<int>> positions;
  for (const std::string split : {"validation", "test"})
    positions[split] = positions_of(experiment, whole, split);
  for (const auto& e : experiment.evaluations) {
    if (e.config.value("split_seed", Json()) != seed || e.config.value("split_sizes", Json()) != sizes) {
      findings.add("{}: split {} {} instead of {} {}", e.name, e.config.value("split_seed", Json()).dump(),
                   e.config.value("split_sizes", Json()).dump(), seed.dump(), sizes.dump());
    }
    const auto known = positions.find(e.split);
    if (known == positions.end()) {
      findings.add("{}: there is no split \"{}\"", e.name, e.split);
    } else {
      check_positions(experiment, e, known->second, findings);
    }
  }
  const auto divided =
      experiment.table.with_images_only ? static_cast<int>(whole.validation.size() + whole.test.size()) : of;
  findings.summary = fmt::format("{} divides {} prompts in {} and {}{}; {} and {} of them are used",
                                 text_of(divided_by), divided, whole.validation.size(), whole.test.size(),
                                 leaves_out ? " without those of validation" : "",
                                 positions["validation"].size(), positions["test"].size());
  return findings;
}

Findings check_counts(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .hint = "rows were lost or written twice: restore the DB from a copy, or repeat with --fresh"};
  std::int64_t images = 0;
  for (const auto& e : experiment.evaluations) {
    std::set<std::string> metrics;
    for (const auto& [metric, rows, distinct] :
         rows_of<std::string, std::int64_t, std::int64_t>(experiment.store, kCounts, e.id)) {
      metrics.insert(metric);
      if (metric.empty()) images += rows;
      const auto samples = e.config.value("samples", std::int64_t{1});
      if (rows != e.n || distinct * samples != e.n) {
        findings.add("{}: {} {} of {} prompts, and it is of {}", e.name, rows,
                     metric.empty() ? "images" : "values of " + metric, distinct, e.n);
      }
    }
    // A scorer may give more metrics than its table asks for.
    for (const auto& metric : e.config.value("metrics", std::vector<std::string>{})) {
      if (!metrics.contains(metric) && !e.not_run.contains(metric))
        findings.add("{}: there is no value of {}", e.name, metric);
    }
  }
  findings.summary = fmt::format("{} images, each with a row of every metric", images);
  return findings;
}

}  // namespace harness
