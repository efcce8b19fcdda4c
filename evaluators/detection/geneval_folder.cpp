#include "evaluators/detection/geneval_folder.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPictures = "preprocessor_config.json";

/// A folder that lacks a file altogether is more often an incomplete download than a broken one.
void expect_files(const fs::path& folder, const GenevalScorerInfo& scorer) {
  for (const auto& part : geneval_parts()) {
    if (!fs::is_directory(folder / part))
      throw Error(fmt::format("lacks the folder {}", part), folder.string(),
                  fmt::format("scorer {} needs {}", scorer.name, scorer.model));
  }
  const auto detector = folder / "detector";
  const auto expect = [&](bool is_there, const char* file) {
    if (!is_there)
      throw Error(fmt::format("lacks {}", file), detector.string(),
                  fmt::format("scorer {} needs {}", scorer.name, scorer.model));
  };
  expect(fs::exists(detector / "config.json"), "config.json");
  expect(fs::exists(detector / "model.safetensors") || fs::exists(detector / "model.safetensors.index.json"),
         "model.safetensors");
  expect(fs::exists(detector / kPictures), kPictures);
}

/// Rules name classes by label: a detector of other classes, or of the same in another order, would be judged
/// by the wrong ones.
void expect_labels(const Mask2FormerConfig& config, const GenevalScorerInfo& scorer,
                   const std::string& where) {
  const auto classes = scorer.vocabulary.classes;
  if (config.labels.size() != classes.size()) {
    throw Error(fmt::format("id2label has {} classes, and the vocabulary \"{}\" has {}", config.labels.size(),
                            scorer.vocabulary.name, classes.size()),
                where, fmt::format("scorer {} needs {}", scorer.name, scorer.model));
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (config.labels[i] == classes[i]) continue;
    throw Error(fmt::format("id2label: label {} is \"{}\", and in the vocabulary \"{}\" it is \"{}\"", i,
                            config.labels[i], scorer.vocabulary.name, classes[i]),
                where, "scripts/convert-mask2former writes the benchmark's names in their order");
  }
}

void expect_framework(const Mask2FormerConfig& config, const GenevalScorerInfo& scorer,
                      const GenevalProfile& profile, const std::string& where) {
  const std::string wanted = profile.framework;
  if (wanted.empty() || config.framework == wanted) return;
  throw Error(
      config.framework.empty()
          ? fmt::format("does not say who trained the weights, and profile {} is for those of {}",
                        profile.name, wanted)
          : fmt::format("holds weights trained by {}, and profile {} is for those of {}",
                        in_quotes(config.framework), profile.name, wanted),
      where + ": harness_source.framework",
      fmt::format("convert the benchmark's checkpoint with scripts/convert-mask2former, or choose --set "
                  "{}_profile=other-detector, whose scores are not comparable to published GenEval",
                  scorer.name));
}

}  // namespace

GenevalFolder GenevalFolder::load(const fs::path& folder, const GenevalScorerInfo& scorer,
                                  const GenevalProfile& profile, const Placement& placement) {
  expect_files(folder, scorer);
  const auto detector = folder / "detector";
  const auto where = (detector / "config.json").string();
  GenevalFolder parts;
  parts.pictures =
      DetectionImageConfig::from_json(read_json(detector / kPictures), (detector / kPictures).string());
  auto headers = placement;
  headers.read = false;
  parts.detector = load_mask2former(detector, headers);
  expect_labels(parts.detector->config(), scorer, where);
  expect_framework(parts.detector->config(), scorer, profile, where);
  const auto clip = scorer.clip();
  parts.clip = ClipFolder::load(folder / "clip", clip, clip.profiles.front(), placement);
  if (placement.read) parts.detector = load_mask2former(detector, placement);
  return parts;
}

std::int64_t GenevalFolder::bytes() const {
  std::int64_t count = 0;
  for (const auto& [_, tensor] : state_of(*detector)) count += tensor.numel();
  return count * static_cast<std::int64_t>(sizeof(float)) + clip.bytes();
}

}  // namespace harness
