#include "models/loading.h"

#include "core/files.h"
#include "core/json.h"
#include "models/weights_io.h"

namespace harness {
namespace {

constexpr auto kConfigFile = "config.json";
constexpr auto kWeightsFile = "diffusion_pytorch_model.safetensors";

template <class Holder, class Config>
Holder load_component(const std::filesystem::path& folder) {
  const auto file = folder / kConfigFile;
  Holder model(Config::from_json(read_json(file), file.string()));
  const auto weights = folder / kWeightsFile;
  load_into(*model, load_tensors(weights), weights.string());
  model->eval();
  return model;
}

template <class Holder>
void save_component(const std::filesystem::path& folder, Holder& model, torch::ScalarType dtype) {
  make_folder(folder);
  write_file_atomically(folder / kConfigFile, model->config().to_json().dump(2) + "\n");
  TensorMap state;
  for (const auto& [name, tensor] : state_of(*model))
    state[name] = tensor.is_floating_point() ? tensor.detach().to(dtype) : tensor;
  save_tensors(folder / kWeightsFile, state, {{"format", "pt"}});
}

}  // namespace

Sd3Transformer load_sd3_transformer(const std::filesystem::path& folder) {
  return load_component<Sd3Transformer, Sd3Config>(folder);
}
AutoencoderKl load_autoencoder(const std::filesystem::path& folder) {
  return load_component<AutoencoderKl, AutoencoderConfig>(folder);
}

void save_sd3_transformer(const std::filesystem::path& folder, Sd3Transformer model,
                          torch::ScalarType dtype) {
  save_component(folder, model, dtype);
}
void save_autoencoder(const std::filesystem::path& folder, AutoencoderKl model, torch::ScalarType dtype) {
  save_component(folder, model, dtype);
}

}  // namespace harness
