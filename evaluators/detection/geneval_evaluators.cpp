#include "core/sha256.h"
#include "core/weights/weights_folder.h"
#include "evaluators/detection/geneval_scorer.h"
#include "evaluators/evaluator.h"
#include "evaluators/planned_files.h"
#include "models/nn/device.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

class GenevalOfJob : public Scorer {
 public:
  GenevalOfJob(const fs::path& folder, const GenevalScorerInfo& scorer, const GenevalProfile& profile,
               const std::string& device)
      : scorer_(folder, scorer, profile, open_device(device)) {}

  std::future<SampleScore> score(const ScorerText& text, const Image& image) override {
    return scorer_.submit(text, image);
  }

 private:
  GenevalScorer scorer_;
};

std::unique_ptr<Scorer> open(const GenevalScorerInfo& scorer, const ScorerSetup& setup) {
  const auto shipped = scorer.embedded_folder();
  const auto folder = shipped ? *shipped : setup.path("scorer:" + setup.name);
  const auto& profile = scorer.profile(planned_profile(setup), planned_where(setup));
  return open_planned(setup, folder, geneval_identity(scorer, profile),
                      [&] { return std::make_unique<GenevalOfJob>(folder, scorer, profile, setup.device); });
}

/// Of an embedded scorer with the files that are shipped; null where they are not.
Json known_identity(const GenevalScorerInfo& scorer) {
  auto identity = geneval_identity(scorer, scorer.profiles.front());
  if (!scorer.embedded) return identity;
  const auto folder = scorer.embedded_folder();
  if (!folder) return nullptr;
  for (const auto& file : files_of_parts(*folder, geneval_parts()))
    identity["files"][file.string()] = sha256_file(*folder / file);
  return identity;
}

bool register_geneval(const GenevalScorerInfo& scorer, int place) {
  Evaluator evaluator{
      .name = scorer.name,
      .summary = scorer.summary,
      .place = place,
      .metrics = geneval_metrics(),
      .images = scorer.images,
      .needs_target = true,
      .sources = {"evaluators/detection/geneval_scorer.cpp", "evaluators/geneval/rule.cpp"},
      .identity = [&scorer] { return known_identity(scorer); },
      .open = [&scorer](const ScorerSetup& setup) { return open(scorer, setup); },
      .check =
          [&scorer](const fs::path& folder, const std::string& profile, const std::string& where) {
            const auto& chosen = scorer.profile(profile, where);
            return GenevalFolder::load(folder, scorer, chosen, {.read = false}).bytes();
          }};
  for (const auto& profile : scorer.profiles) evaluator.profiles.push_back({profile.name, profile.formula});
  if (scorer.embedded) return register_evaluator(std::move(evaluator));
  evaluator.folder = {
      .model_class = "Mask2FormerForUniversalSegmentation", .model = scorer.model, .parts = geneval_parts()};
  evaluator.tasks = {{.name = "geneval",
                      .summary = "draw what a prompt asks for: objects, their number, colours and places; "
                                 "rewarded by geneval_score",
                      .metric = "geneval_score"}};
  return register_evaluator(std::move(evaluator));
}

const bool kRegistered = [] {
  int place = 20;
  for (const auto& scorer : geneval_scorers()) register_geneval(scorer, place++);
  return true;
}();

}  // namespace
}  // namespace harness
