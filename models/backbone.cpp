#include "models/backbone.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "models/configs/model_index.h"
#include "models/glyph_text_encoder.h"
#include "models/loading.h"
#include "models/random_weights.h"
#include "models/sd3_prompt_encoder.h"
#include "models/tiny_sd3.h"

namespace harness {
namespace {

using torch::Tensor;

// Classes that a model folder's index names.
constexpr auto kGlyphPipeline = "GlyphPipeline";
constexpr auto kSd3Pipeline = "StableDiffusion3Pipeline";

using ComponentClasses = std::map<std::string, std::string>;

/// The folder must say that it holds a pipeline of class `wanted` with these components.
void check_index(const std::filesystem::path& folder, const char* wanted, const std::string& backbone,
                 const ComponentClasses& components) {
  const auto index = ModelIndex::read(folder / "model_index.json");
  if (index.pipeline != wanted) {
    throw Error(fmt::format("holds a {}, which backbone {} cannot run", in_quotes(index.pipeline), backbone),
                index.where, fmt::format("it needs a {}", wanted));
  }
  for (const auto& [name, class_name] : components) index.require(name, class_name);
}

/// Each component fits itself; whether they fit each other only their configurations tell.
void check_equal(const char* what, std::int64_t a, const char* other, std::int64_t b,
                 const std::filesystem::path& folder) {
  if (a == b) return;
  throw Error(fmt::format("components do not fit each other: {} is {}, and {} is {}", what, a, other, b),
              folder.string(), "fetch the folder again");
}

void check_channels(const Sd3Config& transformer, const AutoencoderConfig& vae,
                    const std::filesystem::path& folder) {
  check_equal("in_channels of the transformer", transformer.in_channels, "latent_channels of the VAE",
              vae.latent_channels, folder);
  check_equal("out_channels of the transformer", transformer.out_channels, "its in_channels",
              transformer.in_channels, folder);
  check_equal("out_channels of the VAE", vae.out_channels, "the number of colours", 3, folder);
}

void check_sd3_encoders(const Sd3Config& transformer, const std::filesystem::path& folder) {
  const auto config_of = [&](const char* part) { return folder / part / "config.json"; };
  const auto clip = [&](const char* part) {
    return ClipTextConfig::from_json(read_json(config_of(part)), config_of(part).string());
  };
  const auto l = clip("text_encoder"), g = clip("text_encoder_2");
  const auto t5 =
      T5Config::from_json(read_json(config_of("text_encoder_3")), config_of("text_encoder_3").string());
  check_equal("joint_attention_dim of the transformer", transformer.joint_attention_dim,
              "d_model of text_encoder_3", t5.d_model, folder);
  check_equal("pooled_projection_dim of the transformer", transformer.pooled_projection_dim,
              "the sum of projection_dim of text_encoder and text_encoder_2",
              l.projection_dim + g.projection_dim, folder);
}

void check_glyph_components(const Sd3Config& transformer, const AutoencoderConfig& vae,
                            const GlyphTextEncoder& encoder, const LatentShape& latent,
                            const std::filesystem::path& folder) {
  check_channels(transformer, vae, folder);
  check_equal("joint_attention_dim of the transformer", transformer.joint_attention_dim,
              "width of the text encoder", encoder->width(), folder);
  check_equal("pooled_projection_dim of the transformer", transformer.pooled_projection_dim,
              "pooled_width of the text encoder", encoder->pooled_width(), folder);
  if (latent.rows * vae.reduction() != kGlyphLines * kGlyphCellHeight ||
      latent.columns * vae.reduction() != kGlyphColumns * kGlyphCellWidth) {
    throw Error(fmt::format("components do not fit each other: the VAE cannot cut an image of {} x {} by {}",
                            kGlyphColumns * kGlyphCellWidth, kGlyphLines * kGlyphCellHeight, vae.reduction()),
                folder.string(), "fetch the folder again");
  }
  for (const auto side : {latent.rows, latent.columns}) {
    if (side % transformer.patch_size != 0 ||
        side / transformer.patch_size > transformer.pos_embed_max_size) {
      throw Error(fmt::format("components do not fit each other: the transformer cannot cut a latent of {} x "
                              "{} into patches of {}",
                              latent.rows, latent.columns, transformer.patch_size),
                  folder.string(), "fetch the folder again");
    }
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

/// Prompts as the byte table takes them: tokens [B,S] and styles [B].
using PromptInputs = std::pair<Tensor, Tensor> (*)(const std::vector<PromptText>&);

/// The text side of the embedded models: one table, no layers.
class TablePromptEncoder : public PromptEncoder {
 public:
  TablePromptEncoder(GlyphTextEncoder table, PromptInputs inputs, torch::Device device)
      : table_(std::move(table)), inputs_(inputs), device_(device) {
    table_->to(device);
  }

  TextCondition encode(const std::vector<PromptText>& prompts) override {
    const torch::NoGradGuard no_grad;
    const auto [tokens, styles] = inputs_(prompts);
    return table_->forward(tokens.to(device_), styles.to(device_));
  }

  TextCondition encode_empty(std::int64_t count) override {
    const torch::NoGradGuard no_grad;
    const auto options = torch::TensorOptions(torch::kInt64).device(device_);
    return table_->forward(torch::zeros({count, kGlyphCells}, options), torch::zeros({count}, options));
  }

 private:
  GlyphTextEncoder table_;
  PromptInputs inputs_;
  torch::Device device_;
};

/// The first row of [B,...] that holds NaN or an infinity.
std::optional<std::size_t> first_not_finite(const Tensor& rows) {
  const auto finite = rows.isfinite();
  if (finite.all().item<bool>()) return std::nullopt;
  std::size_t row = 0;
  while (finite[static_cast<std::int64_t>(row)].all().item<bool>()) ++row;
  return row;
}

/// Which image a row is: samples of a prompt lie in order.
std::string image_name(const std::vector<PromptText>& prompts, std::size_t row) {
  if (row >= prompts.size()) return "an image";
  const auto& text = prompts[row].text;
  const auto sample = std::count_if(prompts.begin(), prompts.begin() + static_cast<std::ptrdiff_t>(row),
                                    [&](const PromptText& prompt) { return prompt.text == text; });
  return fmt::format("prompt {}, sample {}", in_quotes(text), sample);
}

/// Pixels a side, and whether the model can draw them.
std::int64_t image_size_of(const ModelChoices& choices, const Sd3Config& config, std::int64_t reduction) {
  constexpr std::int64_t kUsual = 512;
  const auto own = config.sample_size * reduction, unit = config.patch_size * reduction,
             most = config.pos_embed_max_size * unit;
  const auto size = choices.image_size > 0 ? choices.image_size : std::min(kUsual, own);
  if (size % unit != 0 || size > most) {
    throw Error(fmt::format("images of {} x {} pixels do not suit this model", size, size),
                "setting image_size", fmt::format("give a multiple of {} up to {}", unit, most));
  }
  return size;
}

}  // namespace

torch::ScalarType large_model_dtype(torch::Device device) {
  return device.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
}

LoraAdapter& Backbone::add_adapter(const LoraConfig& config, std::uint64_t seed, const std::string& where) {
  adapter_.reset();
  adapter_ = std::make_shared<LoraAdapter>(*transformer_, config, where);
  adapter_->initialise(seed);
  return *adapter_;
}

LoraAdapter& Backbone::load_adapter(const std::filesystem::path& folder) {
  adapter_.reset();
  adapter_ = load_lora(folder, *transformer_);
  return *adapter_;
}

std::int64_t Backbone::trained_values() const {
  std::int64_t count = 0;
  if (adapter_) {
    for (const auto& weight : adapter_->parameters()) count += weight.tensor.numel();
  } else {
    for (const auto& p : transformer_->parameters()) count += p.numel();
  }
  return count;
}

Backbone::Backbone(Sd3Transformer transformer, AutoencoderKl vae, std::shared_ptr<PromptEncoder> encoder,
                   LatentShape latent, torch::Device device)
    : transformer_(std::move(transformer)),
      vae_(std::move(vae)),
      encoder_(std::move(encoder)),
      latent_(latent),
      device_(device) {
  for (auto& p : vae_->parameters()) p.set_requires_grad(false);
  transformer_->to(device);
  vae_->to(device);
}

Backbone Backbone::glyph(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kGlyphPipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "GlyphTextEncoder"}});
  auto vae = load_autoencoder(folder / "vae");
  const auto reduction = vae->config().reduction();
  const LatentShape latent{vae->config().latent_channels, kGlyphLines * kGlyphCellHeight / reduction,
                           kGlyphColumns * kGlyphCellWidth / reduction};
  auto transformer = load_sd3_transformer(folder / "transformer");
  auto encoder = load_glyph_text_encoder(folder / "text_encoder");
  check_glyph_components(transformer->config(), vae->config(), encoder, latent, folder);
  return {std::move(transformer), std::move(vae),
          std::make_shared<TablePromptEncoder>(std::move(encoder), glyph_prompt_inputs, source.device),
          latent, source.device};
}

