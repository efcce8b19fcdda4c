#include "models/parity/parity.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/parity/parity_kinds.h"

namespace harness {
namespace {

const std::map<std::string, TensorMap (*)(const ParityCase&)> kRunners = {
    {"autoencoder_kl", run_autoencoder_kl_case},
    {"autoencoder_kl_tiled", run_autoencoder_kl_tiled_case},
    {"encode_prompt", run_encode_prompt_case},
    {"clip_image_processor", run_clip_image_processor_case},
    {"clip_model", run_clip_model_case},
    {"clip_text", run_clip_text_case},
    {"clip_text_projection", run_clip_text_projection_case},
    {"sd3_transformer", run_sd3_transformer_case},
    {"t5_encoder", run_t5_encoder_case},
    {"tokenizer", run_tokenizer_case},
};

}  // namespace

bool is_model_case(const std::string& kind) {
  return kRunners.contains(kind);
}

TensorMap run_model_case(const std::filesystem::path& folder) {
  const auto c = ParityCase::read(folder);
  const auto runner = kRunners.find(c.kind);
  if (runner == kRunners.end())
    throw Error(fmt::format("kind \"{}\" is not one of the models'", c.kind), folder.string());
  return runner->second(c);
}

}  // namespace harness
