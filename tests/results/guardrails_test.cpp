#include "results/verdict/guardrails.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/files.h"
#include "results/table/table.h"
#include "results/table/table_view.h"
#include "tests/error_of.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json rule_document() {
  return parse_json(R"({
    "version": 7,
    "metrics": [
      {"name": "ocr_reward", "harmful": "lower", "minimal_effect": 0.02},
      {"name": "cer", "title": "CER", "harmful": "higher", "minimal_effect": 0.05},
      {"name": "edge_density", "title": "Edge density", "unit": "percent", "decimals": 2, "harmful": "lower", "minimal_share": 0.2},
      {"name": "dark_share", "title": "Dark share", "unit": "percent", "decimals": 2, "harmful": "higher", "minimal_effect": 0.1}
    ],
    "relatives": {"jpeg_kb": ["edge_density"]}})",
                    "rule");
}

GuardrailRule rule() {
  return read_guardrail_rule(rule_document(), "rule");
}

GuardrailRule shipped_rule() {
  const auto file = std::filesystem::path(HARNESS_SOURCE_DIR) / "harness/rules/guardrails.json";
  return read_guardrail_rule(read_json(file), file.string());
}

/// Three training runs of each method.
Comparison record(const std::string& baseline, const std::string& method, const std::string& metric,
                  double base, double delta, Interval ci, double p = 1e-6) {
  Comparison r{.split = "test", .metric = metric, .baseline = baseline, .method = method};
  r.values.n = r.values.clusters = 100;
  r.values.baseline_mean = base;
  r.values.method_mean = base + delta;
  r.values.delta = delta;
  r.values.ci = ci;
  r.values.p_value = p;
  r.values = over_three_runs(r.values);
  return r;
}

/// The same numbers over prompts, of one training run each.
std::vector<Comparison> of_one_run(std::vector<Comparison> records) {
  for (auto& r : records) r.values.crossed.reset();
  return records;
}

/// The reward rose by 0.1 over base, and edge density fell by 0.06 of 0.2 with this interval.
std::vector<Comparison> hacked(Interval edges) {
  return {record("base", "dual", "ocr_reward", 0.8, 0.1, {0.05, 0.15}),
          record("base", "dual", "edge_density", 0.2, (edges.low + edges.high) / 2, edges)};
}

/// Of comparisons each of which is the only question of its family.
GuardrailPanel panel_of(std::vector<Comparison> comparisons, Better better = Better::kUp) {
  for (auto& c : comparisons) {
    const AdjustedP own{.p = p_value_of(c.values), .over = 1, .share = 1};
    c.judgement = judge(c.values, Better::kUp, {.adjusted = own});
  }
  const GuardrailQuestion question{.reward = "ocr_reward", .better = better, .base = "base"};
  return guardrail_panel(rule(), question, comparisons);
}

/// Of comparisons that are a table's one family, in which the reward decides.
GuardrailPanel panel_of_table(std::vector<Comparison> comparisons) {
  TableModel model;
  model.comparisons = std::move(comparisons);
  judge_as_planned(model, {.primary = "ocr_reward"});
  const GuardrailQuestion question{.reward = "ocr_reward", .base = "base"};
  return guardrail_panel(rule(), question, model.comparisons);
}

TEST(GuardrailRule, IsReadAsItStands) {
  const auto read = rule();
  EXPECT_EQ(read.version, 7);
  ASSERT_EQ(read.metrics.size(), 4u);
  EXPECT_EQ(read.metrics[2].better, Better::kUp) << "a fall is harmful";
  EXPECT_TRUE(read.metrics[2].relative);
  EXPECT_EQ(read.metrics[3].better, Better::kDown);
  EXPECT_THAT(read.relatives.at("jpeg_kb"), ElementsAre("edge_density"));
}

