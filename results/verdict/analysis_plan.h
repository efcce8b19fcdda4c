#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace harness {

/// The level of all claims of a family of questions.
inline constexpr double kFamilyLevel = 0.05;

/// A row of a plan: the runs that its seeds have, by their ids, which are known before they are trained.
struct PlannedRow {
  std::string method;
  std::string settings;  ///< digest of everything that makes a run but its seed and its machine
  std::map<std::int64_t, std::string> runs;  ///< by seed
  Json evaluation = nullptr;  ///< evaluation_conditions of its checkpoints; null: not recorded, or none
};

/// What an evaluation rests on beside its checkpoint, of its identity (core/EVENTS.md): prompts, sampler,
/// precision, and a digest of each scorer.
Json evaluation_conditions(Json identity);
/// Whether they are the same, as far as both know; of scorers those that both have.
bool are_same_conditions(const Json& a, const Json& b);

/// What is asked of which runs, recorded before they are tested (results/STATISTICS.md, "Plans").
struct AnalysisPlan {
  std::string table, backbone, scale, split;
  std::string baseline;  ///< row
  std::string base;      ///< row of the base model, where it is not the baseline; empty: none
  std::string primary;   ///< metric; empty: all questions are equal
  Json selection;        ///< how a run's checkpoint is chosen; null: nothing is chosen
  std::string prompts;   ///< SHA-256 of the prompt set; empty: none
  std::vector<std::string> metrics;
  std::vector<std::pair<std::string, std::string>> pairs;  ///< baseline and method
  std::vector<std::int64_t> seeds;                         ///< in the order in which they are used
  std::vector<std::int64_t> looks;             ///< numbers of runs, rising; the last is all of them
  std::map<std::string, double> equal_within;  ///< by metric, in its unit
  std::map<std::string, PlannedRow> rows;
  std::vector<std::string> supersedes = {};  ///< digests of earlier plans, of which nothing was tested
  std::vector<std::string> opened = {};  ///< runs of it that counted as tested when it was recorded, sorted
  std::string why_opened = {};           ///< where that is not plain, a sentence without its end
  std::int64_t again = 0;                ///< how often the same had been asked and had given way

  /// Throws Error naming `where` for a document that is none.
  static AnalysisPlan from_json(const Json& document, const std::string& where);
  Json to_json() const;
  /// 12 hex digits of the SHA-256 of everything but what was known when it was recorded.
  std::string digest() const;

  std::int64_t runs() const { return static_cast<std::int64_t>(seeds.size()); }
  /// Of all rows but the base model's.
  std::set<std::string> run_ids() const;
  /// The level of a look: what the spending function gives it. looks[look] runs.
  double level_of_look(std::size_t look) const;
  /// Whether a row's runs had not been tested when the plan was recorded; the base model's do not count, as
  /// it is fixed before any data is seen.
  bool is_unopened(const std::string& row) const;
  /// Whether it asks for the difference of these rows in the metric, whichever is named first.
  bool has_question(const std::string& baseline_row, const std::string& method_row,
                    const std::string& metric) const;
  /// Whether it asks for the difference of these rows in the metric before either was tested.
  bool asks(const std::string& baseline_row, const std::string& method_row, const std::string& metric) const;
};

/// What a family-wise level has spent at this share of the runs: 2 - 2 Phi(z / sqrt(share)), z the two-sided
/// normal critical value of the level (O'Brien and Fleming 1979, Biometrics 35; Lan and DeMets 1983,
/// Biometrika 70). share: above 0, at most 1.
double spent_level(double share, double level = kFamilyLevel);

/// A p-value of a look, to be compared with the family's level: p over the look's share of it, at most 1.
double p_at_family_level(double p, double level_of_look);

/// How far apart two numbers of a setting may be, as a share of the larger, that count as one.
inline constexpr double kSameSetting = 0.05;

/// The settings in which two identities of runs (core/EVENTS.md) differ, as "adam_eps 1e-08,
/// here 1.0001e-08", where they count as one: everything is equal but for numbers with fractions within
/// kSameSetting of each other. Between 0 and 1 that holds of 1 - x too, so that decays of 0.99 and 0.999 are
/// two. Which checkpoints are kept makes no difference. Images and checkpoints that are given count as one
/// wherever they have one in common. Nothing: they are two methods or seeds.
std::optional<std::vector<std::string>> near_settings(const Json& tested, const Json& here);

/// Looks as typed, with the number of runs at the end. Throws Error (at --looks) for one that is not above
/// the one before it, below kFewestRuns, or beyond the runs.
std::vector<std::int64_t> checked_looks(std::vector<std::int64_t> looks, std::int64_t runs);

}  // namespace harness
