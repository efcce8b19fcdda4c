#include "models/loading.h"

#include "core/files.h"
#include "core/json.h"
#include "models/nn/component.h"

namespace harness {
namespace {

constexpr auto kDiffusersStem = "diffusion_pytorch_model";
constexpr auto kTransformersStem = "model";

template <class Holder>
void save_component(const std::filesystem::path& folder, Holder& model, torch::ScalarType dtype,
                    const std::string& stem = kDiffusersStem) {
  make_folder(folder);
  write_file_atomically(folder / kConfigFile, model->config().to_json().dump(2) + "\n");
  TensorMap state;
  for (const auto& [name, tensor] : state_of(*model))
    state[name] = tensor.is_floating_point() ? tensor.detach().to(dtype) : tensor;
  save_tensors(folder / (stem + ".safetensors"), state, {{"format", "pt"}});
}

}  // namespace

Sd3Transformer load_sd3_transformer(const std::filesystem::path& folder, const Placement& placement) {
  return load_component<Sd3Transformer, Sd3Config>(folder, kDiffusersStem, placement);
}

FluxTransformer load_flux_transformer(const std::filesystem::path& folder, const Placement& placement) {
  return load_component<FluxTransformer, FluxConfig>(folder, kDiffusersStem, placement);
}

AutoencoderKl load_autoencoder(const std::filesystem::path& folder, const Placement& placement) {
  return load_component<AutoencoderKl, AutoencoderConfig>(folder, kDiffusersStem, placement);
}

ClipTextModel load_clip_text_model(const std::filesystem::path& folder, const Placement& placement) {
  return load_component<ClipTextModel, ClipTextConfig>(folder, kTransformersStem, placement, clip_text_key);
}

ClipModel load_clip_model(const std::filesystem::path& folder, const Placement& placement) {
  return load_component<ClipModel, ClipConfig>(folder, kTransformersStem, placement, clip_model_key);
}

T5Encoder load_t5_encoder(const std::filesystem::path& folder, const Placement& placement) {
  Placement kept = placement;
  if (placement.dtype == torch::kFloat16) kept.keeps_float32 = t5_keeps_float32;
  return load_component<T5Encoder, T5Config>(folder, kTransformersStem, kept, [](const std::string& key) {
    return key == "encoder.embed_tokens.weight" ? "" : key;
  });
}

void save_sd3_transformer(const std::filesystem::path& folder, Sd3Transformer model,
                          torch::ScalarType dtype) {
  save_component(folder, model, dtype);
}

void save_flux_transformer(const std::filesystem::path& folder, FluxTransformer model,
                           torch::ScalarType dtype) {
  save_component(folder, model, dtype);
}

void save_autoencoder(const std::filesystem::path& folder, AutoencoderKl model, torch::ScalarType dtype) {
  save_component(folder, model, dtype);
}

void save_clip_model(const std::filesystem::path& folder, ClipModel model, torch::ScalarType dtype) {
  save_component(folder, model, dtype, kTransformersStem);
}

}  // namespace harness