TEST(GuardrailRule, WhatIsWrongInItIsNamedWithItsPlace) {
  const auto error_with = [](const std::string& pointer, Json value) {
    auto document = rule_document();
    document[Json::json_pointer(pointer)] = std::move(value);
    return std::string(error_of([&] { read_guardrail_rule(document, "rule"); }).what());
  };
  EXPECT_THAT(error_with("/metrics/1/harmful", "highr"), HasSubstr("rule: metrics[1]: harmful"));
  EXPECT_THAT(error_with("/metrics/1/harmful", "highr"), HasSubstr("\"higher\""));
  EXPECT_THAT(error_with("/metrics/1/minimal_effect", -1), HasSubstr("must not be negative"));
  EXPECT_THAT(error_with("/metrics/1/minimal_share", 0.1), HasSubstr("minimal_share"));
  EXPECT_THAT(error_with("/metrics/1/minmal", 1), HasSubstr("unknown key"));
  EXPECT_THAT(error_with("/metrics/1/name", "ocr_reward"), HasSubstr("named twice"));
  EXPECT_THAT(error_with("/metrics/1/unit", "procent"), HasSubstr("\"percent\""));
  EXPECT_THAT(error_with("/metrics", 3), HasSubstr("must be a list"));
}

TEST(GuardrailRule, TheShippedOneIsReadAndNamesEveryImageStatistic) {
  const auto read = shipped_rule();
  for (const char* name : {"edge_density", "colour_entropy", "dark_share", "saturated_share", "jpeg_kb"}) {
    const auto found = std::ranges::find(read.metrics, name, &GuardrailMetric::name);
    ASSERT_NE(found, read.metrics.end()) << name;
    EXPECT_NE(found->better, Better::kNone);
    EXPECT_GT(found->minimal_effect, 0);
  }
}

TEST(GuardrailPanel, HoldsNeitherTheRewardNorWhatRestatesAMetricNorARelative) {
  const auto metrics_of = [](const std::string& reward) {
    std::vector<Comparison> all;
    for (const std::string metric : {"ocr_reward", "cer_paper", "jpeg_kb", "edge_density", "mystery"}) {
      all.push_back(record("base", "dual", metric, 1, 0.1, {0.05, 0.15}));
      if (metric == "cer_paper") all.back().restates = "ocr_reward";
    }
    std::vector<std::string> names;
    const GuardrailQuestion question{.reward = reward, .base = "base"};
    for (const auto& metric : guardrail_panel(rule(), question, all).metrics) names.push_back(metric.name);
    return names;
  };
  EXPECT_THAT(metrics_of("ocr_reward"), ElementsAre("edge_density", "jpeg_kb", "mystery"));
  EXPECT_THAT(metrics_of("cer_paper"), ElementsAre("edge_density", "jpeg_kb", "mystery"));
  EXPECT_THAT(metrics_of("jpeg_kb"), ElementsAre("ocr_reward", "mystery"));
}

TEST(GuardrailPanel, OnTooFewPromptsForAnAlarmThereIsSomethingToWatch) {
  auto all = hacked({-0.08, -0.045});
  EXPECT_EQ(panel_of(all).alarms.size(), 1U);
  for (auto& one : all) one.values.crossed->clusters = 15;
  const auto panel = panel_of(all);
  EXPECT_THAT(panel.alarms, testing::IsEmpty());
  EXPECT_EQ(panel.watch.size(), 1U);
}

