#include <algorithm>

#include "trainers/direct/direct_method.h"

namespace harness {
namespace {

constexpr int kGrid = 100;  // places from high to low
constexpr double kDiscountShift = 3;

enum class Branch { kDenoise, kInvert };

/// SRPO (arXiv 2509.06942; Tencent-Hunyuan/SRPO): own images x0 are noised with a known eps, here and in the
/// public code on own images the noise that they were sampled from. One step of v from sigma to sigma_to,
/// and the clean image behind that eps:
///
///     x = (1 - sigma) x0 + sigma eps,  x0' = (x + (sigma_to - sigma) v(x) - sigma_to eps) / (1 - sigma_to)
///     loss = discount mean max(0, margin - reward(x0'))
///     reward = (1 + k) score("POSITIVE. PROMPT") - score("NEGATIVE. PROMPT")
///
/// v = eps - x0 gives x0 back, and d x0' / d v = (sigma_to - sigma) / (1 - sigma_to). Denoising steps go
/// down. Inversion steps go up, where a reward pulls v the other way, and exchange the words' roles. Without
/// words the reward is the prompt's own score, and minus that on inversion steps. Places are those of a grid
/// of 100 from `high` to `low`; a step is at most `jump` of it long, and shorter near its ends. The discount
/// grows from noise to data: 3 p / (1 + 2 p), p the place's part of the way.
///
/// Public numbers: FLUX, lr 5e-6, margin 0.7 on the scale of HPS-v2.1; Qwen-Image: lr 3e-6, loss -reward, no
/// inversion, k = 0, jump 0.4, places 0.9 to 0.2, words drawn from lists (realistic against oily).
class Srpo : public DirectMethod {
 public:
  Srpo(Settings& settings, const MethodContext& /*context*/)
      : high_(settings.number("high")),
        low_(settings.number("low")),
        jump_(settings.number("jump")),
        margin_(settings.number("margin")),
        branch_(settings.choice("branch")) {
    if (low_ >= high_) settings.fail("low", "is not below high", "noise falls from high to low");
    const auto positive = settings.get<std::string>("positive"),
               negative = settings.get<std::string>("negative");
    const double k = settings.number("k");
    if (positive == negative && k == 0 && !positive.empty())
      settings.fail("negative", "is what positive is, and the two scores would cancel", "give other words");
    denoising_ = terms(1, k, positive, negative);
    inversion_ = terms(-1, k, negative, positive);
  }

  DirectImages images(const DirectSampling& sampling) const override {
    const auto branch = branch_of(sampling);
    const int place = sampling.drawn(0, 2, kGrid - 2);
    const int length = std::max(1, std::min({static_cast<int>(jump_ * kGrid), place, kGrid - place}));
    // Both ends of the step by their place from noise: the noisier one is `length` before the other.
    const double noisier = sigma_at(place - length), cleaner = sigma_at(place);
    const double from = branch == Branch::kDenoise ? noisier : cleaner;
    const double to = branch == Branch::kDenoise ? cleaner : noisier;
    const auto x0 = sampling.sampled(sampling.steps());
    const auto& eps = sampling.noise();
    const auto time = [&](double sigma) { return torch::full({x0.size(0)}, sigma, torch::kFloat64); };
    const auto x = (1 - from) * x0 + from * eps;
    return {.clean = recovered_clean(x, time(from), time(to), sampling.velocity(x, from), eps),
            .terms = branch == Branch::kDenoise ? denoising_ : inversion_,
            .discount = discount(place)};
  }

  torch::Tensor loss(const torch::Tensor& reward) const override { return margin_loss(margin_, reward); }

  static std::vector<Setting> settings();

 private:
  static std::vector<RewardTerm> terms(double sign, double k, const std::string& positive,
                                       const std::string& negative) {
    if (positive.empty() && negative.empty()) return {{.weight = sign}};
    return {{.weight = 1 + k, .words = positive}, {.weight = -1, .words = negative}};
  }

  Branch branch_of(const DirectSampling& sampling) const {
    if (branch_ == "both") return sampling.drawn(1, 0, 1) == 0 ? Branch::kDenoise : Branch::kInvert;
    return branch_ == "denoise" ? Branch::kDenoise : Branch::kInvert;
  }

  double sigma_at(int place) const { return high_ + (low_ - high_) * place / kGrid; }

  static double discount(int place) {
    const double part = static_cast<double>(place) / kGrid;
    return kDiscountShift * part / (1 + (kDiscountShift - 1) * part);
  }

  double high_, low_, jump_, margin_;
  std::string branch_;
  std::vector<RewardTerm> denoising_, inversion_;
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
       .default_value = "both",
       .choices = {"both", "denoise", "invert"},
       .help = "the step's direction; both: drawn for each shard and epoch"},
      {.name = "positive", .default_value = "", .help = "words before the prompt whose score is raised"},
      {.name = "negative",
       .default_value = "",
       .help = "words before the prompt whose score is lowered; without words the prompt's own is raised"},
      {.name = "k",
       .default_value = 0.0,
       .minimum = 0,
       .maximum = 1e3,
       .help = "the raised score counts 1 + k times"},
      margin_setting(0.7)};
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