Backbone Backbone::tiny_sd3(const BackboneSource& source) {
  Sd3Transformer transformer(tiny_sd3_transformer());
  AutoencoderKl vae(tiny_sd3_autoencoder());
  GlyphTextEncoder encoder(kTinySd3TextWidth, kTinySd3PooledWidth);
  initialise_uniform(*transformer, mixed_seed({source.seed, 201}));
  initialise_uniform(*vae, mixed_seed({source.seed, 202}));
  initialise_uniform(*encoder, mixed_seed({source.seed, 203}));
  const auto size = transformer->config().sample_size;
  const LatentShape latent{transformer->config().in_channels, size, size};
  return {std::move(transformer), std::move(vae),
          std::make_shared<TablePromptEncoder>(std::move(encoder), tiny_prompt_inputs, source.device), latent,
          source.device};
}

Backbone Backbone::sd35_medium(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kSd3Pipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "CLIPTextModelWithProjection"},
               {"text_encoder_2", "CLIPTextModelWithProjection"},
               {"text_encoder_3", "T5EncoderModel"}});
  const Placement large{
      .device = source.device, .dtype = large_model_dtype(source.device), .read = !source.headers_only};
  auto encoder = std::make_shared<Sd3PromptEncoder>(Sd3TextSource{.folder = folder,
                                                                  .placement = large,
                                                                  .t5_tokens = source.choices.text_tokens,
                                                                  .cache = source.text_cache,
                                                                  .identity = source.weights_sha256});
  auto vae = load_autoencoder(folder / "vae", {.device = source.device, .read = !source.headers_only});
  auto transformer = load_sd3_transformer(folder / "transformer", large);
  transformer->set_recompute(source.choices.recompute);
  const auto& config = transformer->config();
  const auto reduction = vae->config().reduction();
  check_channels(config, vae->config(), folder);
  check_sd3_encoders(config, folder);
  const auto size = image_size_of(source.choices, config, reduction) / reduction;
  const LatentShape latent{config.in_channels, size, size};
  Backbone backbone(std::move(transformer), std::move(vae), std::move(encoder), latent, source.device);
  backbone.add_adapter(source.choices.lora, mixed_seed({source.seed, 301}),
                       "settings lora_targets, lora_rank");
  return backbone;
}

