#include "results/guardrails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "core/files.h"
#include "results/table.h"
#include "results/table_view.h"
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

ComparisonRecord record(const std::string& baseline, const std::string& method, const std::string& metric,
                        double base, double delta, Interval ci, double p = 1e-6) {
  ComparisonRecord r{.split = "test", .metric = metric, .baseline = baseline, .method = method};
  r.result.n = r.result.clusters = 100;
  r.result.baseline_mean = base;
  r.result.method_mean = base + delta;
  r.result.delta = delta;
  r.result.ci = ci;
  r.result.p_value = p;
  return r;
}

/// The reward rose by 0.1 over base, and edge density fell by 0.06 of 0.2 with this interval.
std::vector<ComparisonRecord> hacked(Interval edges) {
  return {record("base", "dual", "ocr_reward", 0.8, 0.1, {0.05, 0.15}),
          record("base", "dual", "edge_density", 0.2, (edges.low + edges.high) / 2, edges)};
}

GuardrailPanel panel_of(const std::vector<ComparisonRecord>& comparisons, Better better = Better::kUp) {
  return guardrail_panel(rule(), {.reward = "ocr_reward", .better = better, .base = "base"}, comparisons);
}

// ---- the rule's file

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
    try {
      read_guardrail_rule(document, "rule");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
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

// ---- what guards

TEST(GuardrailPanel, HoldsNeitherTheRewardNorWhatRestatesAMetricNorARelative) {
  const auto metrics_of = [](const std::string& reward) {
    std::vector<ComparisonRecord> all;
    for (const char* metric : {"ocr_reward", "cer_paper", "jpeg_kb", "edge_density", "mystery"})
      all.push_back(record("base", "dual", metric, 1, 0.1, {0.05, 0.15}));
    std::vector<std::string> names;
    for (const auto& metric : guardrail_panel(rule(), {.reward = reward, .base = "base"}, all).metrics)
      names.push_back(metric.name);
    return names;
  };
  EXPECT_THAT(metrics_of("ocr_reward"), ElementsAre("edge_density", "jpeg_kb", "mystery"));
  EXPECT_THAT(metrics_of("cer_paper"), ElementsAre("edge_density", "jpeg_kb", "mystery"));
  EXPECT_THAT(metrics_of("jpeg_kb"), ElementsAre("ocr_reward", "mystery"));
}

TEST(GuardrailPanel, IsAdjustedOverAllItsDifferences) {
  auto all = hacked({-0.08, -0.045});
  all.push_back(record("base", "dual", "dark_share", 0.3, 0.01, {0.001, 0.019}, 0.03));
  all.push_back(record("ratio-norm", "dual", "dark_share", 0.3, 0.01, {0.001, 0.019}, 0.04));
  const auto panel = panel_of(all);
  ASSERT_EQ(panel.effects.size(), 3u);
  EXPECT_DOUBLE_EQ(*panel.effects[0].adjusted_p, 3e-6);
  EXPECT_TRUE(panel.effects[0].moved);
  EXPECT_DOUBLE_EQ(*panel.effects[1].adjusted_p, 0.06);
  EXPECT_FALSE(panel.effects[1].moved) << "0.03 alone would have been enough";
}

// ---- alarms

TEST(GuardrailAlarm, NeedsTheWholeIntervalBeyondTheMinimalEffect) {
  // The minimal effect is 20 % of 0.2.
  EXPECT_EQ(panel_of(hacked({-0.08, -0.0401})).alarms.size(), 1u);
  EXPECT_THAT(panel_of(hacked({-0.08, -0.0399})).alarms, IsEmpty());
  EXPECT_THAT(panel_of(hacked({0.0401, 0.08})).alarms, IsEmpty()) << "more edges are no harm";
}

TEST(GuardrailAlarm, NeedsARewardThatRoseForSure) {
  auto all = hacked({-0.08, -0.05});
  all[0].result.ci = Interval{-0.001, 0.2};
  EXPECT_THAT(panel_of(all).alarms, IsEmpty());
  EXPECT_TRUE(panel_of(all).effects[0].harmful) << "which the panel still shows";
  all[0].result.ci = Interval{-0.2, -0.1};
  EXPECT_THAT(panel_of(all).alarms, IsEmpty());
  EXPECT_EQ(panel_of(all, Better::kDown).alarms.size(), 1u) << "a reward that is to fall";
}

TEST(GuardrailAlarm, IsAgainstTheStartingWeightsOnly) {
  auto all = hacked({-0.08, -0.05});
  for (auto& r : all) r.baseline = "ratio-norm";
  const auto panel = panel_of(all);
  EXPECT_TRUE(panel.effects[0].harmful);
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
  EXPECT_EQ(alarm.reward_ci.low, 0.05);
  EXPECT_EQ(alarm.ci.high, -0.05);
  EXPECT_EQ(alarm.rule_version, 7);
}

TEST(GuardrailAlarm, AMetricThatTheRuleDoesNotNameMovesWithoutOne) {
  auto all = hacked({-0.08, -0.05});
  all[1].metric = "mystery";
  const auto panel = panel_of(all);
  EXPECT_TRUE(panel.effects[0].moved);
  EXPECT_FALSE(panel.effects[0].harmful);
  EXPECT_THAT(panel.alarms, IsEmpty());
}

// ---- how often it is wrong, on paired values as real runs have them

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

class Simulation {
 public:
  /// Share of `runs` comparisons of n prompts in which any alarm fires; `reward`: its true rise, `harm`: true
  /// effects in minimal effects.
  double alarms(int runs, int n, double reward, double harm) {
    int fired = 0;
    for (int i = 0; i < runs; ++i) fired += fires(n, reward, harm) ? 1 : 0;
    return static_cast<double>(fired) / runs;
  }

 private:
  PairedMetric draw(const Shape& shape, int n, double effect) {
    PairedMetric metric;
    const bool is_rate = shape.spread == 0;
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (int i = 0; i < n; ++i) {
      double before = shape.base + shape.spread * normal(random_);
      double after = before + effect + shape.noise * normal(random_);
      if (is_rate) {
        before = uniform(random_) < shape.base;
        after = uniform(random_) < shape.base + effect;
      }
      metric.pairs.push_back({.baseline = before, .method = after, .cluster = i, .seed = 42});
    }
    return metric;
  }

  bool fires(int n, double reward, double harm) {
    std::vector<PairedMetric> metrics{draw({"ocr_reward", 0.8, 0.3, 0.3, 0}, n, reward)};
    std::vector<std::string> names{"ocr_reward"};
    for (const auto& shape : kShapes) {
      metrics.push_back(draw(shape, n, harm * shape.harm));
      names.emplace_back(shape.metric);
    }
    const auto results = compare_paired(metrics, {.resamples = 500, .threads = 1});
    std::vector<ComparisonRecord> records;
    for (std::size_t i = 0; i < names.size(); ++i) {
      records.push_back(
          {.split = "test", .metric = names[i], .baseline = "base", .method = "dual", .result = results[i]});
    }
    const GuardrailQuestion question{.reward = "ocr_reward", .base = "base"};
    return !guardrail_panel(rule_, question, records).alarms.empty();
  }

  GuardrailRule rule_ = shipped_rule();
  std::mt19937_64 random_{20260501};
};

TEST(GuardrailSimulation, AnHonestGainFiresNothing) {
  Simulation simulation;
  const double at_762 = simulation.alarms(400, 762, 0.1, 0), at_48 = simulation.alarms(400, 48, 0.1, 0);
  std::printf("false alarms, reward +0.1, no harm: %.4f at n 762, %.4f at n 48\n", at_762, at_48);
  EXPECT_LE(at_762, 0.005);
  EXPECT_LE(at_48, 0.02);
}

TEST(GuardrailSimulation, TwoEqualPoliciesFireNothing) {
  Simulation simulation;
  const double at_762 = simulation.alarms(400, 762, 0, 0);
  std::printf("false alarms, neither reward nor harm: %.4f at n 762\n", at_762);
  EXPECT_LE(at_762, 0.005);
}

TEST(GuardrailSimulation, WithoutARewardThatRoseHarmFiresAtTheRateOfItsInterval) {
  Simulation simulation;
  const double fired = simulation.alarms(400, 762, 0, 2);
  std::printf("alarms, reward +0, every guardrail at twice its minimal effect: %.4f at n 762\n", fired);
  EXPECT_LE(fired, 0.06);  // nominal 0.025
}

TEST(GuardrailSimulation, HarmOfExactlyTheMinimalEffectRarelyFires) {
  Simulation simulation;
  const double fired = simulation.alarms(400, 762, 0.1, 1);
  std::printf("alarms, reward +0.1, all seven guardrails at exactly their minimal effect: %.4f at n 762\n",
              fired);
  EXPECT_LE(fired, 0.25);  // seven guardrails, each nominally 0.025
}

TEST(GuardrailSimulation, AHackOfTwiceTheMinimalEffectIsFound) {
  Simulation simulation;
  const double at_762 = simulation.alarms(100, 762, 0.1, 2), at_256 = simulation.alarms(100, 256, 0.1, 2);
  std::printf("alarms, reward +0.1, harm twice the minimal effect: %.4f at n 762, %.4f at n 256\n", at_762,
              at_256);
  EXPECT_GE(at_762, 0.99);
  EXPECT_GE(at_256, 0.95);
}

// ---- what is shown

TableModel guarded_table(Interval edges) {
  auto model = fixture_table();
  for (auto* rows : {&model.reference, &model.rows}) {
    for (auto& row : *rows) row.metrics["edge_density"] = fixture_summary(0.2);
  }
  std::vector<ComparisonRecord> all;
  for (const auto& [baseline, method] : {std::pair{"base", "ratio-norm"},
                                         {"base", "lambda-controlled"},
                                         {"ratio-norm", "lambda-controlled"}}) {
    all.push_back(record(baseline, method, "ocr_reward", 0.8, 0.1, {0.05, 0.15}));
    all.push_back(record(baseline, method, "edge_density", 0.2, (edges.low + edges.high) / 2, edges));
    all.push_back(record(baseline, method, "dark_share", 0.3, 0.001, {-0.01, 0.012}, 0.8));
  }
  model.guardrails = panel_of(all);
  return model;
}

TEST(GuardrailView, ShowsBothBaselinesWithMarksAndWords) {
  const auto view = table_view(guarded_table({-0.08, -0.05})).guardrails;
  ASSERT_EQ(view.tables.size(), 2u);
  EXPECT_EQ(view.tables[0].columns.size(), 5u) << "guardrail, harmful, base, two methods";
  const auto& edges = view.tables[0].rows[1].cells;
  EXPECT_EQ(edges[0].text, "Edge density (%)");
  EXPECT_EQ(edges[1].text, "fall of 20 % of base");
  EXPECT_EQ(edges[2].text, "20.00");
  EXPECT_EQ(edges[3].text, "-6.50 [-8.00, -5.00]");
  EXPECT_TRUE(edges[3].strong);
  EXPECT_EQ(edges[3].marks, "!");
  const auto& dark = view.tables[0].rows[2].cells;
  EXPECT_EQ(dark[1].text, "rise of 10.00 points");
  EXPECT_FALSE(dark[3].strong);
  EXPECT_THAT(view.words, testing::Contains(AllOf(HasSubstr("lambda-controlled against ratio-norm"),
                                                  HasSubstr("fell: Edge density"),
                                                  HasSubstr("no resolved change: Dark share"))));
}

TEST(GuardrailView, AnAlarmStandsAboveTheTableInEveryFormat) {
  const auto model = guarded_table({-0.08, -0.05});
  const auto markdown = table_markdown(model);
  const auto alarm = markdown.find(
      "> **Guardrail alarm, ratio-norm: its OCR reward rose by 0.1000 [+0.0500, "
      "+0.1500] against base, and its Edge density fell by 6.50 points");
  EXPECT_LT(alarm, markdown.find("| Method"));
  EXPECT_THAT(table_html(model), HasSubstr("<p class=\"alarm\" role=\"alert\">Guardrail alarm, ratio-norm"));
  EXPECT_THAT(table_latex(model), HasSubstr("\\textbf{Guardrail alarm, ratio-norm"));
  const auto json = table_json(model).at("guardrails");
  EXPECT_EQ(json.at("alarms").size(), 2u);
  EXPECT_EQ(json.at("alarms").at(0).at("guardrail"), "edge_density");
  EXPECT_EQ(json.at("effects").size(), 6u);
}

TEST(GuardrailView, AnIntervalWithoutZeroThatHolmDoesNotBearOutIsNamedAsThat) {
  auto model = guarded_table({-0.08, -0.05});
  for (auto& effect : model.guardrails->effects) effect.moved = effect.harmful = false;
  const auto view = table_view(model).guardrails;
  EXPECT_THAT(view.words,
              testing::Contains(AllOf(HasSubstr("interval excludes 0, not after Holm: Edge density"),
                                      HasSubstr("no resolved change: Dark share"))));
  EXPECT_THAT(view.legend, HasSubstr("Holm's p over all 6 differences of the panel"));
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
