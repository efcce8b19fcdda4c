#include "embedded/flow_stages.h"

#include "core/files.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;

AutoencoderConfig autoencoder_config(std::int64_t sample_size) {
  AutoencoderConfig c;
  c.block_out_channels = {8, 16, 32, 64};
  c.layers_per_block = 1;
  c.norm_num_groups = 4;
  c.sample_size = sample_size;
  c.scaling_factor = 1;
  c.shift_factor = 0;
  c.mid_block_add_attention = false;
  c.force_upcast = false;
  return c;
}

/// adaLN-Zero as the identity but for its gates, which begin at 0.5.
void open_gates(Tensor weights, std::int64_t width) {
  weights.zero_();
  if (weights.dim() != 1) return;
  // Chunks are shift, scale, gate, once or twice.
  for (std::int64_t gate = 2 * width; gate < weights.size(0); gate += 3 * width)
    weights.slice(0, gate, gate + width).fill_(0.5);
}

}  // namespace

FlowStages::FlowStages(const PretrainOptions& options, FlowSource source)
    : options_(options),
      common_(options),
      source_(std::move(source)),
      vae_(autoencoder_config(source_.sample_size)),
      encoder_(source_.table) {
  initialise_uniform(*vae_, mixed_seed({options.seed, 101}));
  const torch::NoGradGuard no_grad;
  auto random = seeded_generator(mixed_seed({options.seed, 103}));
  for (const auto& item : encoder_->named_parameters())
    item.value().normal_(0, item.key() == "style.weight" ? 1.0 : 0.5, random);
}

void FlowStages::train_autoencoder() {
  const StagePlan plan{"A", 1, kStepsA, 2, 8, 100, 3e-3, true, 1e-4, false};
  common_.train(plan, vae_->parameters(), [&](std::uint64_t seed) {
    const auto images = source_.autoencoder(plan.micro_size, seed).images;
    const auto [mean, logvar] = vae_->encode(images);
    const auto noise = torch::randn(mean.sizes(), seeded_generator(seed));
    const auto out = vae_->decode(mean + (logvar / 2).exp() * noise);
    const auto kl = 0.5 * (mean.square() + logvar.exp() - 1 - logvar).mean();
    return torch::mse_loss(out, images) + 0.1 * torch::l1_loss(out, images) + 1e-4 * kl;
  });
  measure_latents();
}

void FlowStages::measure_latents() {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> means;
  for (std::uint64_t i = 0; i < 16; ++i)
    means.push_back(vae_->encode(source_.clear(32, mixed_seed({options_.seed, 104, i})).images).first);
  const auto all = torch::cat(means);
  latent_std_ = all.std().item<double>();
  vae_->set_scaling(source_.latent_std / latent_std_, all.mean().item<double>());
}

void FlowStages::train_flow(const StagePlan& plan, const torch::nn::Module& network, bool with_table,
                            const Pretraining::Loss& loss) {
  auto parameters = network.parameters();
  if (with_table) {
    for (const auto& p : encoder_->parameters()) parameters.push_back(p);
  }
  common_.train(plan, parameters, loss);
}

FlowPoint FlowStages::flow(const DrawImages& images, std::int64_t size, std::uint64_t seed, bool dropout) {
  auto data = images(size, seed);
  auto random = seeded_generator(seed);
  Tensor x0;
  {
    const torch::NoGradGuard no_grad;
    x0 = vae_->to_flow(vae_->encode(data.images).first);
    if (dropout) {
      const auto kept = torch::rand({size}, random) >= 0.1;
      data.tokens *= kept.unsqueeze(1);
      data.styles *= kept;
    }
  }
  const auto sigma = torch::randn({size}, random).sigmoid();
  const auto noise = torch::randn(x0.sizes(), random);
  const auto s = sigma.view({-1, 1, 1, 1});
  return {(1 - s) * x0 + s * noise, sigma, noise - x0, encoder_->forward(data.tokens, data.styles)};
}

TextCondition FlowStages::empty(std::int64_t count) {
  return encoder_->forward(torch::zeros({count, source_.table.places}, torch::kInt64),
                           torch::zeros({count}, torch::kInt64));
}

void FlowStages::train_decoder() {
  const StagePlan plan{"D", 4, kStepsD, 2, 8, 50, 2e-3, true, 1e-4, false};
  common_.train(plan, vae_->decoder_parameters(), [&](std::uint64_t seed) {
    const auto images = source_.decoder(plan.micro_size, seed).images;
    Tensor latents;
    {
      const torch::NoGradGuard no_grad;
      auto random = seeded_generator(seed);
      latents = vae_->encode(images).first;
      const auto u = torch::rand({plan.micro_size, 1, 1, 1}, random);
      latents = latents + u * source_.decoder_noise * latent_std_ * torch::randn(latents.sizes(), random);
    }
    const auto out = vae_->decode(latents);
    return torch::mse_loss(out, images) + 0.1 * torch::l1_loss(out, images);
  });
}

void FlowStages::save(const std::string& what, Json index, Json facts) {
  const auto& out = options_.out;
  make_folder(out / "text_encoder");
  save_autoencoder(out / "vae", vae_, torch::kFloat16);
  TensorMap table;
  for (const auto& [name, tensor] : state_of(*encoder_)) table[name] = tensor.detach().to(torch::kFloat16);
  save_tensors(out / "text_encoder/model.safetensors", table, {{"format", "pt"}});
  common_.save_json("text_encoder/config.json", source_.table.to_json());
  index["vae"] = {"diffusers", "AutoencoderKL"};
  index["text_encoder"] = {"harness", "GlyphTextEncoder"};
  common_.save_json("model_index.json", index);
  common_.save_record(what, std::move(facts));
}

void initialise_gated(torch::nn::Module& network, std::int64_t width, std::uint64_t seed) {
  initialise_uniform(network, seed);
  const torch::NoGradGuard no_grad;
  const auto has = [](const std::string& name, const char* part) {
    return name.find(part) != std::string::npos;
  };
  for (const auto& item : network.named_parameters()) {
    const auto& name = item.key();
    if (has(name, "norm1") || has(name, ".norm.")) open_gates(item.value(), width);
    if (name.starts_with("norm_out") || name.starts_with("proj_out")) item.value().zero_();
  }
}

}  // namespace harness
