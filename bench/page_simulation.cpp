#include "bench/page_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/json.h"
#include "results/statistics/crossed.h"
#include "results/statistics/numeric.h"
#include "results/table/table.h"
#include "results/table/table_judgement.h"
#include "results/verdict/run_variance.h"

namespace harness {
namespace {

using Prompts = std::vector<double>;

/// Independent standard normal noise of all prompts, without its mean. Differences, sums of squares and
/// products are all that is made of it, and these hold in any orthonormal coordinates: in those of Bartlett's
/// decomposition (1933, Proc. R. Soc. Edinburgh 53) the i-th has no more than i + 1, so that it is drawn
/// exactly with fewer numbers than prompts.
class NormalPrompts {
 public:
  NormalPrompts(int prompts, Random& random)
      : free_(static_cast<std::size_t>(prompts) - 1), random_(random) {}

  Prompts next() {
    Prompts values(std::min(drawn_ + 1, free_));
    for (auto& value : values) value = random_.normal();
    if (drawn_ < free_) values.back() = random_.chi(static_cast<double>(free_ - drawn_));
    ++drawn_;
    return values;
  }

 private:
  std::size_t free_, drawn_ = 0;
  Random& random_;
};

/// to += factor * values
void add(double factor, const Prompts& values, Prompts& to) {
  to.resize(std::max(to.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += factor * values[i];
}

double square(const Prompts& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

/// 1 in .4 %, -1 in .4 %, 0 in half, else a little.
double flipped(Random& random) {
  const double u = random.uniform();
  if (u < 0.008) return u < 0.004 ? 1 : -1;
  return u < 0.5 ? 0.04 * random.normal() : 0;
}

}  // namespace

Population Population::of_leaderboard(const std::filesystem::path& file) {
  const auto document = read_json(file);
  const auto& board = document.at("leaderboard");
  const auto baseline = board.at("baseline").get<std::string>(),
             metric = board.at("metric").get<std::string>();
  std::map<std::string, std::map<std::int64_t, double>> rows;
  for (const auto& row : document.at("rows"))
    rows[row.at("method")][row.at("seed")] = row.at("metrics").at(metric).at("mean");
  Population population;
  const auto runs = rows.at(baseline).size();
  const auto add_row = [&](const auto& by_seed) {
    if (by_seed.size() != runs) throw Error("rows have different runs", file.string());
    auto& of_row = population.runs.emplace_back();
    for (const auto& [seed, mean] : by_seed) of_row.push_back(mean);
  };
  add_row(rows.at(baseline));
  for (const auto& [method, by_seed] : rows)
    if (method != baseline) add_row(by_seed);
  return population;
}

PageSimulation::PageSimulation(PageDesign design, const PageNoise& noise)
    : design_(std::move(design)), noise_(noise) {
  if (design_.population) {
    design_.methods = static_cast<int>(design_.population->runs.size()) - 1;
    design_.metrics = 1;
    design_.has_base = false;
    design_.prompts = 0;
  }
  plan_.looks = design_.looks;
  plan_.seeds.resize(static_cast<std::size_t>(design_.looks.back()));
  if (design_.has_base) rows_.push_back(kBase);
  rows_.push_back(kBaseline);
  for (int i = 0; i < design_.methods; ++i) rows_.push_back(fmt::format("m{}", i));
  for (int i = 1; i < design_.metrics; ++i)
    guardrails_.metrics.push_back({.name = fmt::format("g{}", i),
                                   .title = {},
                                   .better = Better::kUp,
                                   .minimal_effect = kMinimalEffect});
  if (design_.prompts == 0) return;
  const double prompts_freedom = design_.prompts - 1;
  for (const auto runs : design_.looks)
    critical_.push_back(CriticalValue({static_cast<double>(runs - 1), prompts_freedom}, kFamilyLevel));
  prompts_critical_ = t_critical(prompts_freedom, kFamilyLevel);
}

double PageSimulation::truth_of(std::size_t row, int metric) const {
  const auto& truth = design_.truth;
  if (rows_[row] == kBase) return -(metric == 0 ? truth.over_base : truth.guards_over_base);
  if (rows_[row] == kBaseline) return 0;
  double mean = metric == 0 ? truth.methods : 0;
  if (row + 1 == rows_.size()) mean += metric < 2 ? truth.better : truth.better_elsewhere;
  if (rows_[row] == "m0" && metric < 2) mean += truth.worse;
  return mean;
}

// What the rows have

double PageSimulation::run_effect(std::size_t row, Random& random) const {
  const bool is_method = rows_[row] != kBaseline && rows_[row] != kBase;
  const double sd = noise_.run_sd / std::sqrt(2.0);
  constexpr double kRatio = 10;
  switch (design_.tail) {
    case Tail::kAlike:
      return -sd * random.skewed();
    case Tail::kOneSided:
      return is_method ? -noise_.run_sd * random.skewed() : 0;
    case Tail::kUnequalSpread:
      return noise_.run_sd * std::sqrt((is_method ? kRatio : 1) / (1 + kRatio)) * random.normal();
    default:
      return sd * random.normal();
  }
}

PageSimulation::Rows PageSimulation::normal_rows(Random& random) const {
  NormalPrompts prompts(design_.prompts, random);
  const auto g = static_cast<double>(design_.prompts);
  const double shared_sd = std::sqrt(noise_.prompt_variance() / 2),
               residual_sd = std::sqrt(noise_.residual_variance() / 2);
  Rows rows(rows_.size() * (design_.is_leaderboard ? 2 : 1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double mean = shared_sd / std::sqrt(g) * random.normal();
    const auto shared = prompts.next();
    for (std::int64_t s = 0; s < plan_.runs(); ++s) {
      rows[i].means.push_back(mean + run_effect(i % rows_.size(), random) +
                              residual_sd / std::sqrt(g) * random.normal());
      auto& deviations = rows[i].deviations.emplace_back();
      add(shared_sd, shared, deviations);
      if (residual_sd > 0) add(residual_sd, prompts.next(), deviations);
    }
  }
  // What is tested at equal evaluations is a checkpoint of the same run.
  for (std::size_t i = rows_.size(); i < rows.size(); ++i) {
    constexpr double kHalf = 0.7071067811865476;
    const auto& first = rows[i - rows_.size()];
    for (std::size_t s = 0; s < first.means.size(); ++s) {
      rows[i].means[s] = kHalf * (rows[i].means[s] + first.means[s]);
      for (auto& value : rows[i].deviations[s]) value *= kHalf;
      add(kHalf, first.deviations[s], rows[i].deviations[s]);
    }
  }
  return rows;
}

PageSimulation::Rows PageSimulation::rows_by_prompt(Random& random) const {
  const auto tail = design_.tail;
  const bool is_rate = tail == Tail::kRates || tail == Tail::kCeiling;
  const auto runs = static_cast<std::size_t>(plan_.runs());
  const auto g = static_cast<std::size_t>(design_.prompts);
  const double shared_sd = std::sqrt(noise_.prompt_variance() / 2),
               residual_sd = std::sqrt(noise_.residual_variance() / 2);
  const auto each = [&](const auto& draw) {
    Prompts values(g);
    for (auto& value : values) value = draw();
    return values;
  };
  // Of a prompt in all rows: its quality, or its log-odds; what images of one noise share.
  const auto quality = each([&] {
    if (tail == Tail::kCeiling) return 4 + random.normal();
    return is_rate ? 0.6 + 2 * random.normal() : 0.3 * random.normal();
  });
  std::vector<Prompts> images;
  for (std::size_t s = 0; is_rate && s < runs; ++s) images.push_back(each([&] { return random.uniform(); }));
  Rows rows(rows_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& row = rows[i];
    const bool is_method = rows_[i] != kBaseline && rows_[i] != kBase;
    const bool flips = tail == Tail::kFlips && is_method;
    const auto shared = each([&] {
      if (flips) return flipped(random);
      if (tail == Tail::kPrompts) return is_method ? std::sqrt(2.0) * shared_sd * random.skewed() : 0;
      return shared_sd * random.normal();
    });
    const auto is_stable = each([&] { return random.uniform() < noise_.stable ? 1.0 : 0.0; });
    for (std::size_t s = 0; s < runs; ++s) {
      const double run = is_rate ? 0.15 * random.normal() : run_effect(i, random);
      std::size_t p = 0;
      auto values = each([&] {
        const auto at = p++;
        if (is_rate) {
          const double u = random.uniform() < 0.5 ? images[s][at] : random.uniform();
          return u < 1 / (1 + std::exp(-quality[at] - run)) ? 1.0 : 0.0;
        }
        if (flips) return run + (is_stable[at] > 0 ? shared[at] : flipped(random));
        if (tail == Tail::kFlips) return run;
        return quality[at] + run + shared[at] + residual_sd * random.normal();
      });
      row.means.push_back(mean(values));
      for (auto& value : values) value -= row.means.back();
      row.deviations.push_back(std::move(values));
    }
    constexpr double kMissing = 0.05;
    for (std::size_t s = 0; s < runs && design_.missing != Missing::kNone; ++s) {
      auto& none = row.no_value.emplace_back(g, false);
      if (design_.missing == Missing::kByChance) {
        for (std::size_t at = 0; at < g; ++at) none[at] = random.uniform() < kMissing;
      } else if (rows_[i] == "m0") {
        auto sorted = row.deviations[s];
        std::ranges::sort(sorted);
        const double least = sorted[static_cast<std::size_t>(kMissing * static_cast<double>(g))];
        for (std::size_t at = 0; at < g; ++at) none[at] = row.deviations[s][at] < least;
      }
    }
  }
  return rows;
}

/// All rows of the same drawn runs, each about its mean. The noise of the kernel has their covariances.
PageSimulation::Rows PageSimulation::rows_of_population(Random& random) const {
  const auto& population = design_.population->runs;
  const auto count = population.front().size();
  Rows rows(population.size());
  for (std::int64_t s = 0; s < plan_.runs(); ++s) {
    std::vector<double> weights(count);
    for (auto& weight : weights)
      weight = design_.kernel / std::sqrt(static_cast<double>(count)) * random.normal();
    weights[random.below(count)] += 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double centre = mean(population[i]);
      double value = 0;
      for (std::size_t t = 0; t < count; ++t) value += weights[t] * (population[i][t] - centre);
      rows[i].means.push_back(value / std::sqrt(1 + design_.kernel * design_.kernel));
    }
  }
  return rows;
}

PageSimulation::Rows PageSimulation::rows_of_metric(Random& random) const {
  if (design_.population) return rows_of_population(random);
  const bool is_normal =
      design_.tail == Tail::kNormal || design_.tail == Tail::kAlike || design_.tail == Tail::kOneSided;
  return is_normal && design_.missing == Missing::kNone ? normal_rows(random) : rows_by_prompt(random);
}

// Their differences

/// By compare_paired, but for the interval over prompts: that of the t in place of the bootstrap's.
PairedComparison PageSimulation::compared(const Row& baseline, const Row& method, double truth,
                                          std::int64_t runs) const {
  PairedMetric metric;
  metric.runs_are_paired = design_.tail != Tail::kUnpaired && design_.tail != Tail::kUnequalSpread;
  const auto value = [](const Row& row, std::size_t s, std::size_t p) {
    return row.no_value.empty() || !row.no_value[s][p] ? std::optional(row.means[s] + row.deviations[s][p])
                                                       : std::nullopt;
  };
  for (std::size_t s = 0; s < static_cast<std::size_t>(runs); ++s) {
    const auto seed = static_cast<std::int64_t>(s);
    if (design_.prompts == 0)
      metric.pairs.push_back({baseline.means[s], method.means[s] + truth, seed, seed});
    for (std::size_t p = 0; p < static_cast<std::size_t>(design_.prompts); ++p) {
      auto of_method = value(method, s, p);
      if (of_method) *of_method += truth;
      metric.pairs.push_back({value(baseline, s, p), of_method, static_cast<std::int64_t>(p), seed});
    }
  }
  auto result = compare_paired(std::span(&metric, 1), {.resamples = 0}).front();
  if (design_.prompts > 0 && result.standard_error) {
    const double half =
        t_critical(static_cast<double>(result.clusters - 1), kFamilyLevel) * *result.standard_error;
    result.ci = Interval{*result.delta - half, *result.delta + half};
  }
  return result;
}

std::vector<PairedComparison> PageSimulation::compared(const Row& baseline, const Row& method, double truth,
                                                       std::span<const std::int64_t> looks) const {
  std::vector<PairedComparison> results;
  const bool by_pairs = design_.prompts == 0 || design_.missing != Missing::kNone ||
                        design_.tail == Tail::kUnpaired || design_.tail == Tail::kUnequalSpread;
  if (by_pairs) {
    for (const auto runs : looks) results.push_back(compared(baseline, method, truth, runs));
    return results;
  }
  const auto g = static_cast<double>(design_.prompts);
  Prompts sum;
  double squares = 0;
  std::vector<RunDifference> per_run;
  for (const auto runs : looks) {
    while (std::ssize(per_run) < runs) {
      const auto s = per_run.size();
      per_run.push_back({static_cast<std::int64_t>(s), method.means[s] - baseline.means[s] + truth});
      Prompts difference;
      add(1, method.deviations[s], difference);
      add(-1, baseline.deviations[s], difference);
      squares += square(difference);
      add(1, difference, sum);
    }
    const auto s = static_cast<double>(runs);
    const double of_prompts = square(sum) / s;
    const double prompt_square = of_prompts / (g - 1);
    const double residual_square = std::max(0.0, squares - of_prompts) / ((s - 1) * (g - 1));
    auto& result = results.emplace_back();
    auto& crossed = result.crossed.emplace();
    crossed.runs = runs;
    crossed.clusters = design_.prompts;
    crossed.per_run = per_run;
    for (const auto& run : per_run) crossed.delta += run.delta / s;
    crossed.parts = variance_parts(per_run, design_.prompts, prompt_square, residual_square);
    crossed.parts_freedom = {s - 1, g - 1};
    if (crossed.parts.total() > 0) {
      crossed.standard_error = std::sqrt(crossed.parts.total());
      const auto look =
          static_cast<std::size_t>(std::ranges::find(design_.looks, runs) - design_.looks.begin());
      const double half = critical_[look](crossed.parts) * *crossed.standard_error;
      crossed.ci = Interval{crossed.delta - half, crossed.delta + half};
      crossed.p_value = 1;  // find_p
    } else {
      crossed.state = CrossedState::kEqual;
    }
    result.n = design_.prompts * runs;
    result.clusters = design_.prompts;
    result.seeds = runs;
    result.baseline_mean = 0.5;
    result.method_mean = 0.5 + crossed.delta;
    result.delta = crossed.delta;
    const double half = prompts_critical_ * std::sqrt(prompt_square / (s * g));
    result.ci = Interval{crossed.delta - half, crossed.delta + half};
  }
  return results;
}

std::vector<PageSimulation::Question> PageSimulation::questions(Random& random) const {
  std::vector<Question> questions;
  const std::size_t baseline = design_.has_base ? 1 : 0, count = rows_.size();
  for (int metric = 0; metric < design_.metrics; ++metric) {
    const auto rows = rows_of_metric(random);
    const auto ask = [&](std::size_t first, std::size_t second) {
      Question question{metric == 0 ? kPrimary : fmt::format("g{}", metric),
                        rows_[first],
                        rows_[second],
                        truth_of(second, metric) - truth_of(first, metric),
                        {}};
      question.looks = compared(rows[first], rows[second], question.truth, design_.looks);
      if (design_.is_leaderboard && metric == 0 && first == baseline) {
        question.truth_there = design_.is_equal_there ? 0 : question.truth;
        question.second_view = compared(rows[count + first], rows[count + second], question.truth_there,
                                        std::span(design_.looks).last(1))
                                   .front();
      }
      questions.push_back(std::move(question));
    };
    for (std::size_t row = baseline + 1; row < count; ++row) ask(baseline, row);
    for (std::size_t row = 1; design_.has_base && row < count; ++row) ask(0, row);
  }
  return questions;
}

}  // namespace harness
