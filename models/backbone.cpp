#include "models/backbone.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "models/loading.h"
#include "models/random_weights.h"
#include "models/tiny_sd3.h"
#include "models/weights_io.h"

namespace harness {
namespace {

using torch::Tensor;

GlyphTextEncoder load_text_encoder(const std::filesystem::path& folder) {
  const auto file = folder / "config.json";
  const auto document = read_json(file);
  Fields fields(document, file.string());
  const auto name = fields.required<std::string>("_class_name");
  if (name != "GlyphTextEncoder")
    throw Error(fmt::format("is a {}, not a GlyphTextEncoder", name), file.string());
  GlyphTextEncoder encoder(fields.required<std::int64_t>("width"),
                           fields.required<std::int64_t>("pooled_width"));
  fields.finish();
  load_into(*encoder, ModelWeights::open(folder, "model"));
  return encoder;
}

void check_index(const std::filesystem::path& folder) {
  const auto file = folder / "model_index.json";
  const auto document = read_json(file);
  const auto name = document.is_object() ? document.value("_class_name", "") : "";
  if (name != "GlyphPipeline") {
    throw Error(fmt::format("holds a {}, which this build cannot run",
                            name.empty() ? "model of unknown class" : name),
                file.string(), "known: GlyphPipeline (backbone glyph)");
  }
}

std::pair<Tensor, Tensor> glyph_prompt_inputs(const std::vector<PromptText>& prompts) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& prompt : prompts) pairs.emplace_back(prompt.text, prompt.target);
  return glyph_inputs(pairs);
}

std::pair<Tensor, Tensor> tiny_prompt_inputs(const std::vector<PromptText>& prompts) {
  std::vector<std::string> texts;
  for (const auto& prompt : prompts) texts.push_back(prompt.text);
  return tiny_sd3_inputs(texts);
}

}  // namespace

Backbone::Backbone(Sd3Transformer transformer, AutoencoderKl vae, GlyphTextEncoder encoder,
                   PromptInputs inputs, LatentShape latent, torch::Device device)
    : transformer_(std::move(transformer)),
      vae_(std::move(vae)),
      encoder_(std::move(encoder)),
      inputs_(inputs),
      latent_(latent),
      device_(device) {
  for (auto* module : std::initializer_list<torch::nn::Module*>{vae_.get(), encoder_.get()}) {
    for (auto& p : module->parameters()) p.set_requires_grad(false);
  }
  for (auto* module :
       std::initializer_list<torch::nn::Module*>{transformer_.get(), vae_.get(), encoder_.get()})
    module->to(device);
}

Backbone Backbone::glyph(const std::filesystem::path& folder, torch::Device device) {
  check_index(folder);
  auto vae = load_autoencoder(folder / "vae");
  const auto reduction = vae->config().reduction();
  const LatentShape latent{vae->config().latent_channels, kGlyphLines * kGlyphCellHeight / reduction,
                           kGlyphColumns * kGlyphCellWidth / reduction};
  return {load_sd3_transformer(folder / "transformer"),
          std::move(vae),
          load_text_encoder(folder / "text_encoder"),
          glyph_prompt_inputs,
          latent,
          device};
}

Backbone Backbone::tiny_sd3(std::uint64_t seed, torch::Device device) {
  Sd3Transformer transformer(tiny_sd3_transformer());
  AutoencoderKl vae(tiny_sd3_autoencoder());
  GlyphTextEncoder encoder(kTinySd3TextWidth, kTinySd3PooledWidth);
  initialise_uniform(*transformer, mixed_seed({seed, 201}));
  initialise_uniform(*vae, mixed_seed({seed, 202}));
  initialise_uniform(*encoder, mixed_seed({seed, 203}));
  const auto size = transformer->config().sample_size;
  const LatentShape latent{transformer->config().in_channels, size, size};
  return {std::move(transformer), std::move(vae), std::move(encoder), tiny_prompt_inputs, latent, device};
}

Backbone Backbone::load(const std::string& name, const std::filesystem::path& folder, torch::Device device,
                        std::uint64_t seed) {
  if (name == "glyph") return glyph(folder, device);
  if (name == "tiny-sd3") return tiny_sd3(seed, device);
  const std::vector<std::string> known = {"glyph", "tiny-sd3"};
  throw Error(fmt::format("unknown backbone \"{}\"", name), "backbone", suggestion(name, known));
}

TextCondition Backbone::encode(const std::vector<PromptText>& prompts) {
  const torch::NoGradGuard no_grad;
  const auto [tokens, styles] = inputs_(prompts);
  return encoder_->forward(tokens.to(device_), styles.to(device_));
}

TextCondition Backbone::encode_empty(std::int64_t count) {
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(torch::kInt64).device(device_);
  return encoder_->forward(torch::zeros({count, kGlyphCells}, options), torch::zeros({count}, options));
}

Tensor Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                          double guidance) {
  const auto n = latents.size(0);
  const auto time = [&](std::int64_t count) { return torch::full({count}, 1000 * sigma, latents.options()); };
  if (guidance == 1) return transformer_->forward(latents, condition.text, condition.pooled, time(n));
  const auto empty = encode_empty(n);
  const auto both =
      transformer_->forward(torch::cat({latents, latents}), torch::cat({empty.text, condition.text}),
                            torch::cat({empty.pooled, condition.pooled}), time(2 * n));
  const auto halves = both.chunk(2);
  return halves[0] + guidance * (halves[1] - halves[0]);
}

std::vector<Image> Backbone::decode(const Tensor& latents) {
  const torch::NoGradGuard no_grad;
  return to_images(vae_->decode(vae_->from_flow(latents)));
}

Json describe_backbones() {
  return {{{"name", "glyph"},
           {"precision", "fp32"},
           {"default_weights", "backbones/glyph"},
           {"files",
            {"model_index.json", "text_encoder/config.json", "text_encoder/model.safetensors",
             "transformer/config.json", "transformer/diffusion_pytorch_model.safetensors", "vae/config.json",
             "vae/diffusion_pytorch_model.safetensors"}}},
          {{"name", "tiny-sd3"},
           {"precision", "fp32"},
           {"threads", 1},  // its operations are too small to share: two runs side by side are faster
           {"random_weights", tiny_sd3_identity()}}};
}

std::vector<Image> to_images(const Tensor& pixels) {
  const auto bytes = (pixels.detach() / 2 + 0.5)
                         .clamp(0, 1)
                         .mul(255)
                         .round()
                         .to(torch::kUInt8)
                         .permute({0, 2, 3, 1})
                         .to(torch::kCPU)
                         .contiguous();
  std::vector<Image> images;
  for (const auto& one : bytes.unbind(0)) {
    const auto* data = one.const_data_ptr<std::uint8_t>();
    images.push_back(
        {static_cast<int>(one.size(1)), static_cast<int>(one.size(0)), {data, data + one.numel()}});
  }
  return images;
}

}  // namespace harness
