#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/files.h"
#include "core/sha256.h"
#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/checks/check_list.h"
#include "harness/plan/inputs.h"
#include "results/store/rows.h"

// Which prompts: their texts against the checksum, the split from its seed, and every image of it exactly
// once.

namespace harness {
namespace {

struct StoredSet {
  std::int64_t id;
  std::string name, sha256;
};

std::vector<Prompt> stored_prompts(Store& store, std::int64_t set) {
  return checked_rows<Prompt>(
      store, "SELECT position, text, target FROM prompts WHERE prompt_set_id = ?1 ORDER BY position",
      [](const Query& row) {
        return Prompt{static_cast<int>(row.integer(0)), row.text(1), row.text(2)};
      },
      set);
}

/// Checksums of every prompt set that the experiment rests on.
std::vector<std::string> sets_of(const CheckedExperiment& experiment) {
  std::vector<std::string> sums;
  const auto add = [&](const Json& config, const char* field) {
    const auto sum = config.value(field, "");
    if (!sum.empty() && std::ranges::find(sums, sum) == sums.end()) sums.push_back(sum);
  };
  for (const auto& run : experiment.runs) add(run.run.config, "train_prompts_sha256");
  for (const auto& e : experiment.evaluations) add(e.evaluation.config, "prompts_sha256");
  return sums;
}

void check_set(const StoredSet& set, std::vector<Prompt> prompts, Findings& findings) {
  int expected = 0;
  for (const auto& prompt : prompts) {
    if (prompt.position != expected) {
      return findings.add(
          fmt::format("prompt set {}: prompt {} is missing, or there twice", set.name, expected));
    }
    ++expected;
    if (prompt.target != target_or_nothing(prompt.text)) {
      findings.add(fmt::format("prompt set {}: the target of prompt {} is not what its text quotes", set.name,
                               prompt.position));
    }
  }
  PromptSet whole;
  whole.prompts = std::move(prompts);
  const auto bytes = prompt_set_bytes(whole);
  if (sha256_hex(bytes) == set.sha256 || sha256_hex(bytes + "\n") == set.sha256) return;
  findings.add(fmt::format("prompt set {}: its {} prompts are not those of checksum {}", set.name,
                           whole.prompts.size(), set.sha256.substr(0, 12)));
}

struct SplitParameters {
  std::uint64_t seed;
  int of, take;
};

std::vector<int> positions_of(const CheckedExperiment& experiment, const SplitParameters& parameters,
                              const std::string& split) {
  const auto whole = make_split(parameters.seed, parameters.of, parameters.take);
  const auto& scale = experiment.table.scale(experiment.scale);
  const bool is_test = split == "test";
  auto positions = is_test ? whole.test : whole.validation;
  const auto limit = is_test ? scale.test_limit : scale.validation_limit;
  if (limit && static_cast<std::size_t>(*limit) < positions.size())
    positions.resize(static_cast<std::size_t>(*limit));
  return positions;
}

void check_positions(const CheckedExperiment& experiment, const CheckedEvaluation& checked,
                     const std::vector<int>& positions, Findings& findings) {
  const auto& e = checked.evaluation;
  const auto name = experiment.name(checked);
  if (e.split_sha256 != positions_checksum(positions)) {
    findings.add(fmt::format("{}: its prompts are not those that the split's seed gives", name));
  }
  if (const auto file = checked.folder / "positions.json"; !std::filesystem::exists(file)) {
    findings.add(fmt::format("{}: {} is not there", name, file.string()));
  } else if (read_json(file) != Json(positions)) {
    findings.add(fmt::format("{}: {} holds other prompts", name, file.string()));
  }
  auto drawn = checked_rows<int>(
      experiment.store, R"sql(
        SELECT DISTINCT position FROM samples JOIN prompts ON prompts.id = prompt_id
        WHERE evaluation_id = ?1 ORDER BY position)sql",
      [](const Query& row) { return static_cast<int>(row.integer(0)); }, e.id);
  auto wanted = positions;
  std::ranges::sort(wanted);
  std::vector<int> foreign, absent;
  std::ranges::set_difference(drawn, wanted, std::back_inserter(foreign));
  std::ranges::set_difference(wanted, drawn, std::back_inserter(absent));
  if (!foreign.empty())
    findings.add(
        fmt::format("{}: {} prompts of another split, the first {}", name, foreign.size(), foreign[0]));
  if (!absent.empty())
    findings.add(fmt::format("{}: {} prompts of the split have no image, the first {}", name, absent.size(),
                             absent[0]));
}

struct Count {
  std::string metric;  ///< empty: of images
  std::int64_t rows, distinct;
};

std::vector<Count> counts_of(Store& store, const std::string& evaluation) {
  return checked_rows<Count>(
      store, R"sql(
        SELECT '', count(*), count(DISTINCT prompt_id) FROM samples WHERE evaluation_id = ?1
        UNION ALL
        SELECT name, count(*), count(DISTINCT prompt_id)
        FROM metrics WHERE evaluation_id = ?1 GROUP BY name)sql",
      [](const Query& row) {
        return Count{row.text(0), row.integer(1), row.integer(2)};
      },
      evaluation);
}

}  // namespace