Backbone Backbone::load(const BackboneSource& source) {
  if (source.name == "glyph") return glyph(source);
  if (source.name == "tiny-sd3") return tiny_sd3(source);
  if (source.name == "sd35-medium") return sd35_medium(source);
  const std::vector<std::string> known = {"glyph", "sd35-medium", "tiny-sd3"};
  throw Error(fmt::format("unknown backbone \"{}\"", source.name), "backbone",
              suggestion(source.name, known));
}

Tensor Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                          double guidance) {
  if (guidance != 1)
    return velocity(latents, sigma, condition, encoder_->encode_empty(latents.size(0)), guidance);
  const auto time = torch::full({latents.size(0)}, 1000 * sigma, latents.options());
  return transformer_->forward(latents.to(transformer_->dtype()), condition.text, condition.pooled, time)
      .to(torch::kFloat32);
}

Tensor Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                          const TextCondition& negative, double guidance) {
  const auto time = torch::full({2 * latents.size(0)}, 1000 * sigma, latents.options());
  const auto both = transformer_->forward(torch::cat({latents, latents}).to(transformer_->dtype()),
                                          torch::cat({negative.text, condition.text}),
                                          torch::cat({negative.pooled, condition.pooled}), time);
  const auto halves = both.to(torch::kFloat32).chunk(2);
  return halves[0] + guidance * (halves[1] - halves[0]);
}

