#include "datasets/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/event_log.h"
#include "core/files.h"
#include "datasets/prompt_set.h"
#include "harness/checks/check.h"
#include "harness/images/image_list.h"
#include "harness/plan/inputs.h"
#include "results/store/rows.h"

// Which prompts were evaluated: the split from its seed.

namespace harness {
namespace {

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
  constexpr auto kSql = R"sql(
    SELECT position, text, target FROM prompts
    WHERE prompt_set_id = (SELECT id FROM prompt_sets WHERE sha256 = ?1) ORDER BY position)sql";
  for (auto& [position, text, target] :
       rows_of<int, std::string, std::string>(experiment.store, kSql, experiment.effective.prompt_set_sha256))
    set.prompts.push_back(stored_prompt(set.name, position, std::move(text), target));
  return set;
}

/// The prompts that images were given of.
std::vector<int> positions_with_images(const CheckedExperiment& experiment) {
  std::set<int> positions;
  for (const auto& run : experiment.runs) {
    if (run.traits().draws) continue;
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
    findings.add("{}: its prompts differ from those of the split", e.name);
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

}  // namespace

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

}  // namespace harness
