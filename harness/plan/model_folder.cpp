#include "harness/plan/model_folder.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"

namespace harness {
namespace fs = std::filesystem;

std::string backbone_of_folder(const std::string& folder) {
  if (folder.empty()) return load_registry().default_backbone().name;
  const auto file = fs::path(folder) / "model_index.json";
  if (!fs::exists(file))
    throw Error("holds no model_index.json", "--weights " + folder,
                "give a model folder in diffusers' layout");
  const auto index = read_json(file);
  const auto pipeline = Fields(index, file.string()).optional<std::string>("_class_name", "");
  std::vector<std::string> known;
  for (const auto& backbone : load_registry().backbones) {
    if (!pipeline.empty() && backbone.pipeline == pipeline) return backbone.name;
    if (!backbone.pipeline.empty()) known.push_back(backbone.pipeline);
  }
  throw Error(fmt::format("holds a \"{}\", which no backbone of this build runs", pipeline), file.string(),
              "known: " + join(known, ", "));
}

namespace {

void expect_folder(const std::string& chosen) {
  if (fs::is_directory(chosen)) return;
  if (!fs::exists(chosen)) throw Error("is not a folder", "--weights " + chosen);
  throw Error(
      "is a file, not a model folder", "--weights " + chosen,
      "give the model as diffusers saves it; of a single-file checkpoint diffusers makes such a folder "
      "with from_single_file and save_pretrained");
}

/// Of a tokenizer that was saved by transformers 5, whose files its reader and the public folders do not
/// share.
void expect_tokenizer_files(const fs::path& missing) {
  const auto folder = missing.parent_path();
  if (!folder.filename().string().starts_with("tokenizer") || !fs::exists(folder / "tokenizer.json")) return;
  throw Error(
      fmt::format("holds tokenizer.json alone, without {}", missing.filename().string()), folder.string(),
      "transformers 5 leaves the other files out when it saves: copy the folders tokenizer, tokenizer_2 and "
      "tokenizer_3 from the model's public repository");
}

/// A folder of another model, before anything of it is missed.
void expect_pipeline(const BackboneInfo& backbone, const std::string& folder) {
  if (backbone.pipeline.empty() || !fs::exists(fs::path(folder) / "model_index.json")) return;
  const auto holds = backbone_of_folder(folder);
  if (holds == backbone.name) return;
  throw Error(fmt::format("holds the weights of backbone {}, not of {}", holds, backbone.name),
              "--weights " + folder, "leave out --backbone, or give another folder");
}

}  // namespace

fs::path find_weights(const BackboneInfo& backbone, const std::string& chosen) {
  if (!backbone.random_weights.is_null()) {
    if (chosen.empty()) return {};
    throw Error(fmt::format("backbone {} begins with random weights", backbone.name), "--weights " + chosen,
                "leave it out, or choose another --backbone");
  }
  if (!chosen.empty()) {
    expect_folder(chosen);
    expect_pipeline(backbone, chosen);
    for (const auto& file : backbone.files) {
      if (fs::is_regular_file(fs::path(chosen) / file)) continue;
      expect_tokenizer_files(fs::path(chosen) / file);
      throw Error(fmt::format("lacks {}, so it is not a weights folder of backbone {}", file, backbone.name),
                  "--weights " + chosen, fmt::format("it must hold {}", join(backbone.files, ", ")));
    }
    // Hours later every image of such a folder would be refused.
    require_finite_weights(fs::path(chosen) / "vae");
    return chosen;
  }
  try {
    return find_data_file(backbone.default_weights.empty() ? "backbones/" + backbone.name
                                                           : backbone.default_weights);
  } catch (const Error& error) {
    const bool is_embedded = !backbone.default_weights.empty();
    throw Error(
        fmt::format("no weights for backbone {}", backbone.name), error.where(),
        is_embedded
            ? "give their folder with --weights, or make them with `harness pretrain " + backbone.name + "`"
            : "fetch the model's public folder, as diffusers saves it, and give it with --weights");
  }
}

fs::path default_weights(const std::string& backbone, const std::string& chosen) {
  return find_weights(load_registry().backbone(backbone, "--backbone"), chosen);
}

fs::path own_weights(const std::string& backbone) {
  try {
    return default_weights(backbone, "");
  } catch (const Error&) {
    return {};  // most backbones come without
  }
}

}  // namespace harness
