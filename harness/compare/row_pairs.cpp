#include "harness/compare/row_pairs.h"

#include <algorithm>
#include <utility>

#include "core/unicode/normal_form.h"
#include "results/store/rows.h"

namespace harness {
namespace {

std::vector<std::int64_t> seeds_of(const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::int64_t> seeds;
  for (const auto& checkpoint : checkpoints) seeds.push_back(checkpoint.seed);
  std::ranges::sort(seeds);
  return seeds;
}

}  // namespace

RunPairs run_pairs(const ComparedRow& baseline, const ComparedRow& method, const std::string& split) {
  const auto ours = baseline.selected(split), theirs = method.selected(split);
  RunPairs found;
  auto& told = found.seeds;
  told.method = method.side.name;
  const auto a = seeds_of(ours), b = seeds_of(theirs);
  std::ranges::set_intersection(a, b, std::back_inserter(told.seeds));
  std::ranges::set_difference(a, b, std::back_inserter(told.only_baseline_seeds));
  std::ranges::set_difference(b, a, std::back_inserter(told.only_method_seeds));
  for (const auto& one : ours) {
    for (const auto& other : theirs) {
      if (one.seed == other.seed) found.pairs.push_back({one, other});
    }
  }
  if (!found.pairs.empty()) return found;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    found.pairs.push_back({ours[i], theirs[i]});
    told.seeds_in_order.emplace_back(ours[i].seed, theirs[i].seed);
  }
  return found;
}

PromptPairs::PromptPairs(const ComparedRow& baseline, const ComparedRow& method,
                         std::vector<EvaluationPair> pairs)
    : baseline_(*baseline.store), method_(*method.store), pairs_(std::move(pairs)) {
  for (const auto& [ours, theirs] : pairs_) {
    baseline_prompts_[ours.evaluation_id] = prompts_of(*baseline.store, ours.evaluation_id);
    method_prompts_[theirs.evaluation_id] = prompts_of(*method.store, theirs.evaluation_id);
  }
}

/// Which of equal prompts one is counts in the whole set: there its place decides its noise.
PromptPairs::Prompts PromptPairs::prompts_of(Store& store, const std::string& evaluation) {
  constexpr auto kSql = R"sql(
    WITH numbered AS (
      SELECT prompts.id, text, ifnull(target, '') AS target, position,
             row_number() OVER (PARTITION BY text, ifnull(target, '') ORDER BY position) AS occurrence
      FROM prompts JOIN evaluations ON evaluations.prompt_set_id = prompts.prompt_set_id
      WHERE evaluations.id = ?1
    )
    SELECT id, text, target, occurrence, position FROM numbered
    WHERE id IN (SELECT prompt_id FROM samples WHERE evaluation_id = ?1))sql";
  Prompts prompts;
  for (auto& [id, text, target, occurrence, position] :
       rows_of<std::int64_t, std::string, std::string, std::int64_t, std::int64_t>(store, kSql, evaluation))
    prompts[id] = {{std::move(text), std::move(target), occurrence}, position};
  return prompts;
}

void PromptPairs::count(SidePairing& pairing) const {
  std::map<PromptKey, std::int64_t> ours, theirs;  // with their places
  for (const auto& [_, prompts] : baseline_prompts_) {
    for (const auto& [id, prompt] : prompts) ours[prompt.key] = prompt.position;
  }
  for (const auto& [_, prompts] : method_prompts_) {
    for (const auto& [id, prompt] : prompts) theirs[prompt.key] = prompt.position;
  }
  for (const auto& [key, position] : ours) {
    const auto other = theirs.find(key);
    if (other == theirs.end()) {
      ++pairing.only_baseline;
      continue;
    }
    ++pairing.prompts;
    if (position == other->second && pairing.seeds_in_order.empty()) ++pairing.same_noise;
  }
  pairing.only_method = static_cast<std::int64_t>(theirs.size()) - pairing.prompts;
}

std::vector<PairedValue> PromptPairs::values(const std::string& metric) {
  std::map<std::string, std::int64_t> clusters;
  std::vector<PairedValue> values;
  for (const auto& [ours, theirs] : pairs_) {
    const auto& our_prompts = baseline_prompts_.at(ours.evaluation_id);
    const auto& their_prompts = method_prompts_.at(theirs.evaluation_id);
    std::map<std::pair<PromptKey, std::int64_t>, std::optional<double>> of_baseline;
    for (const auto& score : baseline_.values(ours.evaluation_id, metric))
      of_baseline[{our_prompts.at(score.prompt_id).key, score.sample}] = score.value;
    for (const auto& score : method_.values(theirs.evaluation_id, metric)) {
      const auto& key = their_prompts.at(score.prompt_id).key;
      const auto other = of_baseline.find({key, score.sample});
      if (other == of_baseline.end()) continue;
      const auto cluster = clusters.try_emplace(folded_text(key.text), std::ssize(clusters)).first->second;
      values.push_back(
          {.baseline = other->second, .method = score.value, .cluster = cluster, .seed = ours.seed});
    }
  }
  return values;
}

}  // namespace harness