// The reward is resolved with the whole level and passes half on to either guardrail.
TEST(GuardrailPanel, HasTheVerdictsOfTheTablesFamily) {
  auto all = hacked({-0.08, -0.045});
  all.push_back(record("base", "dual", "dark_share", 0.3, 0.01, {0.001, 0.019}, 0.06));
  const auto panel = panel_of_table(all);
  ASSERT_EQ(panel.effects.size(), 2u);
  EXPECT_DOUBLE_EQ(*panel.effects[0].judgement.adjusted.p, 2e-6);
  EXPECT_TRUE(panel.effects[0].judgement.resolved());
  EXPECT_NEAR(*panel.effects[1].judgement.adjusted.p, 0.06, 1e-12);
  EXPECT_FALSE(panel.effects[1].judgement.resolved());
  const auto effects = guardrails_json(panel).at("effects");
  EXPECT_EQ(effects.at(0).at("p_adjusted"), 2e-6);
  EXPECT_NEAR(effects.at(0).at("level").get<double>(), 0.025, 1e-12);
  EXPECT_EQ(effects.at(0).at("p_value"), 1e-6);
  EXPECT_EQ(effects.at(0).at("prompts"), Json::parse(R"({"ci95": [-0.08, -0.045], "p_value": 1e-6})"));
  EXPECT_FALSE(effects.at(0).contains("judged_by"));
  ASSERT_EQ(panel.alarms.size(), 1u);
  EXPECT_EQ(panel.alarms[0].p_holm, 2e-6);
}

TEST(GuardrailPanel, MeasuresHarmByTheIntervalAtTheLevelThatTestedIt) {
  // The minimal effect is 0.04: beyond it at 95 %, and at 97.5 % no more.
  const auto all = hacked({-0.08, -0.0401});
  EXPECT_EQ(panel_of(all).alarms.size(), 1u);
  auto two = all;
  two.push_back(record("base", "dual", "dark_share", 0.3, 0.01, {0.001, 0.019}, 0.06));
  const auto panel = panel_of_table(two);
  EXPECT_TRUE(panel.effects[0].judgement.resolved());
  EXPECT_FALSE(panel.effects[0].harmful());
  EXPECT_THAT(panel.alarms, IsEmpty());
}

TEST(GuardrailAlarm, NeedsTheWholeIntervalBeyondTheMinimalEffect) {
  // The minimal effect is 20 % of 0.2.
  EXPECT_EQ(panel_of(hacked({-0.08, -0.0401})).alarms.size(), 1u);
  EXPECT_THAT(panel_of(hacked({-0.08, -0.0399})).alarms, IsEmpty());
  EXPECT_THAT(panel_of(hacked({0.0401, 0.08})).alarms, IsEmpty()) << "more edges are no harm";
}

TEST(GuardrailAlarm, NeedsThreeTrainingRunsAMethod) {
  const auto all = hacked({-0.08, -0.05});
  const auto one = panel_of(of_one_run(all));
  EXPECT_THAT(one.alarms, IsEmpty());
  EXPECT_FALSE(one.effects[0].judgement.resolved());
  EXPECT_FALSE(one.effects[0].harmful());
  ASSERT_EQ(one.watch.size(), 1u) << "what would be one of the checkpoints";
  EXPECT_EQ(one.watch[0].guardrail, "edge_density");
  EXPECT_EQ(one.watch[0].ci95.high, -0.05);
  const auto three = panel_of(all);
  EXPECT_EQ(three.alarms.size(), 1u);
  EXPECT_THAT(three.watch, IsEmpty());
}

TEST(GuardrailAlarm, IsOfTheIntervalOverTrainingRuns) {
  auto all = hacked({-0.08, -0.05});
  set_interval(*all[1].values.crossed, {-0.12, -0.01});
  EXPECT_THAT(panel_of(all).alarms, IsEmpty()) << "prompts alone lie beyond the minimal effect";
  EXPECT_THAT(panel_of(all).watch, IsEmpty());
  all = hacked({-0.08, -0.05});
  set_interval(*all[0].values.crossed, {-0.05, 0.25});
  EXPECT_THAT(panel_of(all).alarms, IsEmpty()) << "the reward's interval over runs holds 0";
  all = hacked({-0.08, -0.05});
  all[0].values.ci = Interval{-0.001, 0.2};
  EXPECT_THAT(panel_of(all).alarms, IsEmpty()) << "and the one over prompts must not";
}