Tensor Backbone::decode_pixels(const Tensor& latents, const std::vector<PromptText>& prompts) {
  const torch::NoGradGuard no_grad;
  if (const auto row = first_not_finite(latents)) {
    throw Error("what was drawn is not finite", fmt::format("the latents of {}", image_name(prompts, *row)),
                "check the weights, and for a trained checkpoint the learning rate", Status::kFailed);
  }
  constexpr std::int64_t kLargestWhole = 1536;  // pixels a side; beyond, activations outgrow a usual GPU
  const auto side = std::max(latents.size(2), latents.size(3)) * vae_->config().reduction();
  const auto plain = vae_->from_flow(latents);
  const auto decoded = side > kLargestWhole ? vae_->decode_tiled(plain) : vae_->decode(plain);
  if (const auto row = first_not_finite(decoded)) {  // rounded to bytes they would look like a black image
    throw Error("gave pixels that are not finite",
                fmt::format("the image decoder (vae), {}", image_name(prompts, *row)),
                "check the weights in vae/, and for a trained checkpoint the learning rate", Status::kFailed);
  }
  return (decoded / 2 + 0.5).clamp(0, 1);
}

std::vector<Image> Backbone::decode(const Tensor& latents, const std::vector<PromptText>& prompts) {
  return to_images(decode_pixels(latents, prompts));
}

Json describe_backbones() {
  return {
      {{"name", "glyph"},
       {"pipeline", kGlyphPipeline},
       {"precision", "fp32"},
       {"default_weights", "backbones/glyph"},
       {"needs_target", true},
       {"files",
        {"model_index.json", "text_encoder/config.json", "text_encoder/model.safetensors",
         "transformer/config.json", "transformer/diffusion_pytorch_model.safetensors", "vae/config.json",
         "vae/diffusion_pytorch_model.safetensors"}}},
      {{"name", "tiny-sd3"},
       {"precision", "fp32"},
       {"threads", 1},  // its operations are too small to share: two runs side by side are faster
       {"random_weights", tiny_sd3_identity()}},
      {{"name", "sd35-medium"},
       {"pipeline", kSd3Pipeline},
       {"precision", {{"cpu", "fp32"}, {"cuda", "bf16"}}},
       {"files",
        {"model_index.json", "scheduler/scheduler_config.json", "transformer/config.json", "vae/config.json",
         "text_encoder/config.json", "text_encoder_2/config.json", "text_encoder_3/config.json",
         "tokenizer/vocab.json", "tokenizer_2/vocab.json", "tokenizer_3/spiece.model"}}}};
}

std::vector<Image> to_images(const Tensor& pixels) {
  const auto bytes =
      pixels.detach().mul(255).round().to(torch::kUInt8).permute({0, 2, 3, 1}).to(torch::kCPU).contiguous();
  std::vector<Image> images;
  for (const auto& one : bytes.unbind(0)) {
    const auto* data = one.const_data_ptr<std::uint8_t>();
    images.push_back(
        {static_cast<int>(one.size(1)), static_cast<int>(one.size(0)), {data, data + one.numel()}});
  }
  return images;
}

}  // namespace harness
