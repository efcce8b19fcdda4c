#include <fmt/format.h>

#include <future>

#include "core/error.h"
#include "core/sha256.h"
#include "core/weights/weights_folder.h"
#include "evaluators/clip/clip_scorer.h"
#include "evaluators/clip/differentiable_scorer.h"
#include "evaluators/evaluator.h"
#include "evaluators/planned_files.h"
#include "models/nn/device.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

class ClipOfJob : public Scorer, public DifferentiableScorer {
 public:
  ClipOfJob(const fs::path& folder, const ClipScorerInfo& scorer, const ClipProfile& profile,
            const std::string& device)
      : metric_(scorer.metric_info()), clip_(folder, scorer, profile, open_device(device)) {}

  std::future<SampleScore> score(const ScorerText& text, const Image& image) override {
    try {
      return clip_.submit(text.prompt, image);
    } catch (const Error& error) {
      if (error.status() != Status::kUsage) throw;
      std::promise<SampleScore> done;  // a prompt that it cannot read: other scorers may
      done.set_value(without_values({metric_}, error.problem()));
      return done.get_future();
    }
  }
  torch::Tensor score_with_gradient(const std::vector<std::string>& texts,
                                    const torch::Tensor& pixels) override {
    return clip_.score_with_gradient(texts, pixels);
  }

 private:
  MetricInfo metric_;
  ClipScorer clip_;
};

std::unique_ptr<Scorer> open(const ClipScorerInfo& scorer, const ScorerSetup& setup) {
  const auto shipped = scorer.embedded_folder();
  const auto folder = shipped ? *shipped : setup.path("scorer:" + setup.name);
  const auto& profile = scorer.profile(planned_profile(setup), planned_where(setup));
  return open_planned(setup, folder, clip_identity(scorer, profile),
                      [&] { return std::make_unique<ClipOfJob>(folder, scorer, profile, setup.device); });
}

/// Of an embedded scorer with the files that are shipped; null where they are not.
Json known_identity(const ClipScorerInfo& scorer) {
  auto identity = clip_identity(scorer, scorer.profiles.front());
  if (!scorer.embedded) return identity;
  const auto folder = scorer.embedded_folder();
  if (!folder) return nullptr;
  for (const auto& file : single_model_files(*folder))
    identity["files"][file.string()] = sha256_file(*folder / file);
  return identity;
}

bool register_clip(const ClipScorerInfo& scorer, int place) {
  Evaluator evaluator{
      .name = scorer.name,
      .summary = scorer.summary,
      .place = place,
      .metrics = {scorer.metric_info()},
      .tasks = {{.name = scorer.name,
                 .summary = fmt::format("draw what the scorer {} rates high; rewarded by {}: {}", scorer.name,
                                        scorer.metric, scorer.profiles.front().formula),
                 .metric = scorer.metric}},
      .has_gradient = true,
      .sources = {"evaluators/clip/clip_scorer.cpp"},
      .identity = [&scorer] { return known_identity(scorer); },
      .open = [&scorer](const ScorerSetup& setup) { return open(scorer, setup); },
      .check =
          [&scorer](const fs::path& folder, const std::string& profile, const std::string& where) {
            return ClipFolder::load(folder, scorer, scorer.profile(profile, where), {.read = false}).bytes();
          }};
  if (!scorer.embedded) evaluator.folder = {.model_class = "CLIPModel", .model = scorer.model};
  for (const auto& profile : scorer.profiles) evaluator.profiles.push_back({profile.name, profile.formula});
  return register_evaluator(std::move(evaluator));
}

const bool kRegistered = [] {
  int place = 5;
  for (const auto& scorer : clip_scorers()) register_clip(scorer, place++);
  return true;
}();

}  // namespace
}  // namespace harness
