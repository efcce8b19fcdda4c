#include "models/parity.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/autoencoder_kl.h"
#include "models/loading.h"
#include "models/sd3_transformer.h"

namespace harness {
namespace {

using torch::Tensor;

struct Case {
  std::filesystem::path folder;
  Json document;
  TensorMap inputs;

  const Tensor& input(const std::string& name) const {
    const auto found = inputs.find(name);
    if (found == inputs.end())
      throw Error(fmt::format("has no input \"{}\"", name), (folder / "inputs.safetensors").string());
    return found->second;
  }
};

TensorMap run_sd3_transformer(const Case& c) {
  auto model = load_sd3_transformer(c.folder / "model");
  std::map<std::string, Tensor> leaves;
  for (const auto& item : model->named_parameters()) leaves[item.key()] = item.value();
  for (const char* name : {"hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"}) {
    leaves[name] = c.input(name).clone().requires_grad_();
  }
  const auto sample = model->forward(leaves["hidden_states"], leaves["encoder_hidden_states"],
                                     leaves["pooled_projections"], leaves["timestep"]);
  TensorMap out{{"sample", sample.detach()}};
  std::vector<std::string> names;
  std::vector<Tensor> wanted;
  for (const auto& name : c.document.at("params").at("gradients")) {
    names.push_back(name.get<std::string>());
    if (!leaves.contains(names.back()))
      throw Error(fmt::format("asks for the gradient of an unknown \"{}\"", names.back()), c.folder.string());
    wanted.push_back(leaves[names.back()]);
  }
  const auto gradients = torch::autograd::grad({(sample * c.input("probe")).mean()}, wanted);
  for (std::size_t i = 0; i < names.size(); ++i) out["grad." + names[i]] = gradients[i];
  return out;
}

TensorMap run_autoencoder_kl(const Case& c) {
  const torch::NoGradGuard no_grad;
  auto vae = load_autoencoder(c.folder / "model");
  TensorMap out;
  const auto& latents = c.input("latents");
  out["decoded"] = vae->decode(latents);
  out["decoded_scaled"] = vae->decode(vae->from_flow(latents));
  for (const std::string name : {"image", "odd_image"}) {
    const auto [mean, logvar] = vae->encode(c.input(name));
    out[name + ".mean"] = mean;
    out[name + ".logvar"] = logvar;
    if (name == "image") out["image.latents"] = vae->to_flow(mean + (logvar / 2).exp() * c.input("noise"));
  }
  return out;
}

}  // namespace

bool is_model_case(const std::string& kind) {
  return kind == "sd3_transformer" || kind == "autoencoder_kl";
}

TensorMap run_model_case(const std::filesystem::path& folder) {
  const Case c{folder, read_json(folder / "case.json"), load_tensors(folder / "inputs.safetensors")};
  const auto kind = Fields(c.document, (folder / "case.json").string()).required<std::string>("kind");
  return kind == "sd3_transformer" ? run_sd3_transformer(c) : run_autoencoder_kl(c);
}

}  // namespace harness
