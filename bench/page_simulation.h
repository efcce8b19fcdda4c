#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "results/statistics/critical_value.h"
#include "results/table/table.h"
#include "results/verdict/analysis_plan.h"
#include "results/verdict/guardrails.h"

namespace harness {

// Pages of simulated studies, judged by the functions that judge real ones.

inline constexpr int kSimulatedPrompts = 762;
inline const std::string kPrimary = "primary", kBase = "base", kBaseline = "baseline";  ///< metric, rows
inline constexpr double kMinimalEffect = 0.02;  ///< of every guardrail

/// The noise of a paired difference: `prompt_se` is the standard error over 762 prompts of one run's mean, a
/// part `stable` of its variance being the same in all runs. With fewer prompts each varies as much.
struct PageNoise {
  double prompt_se = 0, run_sd = 0, stable = 0;
  double prompt_variance() const { return stable * prompt_se * prompt_se * kSimulatedPrompts; }
  double residual_variance() const { return (1 - stable) * prompt_se * prompt_se * kSimulatedPrompts; }
};

class Random {
 public:
  explicit Random(std::uint64_t cell) : bits_(20260501 + cell) {}
  double normal() { return normal_(bits_); }
  double chi(double freedom) { return std::sqrt(std::chi_squared_distribution<double>(freedom)(bits_)); }
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// Exponential, of mean 0 and variance 1.
  double skewed() { return -std::log(1 - uniform()) - 1; }
  std::size_t below(std::size_t count) { return bits_() % count; }

 private:
  std::mt19937_64 bits_;
  std::normal_distribution<double> normal_;
};

/// What noise the rows have.
enum class Tail {
  kNormal,
  kAlike,         ///< runs have an exponential bad tail, the same in all rows
  kOneSided,      ///< the methods' runs have one, the baseline's and the base model's do not vary
  kPrompts,       ///< what a prompt of a method has in all runs is exponential
  kFlips,         ///< half of the prompts do not differ, 0.8 % flip from 0 to 1 or back
  kRates,         ///< 0 or 1, 60 % of them 1
  kCeiling,       ///< 0 or 1, 97 % of them 1
  kUnpaired,      ///< normal; rows of images that are given, whose runs are not paired
  kUnequalSpread  ///< likewise, the methods' runs with ten times the baseline's variance
};

/// Of the values.
enum class Missing {
  kNone,
  kByChance,  ///< 5 % on either side
  kLowest     ///< the lowest 5 % of each run of the first method
};

/// True differences, all of which are 0 but these.
struct Truth {
  double methods = 0;           ///< all methods to the baseline, in the first metric
  double worse = 0;             ///< the first method to the baseline, in the first two metrics
  double better = 0;            ///< the last one, likewise
  double better_elsewhere = 0;  ///< the last one in the other metrics
  double over_base = 0;         ///< all rows to the base model, in the first metric
  double guards_over_base = 0;  ///< likewise in the others
};

/// Real runs to draw from: the means of each row's runs in one metric, the baseline first.
struct Population {
  std::vector<std::vector<double>> runs;  ///< [rows][runs]
  /// Of a leaderboard as JSON. Throws Error where rows have different runs.
  static Population of_leaderboard(const std::filesystem::path& file);
};

struct PageDesign {
  std::string text = {};
  int methods = 2;
  int metrics = 4;  ///< the first is the primary one, the others are guardrails
  bool has_base = true;
  Truth truth = {};
  std::vector<std::int64_t> looks = {5};  ///< the last is all runs
  int prompts = kSimulatedPrompts;
  Tail tail = Tail::kNormal;
  Missing missing = Missing::kNone;
  bool is_leaderboard = false;  ///< with a second view, at equal evaluations
  bool is_equal_there = false;  ///< in which no rows differ
  const Population* population =
      nullptr;        ///< whose runs are drawn, with their means for equal; there are no prompts
  double kernel = 0;  ///< of it, noise in its standard deviations
};

/// Counts over the pages of a cell.
struct PageRates {
  std::int64_t pages = 0;
  std::int64_t false_pages = 0;       ///< with a false claim or a false alarm
  std::int64_t found = 0;             ///< the last method is better than the baseline
  std::int64_t claims = 0, held = 0;  ///< claims, and those whose interval holds the true difference
  std::int64_t alarms = 0;            ///< pages with one
  std::int64_t watched = 0;           ///< pages with what would be one of these checkpoints
  std::int64_t board_claims = 0;      ///< pages whose leaderboard calls a row better or worse in both views
  std::int64_t false_boards = 0;      ///< likewise where it is not so in one of them
  std::int64_t comparisons = 0;
  std::int64_t covered = 0;       ///< whose 95 % interval holds the true difference
  std::int64_t over_prompts = 0;  ///< whose interval over prompts alone leaves it out
  double half_width = 0;          ///< of the 95 % interval, a sum
};

class PageSimulation {
 public:
  PageSimulation(PageDesign design, const PageNoise& noise);
  void add_page(Random& random, PageRates& rates) const;
  PageRates pages(int count, std::uint64_t cell) const;

 private:
  /// What a row has in a metric.
  struct Row {
    std::vector<double> means;                     ///< [runs]
    std::vector<std::vector<double>> deviations;   ///< [runs]
    std::vector<std::vector<bool>> no_value = {};  ///< [runs][prompts]; empty: none is missing
  };

  struct Question {
    std::string metric, baseline, method;
    double truth = 0;
    std::vector<PairedComparison> looks;  ///< [looks]
    double truth_there = 0;               ///< in the second view
    std::optional<PairedComparison> second_view = {};
  };
  using Rows = std::vector<Row>;

  double run_effect(std::size_t row, Random& random) const;
  Rows rows_of_metric(Random& random) const;
  Rows normal_rows(Random& random) const;
  Rows rows_by_prompt(Random& random) const;
  Rows rows_of_population(Random& random) const;
  double truth_of(std::size_t row, int metric) const;
  std::vector<Question> questions(Random& random) const;
  std::vector<PairedComparison> compared(const Row& baseline, const Row& method, double truth,
                                         std::span<const std::int64_t> looks) const;
  PairedComparison compared(const Row& baseline, const Row& method, double truth, std::int64_t runs) const;
  TableModel judged(std::vector<Question> questions) const;
  void count(const TableModel& model, const std::vector<Question>& questions, PageRates& rates) const;

  PageDesign design_;
  PageNoise noise_;
  AnalysisPlan plan_;
  GuardrailRule guardrails_;
  std::vector<std::string> rows_;             ///< names
  std::vector<CriticalValue> critical_ = {};  ///< [looks], at 95 %
  double prompts_critical_ = 0;
};

}  // namespace harness