Findings check_prompts(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = {},
                    .summary = {},
                    .hint = "the DB's prompts were changed: restore it from a copy, or repeat with --fresh"};
  std::size_t prompts = 0;
  const auto sums = sets_of(experiment);
  for (const auto& sum : sums) {
    const auto sets = checked_rows<StoredSet>(
        experiment.store, "SELECT id, name, sha256 FROM prompt_sets WHERE sha256 = ?1",
        [](const Query& row) {
          return StoredSet{row.integer(0), row.text(1), row.text(2)};
        },
        sum);
    if (sets.size() != 1) {
      findings.add(fmt::format("the prompt set of checksum {} is not in the DB", sum.substr(0, 12)));
      continue;
    }
    auto stored = stored_prompts(experiment.store, sets.front().id);
    prompts += stored.size();
    check_set(sets.front(), std::move(stored), findings);
  }
  findings.summary =
      fmt::format("{} prompts of {} sets have their checksums and targets", prompts, sums.size());
  return findings;
}

Findings check_split(const CheckedExperiment& experiment, Fields& rule) {
  const auto& spec = experiment.table;
  const SplitParameters parameters{.seed = rule.optional<std::uint64_t>("seed", spec.split_seed),
                                   .of = rule.optional<int>("of", spec.prompts_first),
                                   .take = rule.optional<int>("take", spec.split_take)};
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "only results on the table's own split belong in it: repeat the reproduce with --fresh"};
  const Json sizes = {parameters.take, parameters.of - parameters.take};
  std::map<std::string, std::vector<int>> positions;
  for (const std::string split : {"validation", "test"})
    positions[split] = positions_of(experiment, parameters, split);
  for (const auto& checked : experiment.evaluations) {
    const auto& e = checked.evaluation;
    const auto name = experiment.name(checked);
    if (e.config.value("split_seed", Json()) != parameters.seed ||
        e.config.value("split_sizes", Json()) != sizes) {
      findings.add(fmt::format("{}: split {} {} instead of {} {}", name,
                               e.config.value("split_seed", Json()).dump(),
                               e.config.value("split_sizes", Json()).dump(), parameters.seed, sizes.dump()));
    }
    const auto known = positions.find(e.split);
    if (known == positions.end()) {
      findings.add(fmt::format("{}: there is no split \"{}\"", name, e.split));
    } else {
      check_positions(experiment, checked, known->second, findings);
    }
  }
  findings.summary =
      fmt::format("seed {} divides {} prompts in {} and {}; {} and {} of them are used", parameters.seed,
                  parameters.of, parameters.take, parameters.of - parameters.take,
                  positions["validation"].size(), positions["test"].size());
  return findings;
}

Findings check_counts(const CheckedExperiment& experiment, Fields&) {
  Findings findings{
      .problems = {},
      .summary = {},
      .hint = "rows were lost or written twice: restore the DB from a copy, or repeat with --fresh"};
  std::int64_t images = 0;
  for (const auto& checked : experiment.evaluations) {
    const auto& e = checked.evaluation;
    const auto name = experiment.name(checked);
    const auto counts = counts_of(experiment.store, e.id);
    std::set<std::string> metrics;
    for (const auto& count : counts) {
      if (count.metric.empty()) {
        images += count.rows;
      } else {
        metrics.insert(count.metric);
      }
      if (count.rows != e.n || count.distinct != e.n) {
        findings.add(fmt::format("{}: {} {} of {} prompts, and it is of {}", name, count.rows,
                                 count.metric.empty() ? "images" : "values of " + count.metric,
                                 count.distinct, e.n));
      }
    }
    // A scorer may give more metrics than its table asks for.
    for (const auto& metric : e.config.value("metrics", std::vector<std::string>{})) {
      if (!metrics.contains(metric) && !e.not_run.contains(metric))
        findings.add(fmt::format("{}: there is no value of {}", name, metric));
    }
  }
  findings.summary = fmt::format("{} images, each with a row of every metric", images);
  return findings;
}

}  // namespace harness
