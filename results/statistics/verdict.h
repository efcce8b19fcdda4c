#pragma once

#include <optional>
#include <string>

#include "results/statistics/statistics.h"

namespace harness {

/// What a comparison can be evidence of.
enum class Claim {
  kCheckpoints,  ///< these checkpoints differ: prompts were drawn, the training runs are those that were made
  kMethods       ///< a method is better: training runs and prompts were drawn
};
std::string_view claim_name(Claim claim);  ///< "checkpoints", "methods"

/// What the runs of a comparison allow: kMethods from kFewestRuns paired runs on (crossed.h).
Claim claim_of_runs(std::optional<std::int64_t> runs);
Claim claim_of_runs(const PairedComparison& comparison);

/// What may be claimed: what the runs allow, at a scale that judges the methods; else kCheckpoints.
Claim claim_of(const PairedComparison& comparison);

/// The interval and the p-value that decide a claim. Of methods: over runs and prompts (crossed.h). Of
/// checkpoints: over prompts, the bootstrap and the test that the comparison states. No claim: of claim_of.
std::optional<Interval> interval_of(const PairedComparison& comparison, std::optional<Claim> claim = {});
std::optional<double> p_value_of(const PairedComparison& comparison, std::optional<Claim> claim = {});

/// The p-value that a family is asked with. With missing values the larger of its own and that of the
/// difference with all of them against it, which is 1 where they could turn its sign.
std::optional<double> tested_p(const PairedComparison& comparison, Claim claim);

/// Whether all holds that a claim needs beside a small p: the interval lies on the mean difference's side of
/// 0, of methods as does the one over prompts alone, and there are prompts enough.
bool may_differ(const PairedComparison& comparison, Claim claim);

/// The same interval at another level; of checkpoints it is the bootstrap's, whose level stays.
std::optional<Interval> interval_at(const PairedComparison& comparison, Claim claim, double level);

/// What the adjustment for a family of questions made of one's p-value (results/verdict/multiplicity.h).
struct AdjustedP {
  std::optional<double> p = {};  ///< nothing where the test has no p-value
  std::size_t over = 0;          ///< how many questions the family has
  /// Of the family's level, what the question was tested with: where it was resolved, else at the end. 0: it
  /// was not tested, as what it waits for is not resolved.
  double share = 0;
  /// Resolved by the runs of an earlier look, whose difference was this; 0 runs: by those that are shown.
  std::int64_t earlier_runs = 0;
  double earlier_delta = 0;
};

/// All that may be said of one comparison. Tables, `compare`, leaderboards, guardrails, reports, figures and
/// the simulation show it, and decide nothing themselves.
struct Judgement {
  Claim claim = Claim::kCheckpoints;
  /// Of the claim: beside a difference of methods that is resolved at the level that tested it, so that it
  /// excludes 0 by the same test; else at the family's.
  std::optional<Interval> interval = {};
  double level = 0.05;           ///< of the interval
  std::optional<double> p = {};  ///< of the claim, its own
  AdjustedP adjusted = {};
  /// No family has the question, so that nothing is claimed: an estimate.
  bool is_exploratory = false;
  /// The interval of the claim lies on the mean difference's side of 0, there is a p-value, and adjusted it
  /// is below 1 - confidence; of methods the interval over prompts lies there as well: what is claimed of
  /// methods must be true of these checkpoints.
  bool differs = false;
  bool is_equal = false;  ///< of methods, within the margin that was planned
  /// A leaderboard says less than better or worse, and its text stands here.
  bool is_split = false;
  /// "better", "not resolved (adjusted p 0.08)", "exploratory", "these checkpoints differ"; of statistics of
  /// the training, which has no checkpoints, "not judged: 2 of 3 training runs" or "not judged at this
  /// scale".
  std::string text = {};
  /// The same without its reason: "better", "not resolved", "no difference shown", "not judged"; of no pair
  /// empty.
  std::string word = {};

  bool of_methods() const { return claim == Claim::kMethods; }
  /// The one that bold, colours, alarms and statements about methods need.
  bool resolved() const { return of_methods() && differs && !is_split; }
  /// "better", "worse", "higher", "lower", "unresolved": colours speak of methods.
  std::string look() const { return resolved() ? word : "unresolved"; }
};

struct JudgeSettings {
  double confidence = 0.95;
  std::optional<AdjustedP> adjusted = {};   ///< nothing: no family has the question
  std::optional<double> equal_within = {};  ///< margin of the plan
  std::string unit = "prompts";             ///< what a cluster is, in the plural
  bool of_images = false;  ///< the rows are images that are given: it speaks of these, not of checkpoints
};

/// What a difference other than 0 is: "better", "worse"; where no direction is good "higher", "lower".
std::string direction_of(double delta, Better better);

Judgement judge(const PairedComparison& comparison, Better better, const JudgeSettings& settings);

/// What was resolved is not: a leaderboard says less of it than better or worse, in these words.
void say_less(const std::string& text, Judgement& judgement);

}  // namespace harness
