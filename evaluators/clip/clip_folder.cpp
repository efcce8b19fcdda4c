#include "evaluators/clip/clip_folder.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/loading.h"
#include "models/tokenizers/load_tokenizer.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLegacyEos = 2;  // configurations that write it pool at the largest id

/// A folder that lacks a file altogether is more often an incomplete download than a broken one.
void expect_files(const fs::path& folder, const ClipScorerInfo& scorer) {
  const auto has = [&folder](const char* name) { return fs::exists(folder / name); };
  const auto lacks = [&](const std::string& name) {
    throw Error(fmt::format("lacks {}", name), folder.string(),
                fmt::format("scorer {} needs the files of {}", scorer.name, scorer.model));
  };
  if (!fs::is_directory(folder)) throw Error("is not a folder", folder.string());
  if (!has("config.json")) lacks("config.json");
  if (!has("model.safetensors") && !has("model.safetensors.index.json")) lacks("model.safetensors");
  if (!has("preprocessor_config.json") && !has("processor_config.json")) lacks("preprocessor_config.json");
  if (!has("tokenizer_config.json")) lacks("tokenizer_config.json");
}

void expect_image_size(const ClipFolder& clip, const fs::path& folder) {
  const auto size = clip.images.output_size();
  const auto wanted = clip.model->config().vision.image_size;
  if (size && size->height == wanted && size->width == wanted) return;
  throw Error(size ? fmt::format("gives images of {} x {} pixels, and the model takes {} x {}", size->width,
                                 size->height, wanted, wanted)
                   : fmt::format("gives images of any size, and the model takes {} x {}", wanted, wanted),
              (folder / "preprocessor_config.json").string(), "take both files from one public folder");
}

/// The path without rounding has no padding and no squeezing.
void expect_float_path(const ClipFolder& clip, const fs::path& folder) {
  const auto& images = clip.images;
  const bool fits = images.resize && images.shortest_edge && images.crop && images.normalize &&
                    *images.shortest_edge >= images.crop_size.height &&
                    *images.shortest_edge >= images.crop_size.width;
  if (!fits) {
    throw Error("the profile needs do_resize to a shortest edge, a centre crop not above it, do_normalize",
                (folder / "preprocessor_config.json").string());
  }
}

void expect_vocabulary(const ClipFolder& clip, const fs::path& folder) {
  const auto& text = clip.model->config().text;
  const auto& tokens = *clip.tokenizer;
  const auto where = (folder / "config.json").string() + ": text_config";
  if (tokens.vocab_size() > text.vocab_size) {
    throw Error(
        fmt::format("vocab_size {} is below the tokenizer's {}", text.vocab_size, tokens.vocab_size()),
        where);
  }
  const auto pooled = text.eos_token_id == kLegacyEos ? tokens.vocab_size() - 1 : text.eos_token_id;
  if (pooled != tokens.end_id()) {
    throw Error(
        fmt::format("pools at token {}, and the tokenizer ends texts with {}", pooled, tokens.end_id()),
        where, "take both files from one public folder");
  }
  if (text.max_position_embeddings < 3)
    throw Error(
        fmt::format("max_position_embeddings {} leaves no room for a text", text.max_position_embeddings),
        where);
}

}  // namespace

ClipFolder ClipFolder::load(const fs::path& folder, const ClipScorerInfo& scorer, const ClipProfile& profile,
                            const Placement& placement) {
  expect_files(folder, scorer);
  ClipFolder clip;
  clip.images = ClipImageConfig::load(folder);
  clip.tokenizer = load_text_tokenizer(folder);
  auto headers = placement;
  headers.read = false;
  clip.model = load_clip_model(folder, headers);
  expect_image_size(clip, folder);
  if (!profile.whole_bytes) expect_float_path(clip, folder);
  expect_vocabulary(clip, folder);
  if (placement.read) clip.model = load_clip_model(folder, placement);
  return clip;
}

std::int64_t ClipFolder::bytes() const {
  std::int64_t count = 0;
  for (const auto& [_, tensor] : state_of(*model)) count += tensor.numel();
  return count * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace harness