TEST(GuardrailAlarm, WithARewardOfTooFewRunsThereIsSomethingToWatch) {
  auto all = hacked({-0.08, -0.05});
  all[0].values.crossed.reset();
  EXPECT_THAT(panel_of(all).alarms, IsEmpty());
  EXPECT_EQ(panel_of(all).watch.size(), 1u);
}

TEST(GuardrailAlarm, NeedsARewardThatTheFamilyResolvesAndNotItsIntervalAlone) {
  auto all = hacked({-0.08, -0.05});
  set_interval(*all[0].values.crossed, {0.005, 0.195});
  all[0].values.crossed->p_value = 0.039;
  EXPECT_EQ(panel_of_table(all).alarms.size(), 1u);
  // Another question in the reward: the level of either is half.
  all.push_back(record("base", "flow-grpo", "ocr_reward", 0.8, 0.1, {-0.05, 0.25}, 0.2));
  const auto panel = panel_of_table(all);
  EXPECT_DOUBLE_EQ(*panel.rewards[0].judgement.adjusted.p, 0.078);
  EXPECT_TRUE(panel.rewards[0].judgement.interval->excludes_zero()) << "at 95 %";
  EXPECT_THAT(panel.alarms, IsEmpty());
  EXPECT_THAT(panel.watch, IsEmpty());
}

TEST(GuardrailAlarm, OfQuestionsOfNoFamilyThereIsNoneAndNothingToWatch) {
  auto all = hacked({-0.08, -0.05});
  for (auto& c : all) c.judgement = judge(c.values, Better::kUp, {});
  const GuardrailQuestion question{.reward = "ocr_reward", .base = "base"};
  const auto panel = guardrail_panel(rule(), question, all);
  EXPECT_FALSE(panel.effects[0].beyond) << "though its interval lies beyond the minimal effect";
  EXPECT_THAT(panel.alarms, IsEmpty());
  EXPECT_THAT(panel.watch, IsEmpty());
}

TEST(GuardrailAlarm, NeedsARewardThatRoseForSure) {
  auto all = hacked({-0.08, -0.05});
  auto& reward = all[0].values;
  set_interval(*reward.crossed, {-0.001, 0.2});
  EXPECT_THAT(panel_of(all).alarms, IsEmpty());
  EXPECT_TRUE(panel_of(all).effects[0].harmful()) << "which the panel still shows";
  set_interval(*reward.crossed, {-0.2, -0.1});
  reward.ci = reward.crossed->ci;
  reward.delta = -0.15;
  EXPECT_THAT(panel_of(all).alarms, IsEmpty());
  EXPECT_EQ(panel_of(all, Better::kDown).alarms.size(), 1u) << "a reward that is to fall";
}

TEST(GuardrailAlarm, IsAgainstTheStartingWeightsOnly) {
  auto all = hacked({-0.08, -0.05});
  for (auto& r : all) r.baseline = "ratio-norm";
  const auto panel = panel_of(all);
  EXPECT_TRUE(panel.effects[0].harmful());
  EXPECT_THAT(panel.alarms, IsEmpty());
}

TEST(GuardrailAlarm, IsOfTheMethodWhoseRewardRose) {
  auto all = hacked({-0.08, -0.05});
  all.push_back(record("base", "flow-grpo", "ocr_reward", 0.8, 0, {-0.02, 0.02}));
  all.push_back(record("base", "flow-grpo", "edge_density", 0.2, -0.1, {-0.12, -0.08}));
  const auto panel = panel_of(all);
  ASSERT_EQ(panel.alarms.size(), 1u);
  const auto& alarm = panel.alarms[0];
  EXPECT_EQ(alarm.method + " " + alarm.reward + " " + alarm.guardrail + " " + alarm.harmful,
            "dual ocr_reward edge_density lower");
  EXPECT_DOUBLE_EQ(alarm.minimal_effect, 0.04);
  EXPECT_NEAR(alarm.reward_ci95.low, 0.05, 1e-12);
  EXPECT_NEAR(alarm.ci95.high, -0.05, 1e-12);
  EXPECT_EQ(alarm.rule_version, 7);
}

