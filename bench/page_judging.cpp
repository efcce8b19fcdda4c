#include <algorithm>

#include "bench/page_simulation.h"
#include "results/statistics/crossed.h"
#include "results/table/table_judgement.h"
#include "results/verdict/run_variance.h"

// What is said of a simulated page, by the functions that judge real ones.

namespace harness {
namespace {

/// p where it could make a question's the smallest of the looks, and resolve it; else 1, which decides
/// nothing either.
void find_p(const TableQuestion& question, double level_of_look, CrossedComparison& crossed) {
  if (!crossed.ci || crossed.of_runs_alone) return;
  constexpr double kLeast = 1e-12;  // how small p is below it does not matter
  const double level = level_of_look * std::min(1.0, question.p_value.value_or(1) / kFamilyLevel);
  crossed.p_value = 1;
  if (!crossed.ci->excludes_zero() || level < kLeast ||
      !crossed_interval(crossed, 1 - level)->excludes_zero())
    return;
  crossed.p_value =
      crossed_p_value(crossed.delta / *crossed.standard_error, crossed.parts, crossed.parts_freedom);
}

/// p is for find_p.
void renew_without_p(CrossedComparison& crossed) {
  crossed.standard_error = std::sqrt(crossed.parts.total());
  crossed.ci = crossed_interval(crossed, 1 - kFamilyLevel);
}

bool is_on_side(double truth, double delta) {
  return truth != 0 && (truth > 0) == (delta > 0);
}

}  // namespace

TableModel PageSimulation::judged(std::vector<Question> asked) const {
  TableModel model;
  model.confidence = 1 - kFamilyLevel;
  model.baseline = kBaseline;
  std::vector<TableQuestion> questions;
  // The last one first: it has most of the level, so that p of earlier ones is seldom to be found.
  for (std::size_t look = plan_.looks.size(); look-- > 0;) {
    const bool is_last = look + 1 == plan_.looks.size();
    std::vector<Comparison> comparisons;
    for (auto& of : asked) {
      auto& c = comparisons.emplace_back();
      c.metric = of.metric;
      c.baseline = of.baseline;
      c.method = of.method;
      c.values = std::move(of.looks[look]);
      if (is_last) questions.push_back({c.baseline, c.method, c.metric, {}});
    }
    const RunVariances variances(comparisons);
    for (auto& c : comparisons) variances.raise(c, renew_without_p);
    const double level = plan_.level_of_look(look);
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      auto& c = comparisons[i];
      if (c.values.crossed) find_p(questions[i], level, *c.values.crossed);
      take_look(question_of(c).p_value, c.values.delta, level, is_last ? 0 : plan_.looks[look], questions[i]);
    }
    if (is_last) model.comparisons = std::move(comparisons);
  }
  give_roles({.primary = kPrimary, .base = design_.has_base ? kBase : ""}, questions);
  model.families.methods = Family(std::move(questions), kFamilyLevel);
  model.families.share_of_look = plan_.level_of_look(plan_.looks.size() - 1) / kFamilyLevel;
  judge_comparisons(model);
  if (design_.is_leaderboard) {
    std::vector<LeaderboardEvidence> evidence;
    std::vector<Comparison> second_views;
    for (auto& of : asked) {
      if (of.second_view)
        second_views.push_back({.metric = of.metric,
                                .baseline = of.baseline,
                                .method = of.method,
                                .values = std::move(*of.second_view)});
    }
    const RunVariances variances(second_views);
    for (auto& second : second_views) {
      variances.raise(second, renew_without_p);
      const auto c = std::ranges::find_if(model.comparisons,
                                          [&](const auto& first) { return is_same_question(first, second); });
      evidence.push_back({.method = c->method,
                          .at_images = c->values,
                          .judgement = c->judgement,
                          .at_evaluations = std::move(second.values)});
    }
    model.leaderboard =
        leaderboard({.metric = kPrimary, .baseline = kBaseline, .has_second_view = true}, evidence, {});
    heed_leaderboard(model);
  }
  if (design_.has_base && design_.metrics > 1)
    model.guardrails = guardrail_panel(guardrails_, {.reward = kPrimary, .base = kBase}, model.comparisons);
  return model;
}

void PageSimulation::count(const TableModel& model, const std::vector<Question>& questions,
                           PageRates& rates) const {
  const auto truth_of_question = [&](const std::string& baseline, const std::string& method,
                                     const std::string& metric) {
    return std::ranges::find_if(questions,
                                [&](const Question& q) {
                                  return q.baseline == baseline && q.method == method && q.metric == metric;
                                })
        ->truth;
  };
  const auto standing_of = [&](const Comparison& c) {
    if (!model.leaderboard || c.metric != kPrimary || c.baseline != kBaseline) return Standing::kNotCompared;
    return std::ranges::find(model.leaderboard->rows, c.method, &LeaderboardRow::method)->standing;
  };
  bool is_false = false, has_board_claim = false, is_false_board = false;
  for (std::size_t i = 0; i < model.comparisons.size(); ++i) {
    const auto& c = model.comparisons[i];
    const double truth = questions[i].truth;
    ++rates.comparisons;
    const auto holds = [&](const std::optional<Interval>& interval) {
      return interval && interval->low <= truth && truth <= interval->high;
    };
    const auto& whole = c.values.crossed ? c.values.crossed->ci : c.values.ci;
    rates.covered += !whole || holds(whole) ? 1 : 0;
    rates.over_prompts += c.values.ci && !holds(c.values.ci) ? 1 : 0;
    if (whole) rates.half_width += (whole->high - whole->low) / 2;
    const auto standing = standing_of(c);
    const auto& adjusted = c.judgement.adjusted;
    const bool is_per_image = standing == Standing::kBetterPerImage || standing == Standing::kWorsePerImage;
    if (!c.judgement.resolved() && !is_per_image) continue;
    const double delta = adjusted.earlier_runs > 0 ? adjusted.earlier_delta : *c.values.delta;
    is_false = is_false || !is_on_side(truth, delta);
    ++rates.claims;
    rates.held += holds(c.judgement.interval) ? 1 : 0;
    if (c.metric == kPrimary && c.baseline == kBaseline && c.method == rows_.back() && delta > 0)
      ++rates.found;
    if (standing != Standing::kBetter && standing != Standing::kWorse) continue;
    has_board_claim = true;
    is_false_board =
        is_false_board || !is_on_side(truth, delta) || !is_on_side(questions[i].truth_there, delta);
  }
  if (model.guardrails) {
    for (const auto& alarm : model.guardrails->alarms) {
      const bool is_right =
          truth_of_question(alarm.baseline, alarm.method, alarm.reward) > 0 &&
          truth_of_question(alarm.baseline, alarm.method, alarm.guardrail) < -kMinimalEffect;
      is_false = is_false || !is_right;
    }
    rates.alarms += model.guardrails->alarms.empty() ? 0 : 1;
    rates.watched += model.guardrails->watch.empty() ? 0 : 1;
  }
  ++rates.pages;
  rates.false_pages += is_false ? 1 : 0;
  rates.board_claims += has_board_claim ? 1 : 0;
  rates.false_boards += is_false_board ? 1 : 0;
}

void PageSimulation::add_page(Random& random, PageRates& rates) const {
  const auto asked = questions(random);
  count(judged(asked), asked, rates);
}

PageRates PageSimulation::pages(int count, std::uint64_t cell) const {
  Random random(cell);
  PageRates rates;
  for (int i = 0; i < count; ++i) add_page(random, rates);
  return rates;
}

}  // namespace harness
