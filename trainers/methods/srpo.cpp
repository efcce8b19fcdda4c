#include <algorithm>
#include <cmath>

#include "trainers/direct/direct_method.h"

namespace harness {
namespace {

constexpr int kGrid = 100;  // places from high to low
constexpr double kDiscountShift = 3;

/// SRPO (arXiv 2509.06942; Tencent-Hunyuan/SRPO): own images x0 are noised with a known eps, here and in the
/// public code on own images the noise that they were sampled from. One step of v from sigma to sigma_to,
/// and the clean image behind that eps:
///
///     x = (1 - sigma) x0 + sigma eps,  x0' = (x + (sigma_to - sigma) v(x) - sigma_to eps) / (1 - sigma_to)
///     loss = mean max(0, margin - discount reward(x0'))
///     reward = (1 + k) score("POSITIVE. PROMPT") - score("NEGATIVE. PROMPT")
///
/// v = eps - x0 gives x0 back, and d x0' / d v = (sigma_to - sigma) / (1 - sigma_to). Denoising steps go
/// down. Inversion steps go up, where a reward pulls v the other way: they exchange the words' roles.
/// Without words the reward is the prompt's own score, and minus that on inversion steps.
///
/// sigma_to is drawn on a grid of 100 places p from `high` to `low`; a step is at most `jump` of it long, and
/// shorter near its ends. The discount grows from noise to data, 3 q / (1 + 2 q) with q = p / 100.
///
/// Public code for Qwen-Image: lr 3e-6, denoising steps alone, k = 0, jump 0.4, from 0.9 to 0.2, loss
/// -discount reward, words drawn from lists (realistic against oily). For FLUX: lr 5e-6, both steps of each
/// image, margin 0.7 on differences of HPS-v2.1, k in place of the discount: 0.1 to 0.25 by place, and 0.3 to
/// 0.01 on inversion steps.
class Srpo : public DirectMethod {
 public:
  Srpo(Settings& settings, const MethodContext& /*context*/)
      : high_(settings.number("high")),
        low_(settings.number("low")),
        longest_(static_cast<int>(std::lround(settings.number("jump") * kGrid))),
        margin_(settings.number("margin")) {
    if (low_ >= high_) settings.fail("low", "is not below high", "noise falls from high to low");
    const auto positive = settings.get<std::string>("positive"),
               negative = settings.get<std::string>("negative");
    const double k = settings.number("k");
    if (positive == negative && k == 0 && !positive.empty())
      settings.fail("negative", "is what positive is, and the two scores would cancel", "give other words");
    const auto branch = settings.choice("branch");
    const bool has_words = !positive.empty() || !negative.empty();
    if (branch != "invert")
      steps_.push_back({.goes_up = false, .terms = has_words ? terms(k, positive, negative) : kPrompt});
    if (branch != "denoise")
      steps_.push_back({.goes_up = true,
                        .terms = has_words ? terms(k, negative, positive) : kPrompt,
                        .sign = has_words ? 1.0 : -1.0});
  }

  std::vector<DirectImages> images(const DirectSampling& sampling) const override {
    const auto x0 = sampling.sampled(sampling.steps());
    const auto& eps = sampling.noise();
    const auto time = [&](double sigma) { return torch::full({x0.size(0)}, sigma, torch::kFloat64); };
    std::vector<DirectImages> images;
    for (const auto& step : steps_) {
      const int place = sampling.drawn(step.goes_up ? 1 : 0, 2, kGrid - 2);
      const int length = std::min({longest_, place, kGrid - place});
      const double from = sigma_at(step.goes_up ? place + length : place - length), to = sigma_at(place);
      const auto x = (1 - from) * x0 + from * eps;
      images.push_back({.clean = recovered_clean(x, time(from), time(to), sampling.velocity(x, from), eps),
                        .terms = step.terms,
                        .factor = step.sign * discount(place)});
    }
    return images;
  }

  torch::Tensor loss(const torch::Tensor& reward) const override { return margin_loss(margin_, reward); }

  static std::vector<Setting> settings();

 private:
  using Terms = std::vector<RewardTerm>;
  struct Step {
    bool goes_up = false;
    Terms terms = {};
    double sign = 1;  ///< of the reward
  };

  static Terms terms(double k, const std::string& raised, const std::string& lowered) {
    return {{.weight = 1 + k, .words = raised}, {.weight = -1, .words = lowered}};
  }

  double sigma_at(int place) const { return high_ + (low_ - high_) * place / kGrid; }

  static double discount(int place) {
    const double part = static_cast<double>(place) / kGrid;
    return kDiscountShift * part / (1 + (kDiscountShift - 1) * part);
  }

  static inline const Terms kPrompt = {{}};

  double high_, low_;
  int longest_;
  double margin_;
  std::vector<Step> steps_;
};

std::vector<Setting> Srpo::settings() {
  return {
      {.name = "high",
       .default_value = 0.9,
       .minimum = 0.01,
       .maximum = 0.99,
       .help = "largest flow time of a step's ends"},
      {.name = "low",
       .default_value = 0.2,
       .minimum = 0,
       .maximum = 0.98,
       .help = "smallest flow time of a step's ends"},
      {.name = "jump",
       .default_value = 0.4,
       .minimum = 0.01,
       .maximum = 1,
       .help = "longest step, as a part of the way from high to low"},
      {.name = "branch",
       .default_value = "denoise",
       .choices = {"denoise", "invert", "both"},
       .help = "the step's direction; both: one of each, two images scored for each one sampled"},
      {.name = "positive", .default_value = "", .help = "words before the prompt whose score is raised"},
      {.name = "negative",
       .default_value = "",
       .help = "words before the prompt whose score is lowered; without words the prompt's own is raised"},
      {.name = "k",
       .default_value = 0.0,
       .minimum = 0,
       .maximum = 1e3,
       .help = "with words: the raised score counts 1 + k times"},
      margin_setting(2.0)};
}

const bool kRegistered = register_method({
    .name = "srpo",
    .summary = "gradient of the reward of own images, noised with known noise and recovered by one step",
    .equations = "x0' = (x + (sigma_to - sigma) v - sigma_to eps) / (1 - sigma_to) (arXiv 2509.06942)",
    .settings = Srpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Srpo>(s, c); },
});

}  // namespace
}  // namespace harness