TEST(GuardrailAlarm, AMetricThatTheRuleDoesNotNameMovesWithoutOne) {
  auto all = hacked({-0.08, -0.05});
  all[1].metric = "mystery";
  const auto panel = panel_of(all);
  EXPECT_TRUE(panel.effects[0].judgement.resolved());
  EXPECT_FALSE(panel.effects[0].harmful());
  EXPECT_THAT(panel.alarms, IsEmpty());
}

/// Base value and paired noise of each metric, of the size that glyph images of a trained policy show.
struct Shape {
  const char* metric;
  double base, spread, noise, harm;  ///< harm: its minimal effect in the metric's unit, signed
};
constexpr Shape kShapes[] = {{"cer", 0.2, 0.3, 0.3, 0.05},
                             {"exact_match", 0.55, 0, 0, -0.02},
                             {"edge_density", 0.18, 0.09, 0.065, -0.036},
                             {"colour_entropy", 2.1, 0.34, 0.25, -0.315},
                             {"dark_share", 0.42, 0.4, 0.06, 0.1},
                             {"saturated_share", 0.01, 0.01, 0.02, 0.1},
                             {"jpeg_kb", 2.44, 0.5, 0.29, -0.488}};

/// What is true of a simulated method.
struct Truth {
  int n = 762;
  double reward = 0.1;  ///< its rise
  double harm = 0;      ///< true effects in minimal effects
  int runs = 1;
  double run_spread = 0;  ///< standard deviation of a run's effects about the true ones, in minimal effects
};

class Simulation {
 public:
  /// Share of `repeats` comparisons with an alarm, or with fewer than three runs something to watch; printed.
  double share(const char* what, int repeats, const Truth& truth) {
    int fired = 0;
    for (int i = 0; i < repeats; ++i) fired += fires(truth) ? 1 : 0;
    const double share = static_cast<double>(fired) / repeats;
    std::printf("%s: %.4f\n", what, share);
    return share;
  }

 private:
  PairedMetric draw(const Shape& shape, const Truth& truth, double effect) {
    PairedMetric metric;
    const bool is_rate = shape.spread == 0;
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (int run = 0; run < truth.runs; ++run) {
      const double of_run =
          effect + (truth.run_spread > 0 ? truth.run_spread * shape.harm * normal(random_) : 0);
      for (int i = 0; i < truth.n; ++i) {
        double before = shape.base + shape.spread * normal(random_);
        double after = before + of_run + shape.noise * normal(random_);
        if (is_rate) {
          before = uniform(random_) < shape.base;
          after = uniform(random_) < shape.base + of_run;
        }
        metric.pairs.push_back({.baseline = before, .method = after, .cluster = i, .seed = 42 + run});
      }
    }
    return metric;
  }

  /// Of several runs only what an alarm looks at: without bootstrap.
  static std::vector<PairedComparison> compared(const std::vector<PairedMetric>& metrics) {
    if (metrics[0].pairs.back().seed == 42) return compare_paired(metrics, {.resamples = 500, .threads = 1});
    std::vector<PairedComparison> results;
    for (const auto& metric : metrics) {
      PairedComparison result;
      const auto sums = cluster_sums(metric.pairs);
      const double half = 1.96 * *standard_error(sums);
      result.crossed = crossed(metric.pairs);
      result.n = static_cast<std::int64_t>(metric.pairs.size());
      result.delta = result.crossed->delta;
      result.ci = Interval{*result.delta - half, *result.delta + half};
      double sum = 0;
      for (const auto& pair : metric.pairs) sum += *pair.baseline;
      result.baseline_mean = sum / static_cast<double>(result.n);
      results.push_back(result);
    }
    return results;
  }

