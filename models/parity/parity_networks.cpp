#include <fmt/format.h>

#include "core/error.h"
#include "models/loading.h"
#include "models/parity/parity_kinds.h"

namespace harness {

TensorMap run_sd3_transformer_case(const ParityCase& c) {
  auto model = load_sd3_transformer(c.model());
  TensorMap leaves;
  for (const auto& item : model->named_parameters()) leaves[item.key()] = item.value();
  for (const char* name : {"hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"}) {
    leaves[name] = c.input(name).clone().requires_grad_();
  }
  const auto sample = model->forward(leaves["hidden_states"], leaves["encoder_hidden_states"],
                                     leaves["pooled_projections"], leaves["timestep"]);
  TensorMap out{{"sample", sample.detach()}};
  const auto names = c.param_fields().required<std::vector<std::string>>("gradients");
  std::vector<torch::Tensor> wanted;
  for (const auto& name : names) {
    if (!leaves.contains(name))
      throw Error(fmt::format("asks for the gradient of an unknown \"{}\"", name), c.folder.string());
    wanted.push_back(leaves[name]);
  }
  const auto gradients = torch::autograd::grad({(sample * c.input("probe")).mean()}, wanted);
  for (std::size_t i = 0; i < names.size(); ++i) out["grad." + names[i]] = gradients[i];
  return out;
}

TensorMap run_autoencoder_kl_case(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  auto vae = load_autoencoder(c.model());
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

TensorMap run_autoencoder_kl_tiled_case(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  auto vae = load_autoencoder(c.model());
  TensorMap out;
  for (const std::string size : {"wide", "both"})
    out["decoded." + size] = vae->decode_tiled(c.input("latents." + size));
  return out;
}

}  // namespace harness
