#include "evaluators/clip/clip_scorers.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kVersion = "2";  // 1: images of a batch in one product

}  // namespace

const std::vector<ClipScorerInfo>& clip_scorers() {
  static const std::vector<ClipScorerInfo> scorers = {
      {.name = "pickscore",
       .metric = "pickscore",
       .title = "PickScore",
       .help = "exp(logit_scale) cos(image, prompt) / 26 of the model in the scorer's folder, float32",
       .summary = "PickScore (arXiv:2305.01569): a CLIP model trained on people's choices between images",
       .model = "yuvalkirstain/PickScore_v1 with the processor of laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
       .profiles = {{.name = "pickscore",
                     .learned_scale = true,
                     .factor = 1,
                     .divisor = 26,
                     .whole_bytes = true,
                     .formula = "exp(logit_scale) cos / 26"}}},
      {.name = "clip_score",
       .metric = "clip_score",
       .title = "CLIP score",
       .help = "cos(image, prompt) of the model in the scorer's folder, float32",
       .summary = "CLIP score: how near an image and its prompt are in the space of a CLIP model",
       .model = "openai/clip-vit-large-patch14",
       .profiles = {{.name = "clip",
                     .learned_scale = false,
                     .factor = 1,
                     .divisor = 1,
                     .whole_bytes = true,
                     .formula = "cos"},
                    {.name = "flow-grpo",
                     .learned_scale = false,
                     .factor = 100,
                     .divisor = 30,
                     .whole_bytes = false,
                     .formula = "100 cos / 30, image resized bilinearly without rounding"}}},
      {.name = "glyph-clip",
       .metric = "glyph_clip",
       .title = "glyph-CLIP score",
       .help =
           "cos(image, prompt) of this project's own small CLIP model; no PickScore, and no other model's",
       .summary = "a small CLIP model of this project, trained on the embedded backbone's kind of images",
       .model = "the embedded scorer glyph-clip",
       .embedded = true,
       .profiles = {{.name = "embedded",
                     .learned_scale = false,
                     .factor = 1,
                     .divisor = 1,
                     .whole_bytes = true,
                     .formula = "cos"}}}};
  return scorers;
}

const ClipScorerInfo* find_clip_scorer(const std::string& name) {
  for (const auto& scorer : clip_scorers()) {
    if (name == scorer.name) return &scorer;
  }
  return nullptr;
}

std::optional<fs::path> ClipScorerInfo::embedded_folder() const {
  if (!embedded) return std::nullopt;
  try {
    return find_data_file(fs::path("scorers") / name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

MetricInfo ClipScorerInfo::metric_info() const {
  return {.name = metric, .title = title, .better = "higher", .help = help};
}

const ClipProfile& ClipScorerInfo::profile(const std::string& wanted, const std::string& where) const {
  std::vector<std::string> known;
  for (const auto& candidate : profiles) {
    if (wanted == candidate.name) return candidate;
    known.emplace_back(candidate.name);
  }
  throw Error(fmt::format("unknown profile {} of scorer {}", in_quotes(wanted), name), where,
              suggestion(wanted, known));
}

Json clip_identity(const ClipScorerInfo& scorer, const ClipProfile& profile) {
  return {{"name", scorer.name}, {"version", kVersion}, {"profile", profile.name}};
}

}  // namespace harness