  bool fires(const Truth& truth) {
    std::vector<PairedMetric> metrics{draw({"ocr_reward", 0.8, 0.3, 0.3, 0}, truth, truth.reward)};
    std::vector<std::string> names{"ocr_reward"};
    for (const auto& shape : kShapes) {
      metrics.push_back(draw(shape, truth, truth.harm * shape.harm));
      names.emplace_back(shape.metric);
    }
    const auto results = compared(metrics);
    TableModel model;
    for (std::size_t i = 0; i < names.size(); ++i) {
      model.comparisons.push_back(
          {.split = "test", .metric = names[i], .baseline = "base", .method = "dual", .values = results[i]});
    }
    judge_as_planned(model, {.primary = "ocr_reward"});
    const GuardrailQuestion question{.reward = "ocr_reward", .base = "base"};
    const auto panel = guardrail_panel(rule_, question, model.comparisons);
    return truth.runs < kFewestRuns ? !panel.watch.empty() : !panel.alarms.empty();
  }

  GuardrailRule rule_ = shipped_rule();
  std::mt19937_64 random_{20260501};
};

TEST(GuardrailSimulation, OfAnHonestGainThereIsNothingToWatch) {
  Simulation simulation;
  EXPECT_LE(simulation.share("reward +0.1, no harm, n 762", 400, {}), 0.005);
  EXPECT_LE(simulation.share("reward +0.1, no harm, n 48", 400, {.n = 48}), 0.02);
}

TEST(GuardrailSimulation, OfTwoEqualPoliciesThereIsNothingToWatch) {
  EXPECT_LE(Simulation().share("neither reward nor harm", 400, {.reward = 0}), 0.005);
}

TEST(GuardrailSimulation, WithoutARewardThatRoseHarmIsWatchedAtTheRateOfItsInterval) {
  const Truth truth{.reward = 0, .harm = 2};
  EXPECT_LE(Simulation().share("reward +0, every guardrail at twice its minimal effect", 400, truth),
            0.06);  // nominal 0.025
}

TEST(GuardrailSimulation, HarmOfExactlyTheMinimalEffectIsRarelyWatched) {
  EXPECT_LE(
      Simulation().share("reward +0.1, all guardrails at exactly their minimal effect", 400, {.harm = 1}),
      0.25);  // seven guardrails, each nominally 0.025
}

TEST(GuardrailSimulation, AHackOfTwiceTheMinimalEffectIsFound) {
  Simulation simulation;
  const Truth three{.n = 256, .harm = 2, .runs = 3, .run_spread = 0.1};
  EXPECT_GE(simulation.share("harm twice the minimal effect, n 762", 100, {.harm = 2}), 0.99);
  EXPECT_GE(simulation.share("harm twice the minimal effect, n 256", 100, {.n = 256, .harm = 2}), 0.95);
  EXPECT_GE(simulation.share("harm twice the minimal effect, n 256, three runs", 100, three), 0.9);
}

TEST(GuardrailSimulation, RunsThatDifferByChanceRaiseHardlyAnyAlarmOfThreeThoughOneIsOftenToWatch) {
  Simulation simulation;
  const Truth three{.n = 256, .runs = 3, .run_spread = 1}, one{.n = 256, .run_spread = 1};
  EXPECT_LE(simulation.share("runs differ by the minimal effect, none in truth, three", 200, three), 0.03);
  EXPECT_GE(simulation.share("runs differ by the minimal effect, none in truth, one", 200, one), 0.2);
}

std::vector<Comparison> guarded_records(Interval edges) {
  std::vector<Comparison> all;
  for (const auto& [baseline, method] : {std::pair{"base", "ratio-norm"},
                                         {"base", "lambda-controlled"},
                                         {"ratio-norm", "lambda-controlled"}}) {
    all.push_back(record(baseline, method, "ocr_reward", 0.8, 0.1, {0.05, 0.15}));
    all.push_back(record(baseline, method, "edge_density", 0.2, (edges.low + edges.high) / 2, edges));
    all.push_back(record(baseline, method, "dark_share", 0.3, 0.001, {-0.01, 0.012}, 0.8));
  }
  return all;
}

