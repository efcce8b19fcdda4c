#include "evaluators/detection/geneval_scorers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kVersion = "2";
constexpr const char* kMmdetection = "mmdetection";
constexpr GenevalRule kSinglePosition{.single_position = true};

}  // namespace

const std::vector<std::string>& geneval_parts() {
  static const std::vector<std::string> parts = {"detector", "clip"};
  return parts;
}

const std::vector<GenevalScorerInfo>& geneval_scorers() {
  static const std::vector<GenevalScorerInfo> scorers = {
      {.name = "geneval",
       .summary = "GenEval (arXiv:2310.11513): Mask2Former finds the objects, CLIP their colours, and the "
                  "benchmark's rules judge what a prompt asked for",
       .model = "detector/: mmdetection's Mask2Former (scripts/convert-mask2former); clip/: "
                "openai/clip-vit-large-patch14",
       .images = kSceneImages,
       .vocabulary = benchmark_vocabulary(),
       .profiles = {{.name = "geneval",
                     .formula = "the benchmark's protocol; a pair in the wrong place adds terms 0 and 1",
                     .framework = kMmdetection},
                    {.name = "geneval-single-position",
                     .formula = "the benchmark's protocol; a pair in the wrong place adds the term 0",
                     .rule = kSinglePosition,
                     .framework = kMmdetection},
                    {.name = "flow-grpo",
                     .formula = "public training code's: JPEG of quality 75, red and blue exchanged for the "
                                "detector",
                     .reward_path = true,
                     .framework = kMmdetection},
                    {.name = "flow-grpo-single-position",
                     .formula = "as flow-grpo; a pair in the wrong place adds the term 0",
                     .reward_path = true,
                     .rule = kSinglePosition,
                     .framework = kMmdetection},
                    {.name = "other-detector",
                     .formula = "as geneval with weights of another training, for which the thresholds were "
                                "not chosen: not comparable to published GenEval"}}},
      {.name = "geneval-shapes",
       .summary = "GenEval's rules on the embedded backbone's coloured shapes: a small Mask2Former and a "
                  "small CLIP model of this project",
       .model = "the embedded scorer geneval-shapes",
       .images = kShapeImages,
       .vocabulary = shapes_vocabulary(),
       .embedded = true,
       .profiles = {{.name = "embedded",
                     .formula = "the benchmark's protocol; a pair in the wrong place adds terms 0 and 1"}}}};
  return scorers;
}

const GenevalProfile& GenevalScorerInfo::profile(const std::string& wanted, const std::string& where) const {
  std::vector<std::string> known;
  for (const auto& candidate : profiles) {
    if (wanted == candidate.name) return candidate;
    known.emplace_back(candidate.name);
  }
  throw Error(fmt::format("unknown profile {} of scorer {}", in_quotes(wanted), name), where,
              suggestion(wanted, known));
}

ClipScorerInfo GenevalScorerInfo::clip() const {
  return {.name = name,
          .metric = "",
          .title = "",
          .help = "",
          .summary = "",
          .model = embedded ? model : "openai/clip-vit-large-patch14",
          .profiles = {{.name = "colours",
                        .learned_scale = false,
                        .factor = 1,
                        .divisor = 1,
                        .whole_bytes = true,
                        .formula = "cos"}}};
}

std::optional<fs::path> GenevalScorerInfo::embedded_folder() const {
  if (!embedded) return std::nullopt;
  try {
    auto folder = find_data_file(fs::path("scorers") / name);
    const bool is_whole = std::ranges::all_of(
        geneval_parts(), [&](const auto& part) { return fs::exists(folder / part / "model.safetensors"); });
    return is_whole ? std::optional(std::move(folder)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<MetricInfo> geneval_metrics() {
  return {
      {.name = "geneval_score",
       .title = "GenEval score",
       .unit = "fraction",
       .better = "higher",
       .help = "graded: the mean of a prompt's terms (count, colour, place); below 0 where many objects are "
               "too many",
       .perfect = 1},
      {.name = "geneval_correct",
       .title = "GenEval correct",
       .unit = "percent",
       .better = "higher",
       .help = "the picture holds what its prompt asks for, as the benchmark judges",
       .decimals = 2},
      {.name = "geneval_strict",
       .title = "GenEval strict",
       .unit = "percent",
       .better = "higher",
       .help = "every clause of the prompt is met exactly: no more objects than asked",
       .decimals = 2}};
}

Json geneval_identity(const GenevalScorerInfo& scorer, const GenevalProfile& profile) {
  return {{"name", scorer.name}, {"version", kVersion}, {"profile", profile.name}};
}

}  // namespace harness