TableModel guarded_table(const std::vector<Comparison>& records) {
  auto model = fixture_table();
  for (auto* rows : {&model.reference, &model.rows}) {
    for (auto& row : *rows) row.metrics["edge_density"] = fixture_summary(0.2);
  }
  model.guardrails = panel_of(records);
  return model;
}

TableModel guarded_table(Interval edges) {
  return guarded_table(guarded_records(edges));
}

std::vector<std::string> notes_of(const TableModel& model) {
  return table_view(model).notes_at({NotePlace::kGuardrails});
}

TEST(GuardrailView, ShowsBothBaselinesWithMarks) {
  const auto view = table_view(guarded_table({-0.08, -0.05})).guardrails;
  ASSERT_EQ(view.tables.size(), 2u);
  EXPECT_EQ(view.tables[0].second.columns.size(), 5u) << "guardrail, harmful, base, two methods";
  const auto& edges = view.tables[0].second.rows[1].cells;
  EXPECT_EQ(edges[0].text, "Edge density (%)");
  EXPECT_EQ(edges[1].text, "fall of 20 % of base");
  EXPECT_EQ(edges[2].text, "20.00");
  EXPECT_EQ(edges[3].text, "-6.50 [-8.00, -5.00]");
  EXPECT_TRUE(edges[3].strong);
  EXPECT_EQ(edges[3].marks, "!");
  const auto& dark = view.tables[0].second.rows[2].cells;
  EXPECT_EQ(dark[1].text, "rise of 10.00 points");
  EXPECT_FALSE(dark[3].strong);
  EXPECT_EQ(dark[3].marks, "");
}

TEST(GuardrailView, ManyMethodsStandInRowsSoThatTheTableStaysAsWideAsAPage) {
  auto model = guarded_table({-0.08, -0.05});
  auto& effects = model.guardrails->effects;
  const auto as_they_are = effects;
  for (int i = 1; i <= 8; ++i) {
    for (auto effect : as_they_are) {
      if (effect.baseline != "base" || effect.method != "ratio-norm") continue;
      effect.method = fmt::format("method-{}", i);
      effects.push_back(effect);
    }
  }
  const auto view = table_view(model).guardrails;
  const auto& [baseline, table] = view.tables.at(0);
  EXPECT_EQ(baseline, "base");
  ASSERT_EQ(table.columns.size(), 4u) << "the method, the reward and two guardrails";
  EXPECT_EQ(table.columns[2].title, "Edge density (%)");
  ASSERT_EQ(table.rows.size(), 12u) << "what is harmful, base, ten methods";
  EXPECT_EQ(table.rows[0].cells[2].text, "fall of 20 % of base");
  EXPECT_EQ(table.rows[1].cells[2].text, "20.00");
  EXPECT_EQ(table.rows[2].cells[2].marks, "!");
  EXPECT_EQ(table.rows[11].cells[0].text, "method-8 \u2212 base");
}

TEST(GuardrailView, AnAlarmStandsAboveTheTableInEveryFormat) {
  const auto model = guarded_table({-0.08, -0.05});
  const auto markdown = table_markdown(model);
  const auto alarm = markdown.find(
      "> **Guardrail alarm, ratio-norm: its OCR reward rose by 0.1000 [+0.0500, "
      "+0.1500] against base, and its Edge density fell by 6.50 points");
  EXPECT_LT(alarm, markdown.find("| Method"));
  EXPECT_THAT(table_html(model), HasSubstr("<p class=\"alarm\" role=\"alert\">Guardrail alarm, ratio-norm"));
  EXPECT_THAT(table_latex(model), HasSubstr("\\textbf{Guardrail alarm, RatioNorm"));
  const auto json = table_json(model).at("guardrails");
  EXPECT_EQ(json.at("alarms").size(), 2u);
  EXPECT_EQ(json.at("alarms").at(0).at("guardrail"), "edge_density");
  EXPECT_EQ(json.at("effects").size(), 6u);
}

TEST(GuardrailView, AnIntervalWithoutZeroThatTheAdjustedPDoesNotBearOutHasNoMark) {
  auto model = guarded_table({-0.08, -0.05});
  for (auto& effect : model.guardrails->effects) {
    effect.judgement.differs = effect.beyond = false;
    effect.judgement.adjusted.p = 0.2;
  }
  const auto edges = table_view(model).guardrails.tables[0].second.rows[1].cells[3];
  EXPECT_EQ(edges.text, "-6.50 [-8.00, -5.00]");
  EXPECT_EQ(edges.marks, "");
  EXPECT_FALSE(edges.strong);
  EXPECT_THAT(notes_of(model),
              testing::Contains(HasSubstr("the adjusted p, in the family of the differences above, is "
                                          "below 0.05")));
}

TEST(GuardrailView, OneRunAMethodHasASentenceToWatchInsteadOfAnAlarm) {
  const auto model = guarded_table(of_one_run(guarded_records({-0.08, -0.05})));
  const auto view = table_view(model).guardrails;
  EXPECT_THAT(view.alarms, IsEmpty());
  EXPECT_THAT(
      notes_of(model),
      testing::Contains("These checkpoints of ratio-norm: OCR reward rose by 0.1000 [+0.0500, +0.1500] "
                        "against base, while Edge density fell by 6.50 points [-8.00, -5.00] (minimal "
                        "effect 4.00 points). Look at the images; statements about the method need at "
                        "least 3 training runs."));
  EXPECT_THAT(notes_of(model),
              testing::Contains("No guardrail alarm: an alarm needs at least 3 training runs per method."));
  const auto& edges = view.tables[0].second.rows[1].cells[3];
  EXPECT_FALSE(edges.strong);
  EXPECT_EQ(edges.marks, "*!") << "the edges of these checkpoints fell, and beyond the minimal effect";
  EXPECT_EQ(view.tables[0].second.rows[2].cells[3].marks, "")
      << "their dark share is not shown to have changed";
  EXPECT_THAT(notes_of(model), testing::Each(Not(HasSubstr("Bold:")))) << "nothing is";
  const auto markdown = table_markdown(model);
  EXPECT_THAT(markdown, Not(HasSubstr("**")));
  EXPECT_THAT(markdown, Not(HasSubstr("> ")));
  const auto json = table_json(model).at("guardrails");
  EXPECT_EQ(json.at("alarms").size(), 0u);
  EXPECT_EQ(json.at("watch").size(), 2u);
  EXPECT_EQ(json.at("effects").at(0).at("claim"), "checkpoints");
  EXPECT_EQ(json.at("effects").at(0).at("differs"), true);
  EXPECT_EQ(json.at("effects").at(0).at("moved"), false);
}

TEST(GuardrailView, SilenceIsSaidToo) {
  const auto model = guarded_table({-0.03, -0.01});
  EXPECT_THAT(table_markdown(model),
              HasSubstr("No guardrail alarm: no method whose OCR reward improved on base"));
  EXPECT_THAT(table_markdown(model), Not(HasSubstr("> **")));
  EXPECT_EQ(table_json(model).at("guardrails").at("alarms").size(), 0u);
}

TEST(GuardrailView, ATableWithoutARuleHasNoPanel) {
  EXPECT_THAT(table_markdown(fixture_table()), Not(HasSubstr("Guardrail")));
  EXPECT_FALSE(table_json(fixture_table()).contains("guardrails"));
}

}  // namespace
}  // namespace harness
