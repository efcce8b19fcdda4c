#include <fmt/format.h>

#include <functional>

#include "models/detection/detection_images.h"
#include "models/encoders/clip_image_processor.h"
#include "models/folder_prompt_encoder.h"
#include "models/loading.h"
#include "models/parity/parity.h"
#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {
namespace {

using torch::Tensor;

using Leaves = TensorMap;

/// Sample and gradients of a velocity network: `sample_of` computes it from the named inputs.
TensorMap run_transformer(const ParityCase& c, const torch::nn::Module& model,
                          const std::vector<std::string>& inputs,
                          const std::function<Tensor(const Leaves&)>& sample_of) {
  Leaves leaves;
  for (const auto& item : model.named_parameters()) leaves[item.key()] = item.value();
  for (const auto& name : inputs) leaves[name] = c.input(name).clone().requires_grad_();
  const auto sample = sample_of(leaves);
  TensorMap out{{"sample", sample.detach()}};
  const auto names = c.param_fields().required<std::vector<std::string>>("gradients");
  std::vector<Tensor> wanted;
  for (const auto& name : names) {
    if (!leaves.contains(name))
      throw Error(fmt::format("asks for the gradient of an unknown \"{}\"", name), c.folder.string());
    wanted.push_back(leaves[name]);
  }
  const auto gradients = torch::autograd::grad({(sample * c.input("probe")).mean()}, wanted);
  for (std::size_t i = 0; i < names.size(); ++i) out["grad." + names[i]] = gradients[i];
  return out;
}

TensorMap run_sd3_transformer(const ParityCase& c) {
  auto model = load_sd3_transformer(c.model());
  return run_transformer(c, *model,
                         {"hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"},
                         [&model](const Leaves& in) {
                           return model->forward(in.at("hidden_states"), in.at("encoder_hidden_states"),
                                                 in.at("pooled_projections"), in.at("timestep"));
                         });
}

TensorMap run_flux_transformer(const ParityCase& c) {
  auto model = load_flux_transformer(c.model());
  const bool guided = model->config().guidance_embeds;
  std::vector<std::string> inputs{"hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"};
  if (guided) inputs.emplace_back("guidance");
  return run_transformer(c, *model, inputs, [&](const Leaves& in) {
    return model->forward({.tokens = in.at("hidden_states"),
                           .text = in.at("encoder_hidden_states"),
                           .pooled = in.at("pooled_projections"),
                           .sigma = in.at("timestep"),
                           .guidance = guided ? in.at("guidance") : Tensor(),
                           .image_ids = c.input("img_ids"),
                           .text_ids = c.input("txt_ids")});
  });
}

TensorMap run_autoencoder_kl(const ParityCase& c) {
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

TensorMap run_autoencoder_kl_tiled(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  auto vae = load_autoencoder(c.model());
  TensorMap out;
  for (const std::string size : {"wide", "both"})
    out["decoded." + size] = vae->decode_tiled(c.input("latents." + size));
  return out;
}

TensorMap run_encode_prompt(const ParityCase& c) {
  auto params = c.param_fields();
  const auto family = params.required<std::string>("family");
  const TextSource source{.folder = c.model(),
                          .t5_tokens = params.required<std::int64_t>("max_sequence_length")};
  if (family == "flux") {
    const auto condition = FluxPromptEncoder(source).encode(c.prompts("prompts"));
    return {{"prompt_embeds", condition.text},
            {"pooled_prompt_embeds", condition.pooled},
            {"text_ids", torch::zeros({source.t5_tokens, 3})}};
  }
  if (family != "sd3")
    throw UnknownCase("this build knows the text sides of sd3 and flux", params.where() + ": family");
  Sd3PromptEncoder encoder(source);
  const auto positive = encoder.encode(c.prompts("prompts"));
  const auto negative = encoder.encode(c.prompts("negative_prompts"));
  return {{"prompt_embeds", positive.text},
          {"pooled_prompt_embeds", positive.pooled},
          {"negative_prompt_embeds", negative.text},
          {"negative_pooled_prompt_embeds", negative.pooled}};
}

/// uint8 [H,W,3] -> [3,H,W].
Tensor bytes_of(const Image& image) {
  return torch::tensor(at::ArrayRef<std::uint8_t>(image.rgb), torch::kUInt8)
      .view({image.height, image.width, 3})
      .permute({2, 0, 1});
}

ClipImageConfig resized_to(int shortest_edge, int crop_size) {
  ClipImageConfig config;
  config.shortest_edge = shortest_edge;
  config.crop_size = {crop_size, crop_size};
  return config;
}

Image case_image(const ParityCase& c, std::size_t index) {
  return image_of(c.input(fmt::format("image.{}", index)));
}

TensorMap run_clip_model(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  auto model = load_clip_model(c.model());
  auto params = c.param_fields();
  const int size = params.required<int>("image_size");
  std::vector<Tensor> pixels;
  for (std::size_t i = 0; i < params.required<std::size_t>("images"); ++i)
    pixels.push_back(clip_pixel_values(resized_to(size, size), case_image(c, i)));
  const auto stacked = torch::stack(pixels);
  const auto image = model->image_embeds(stacked), text = model->text_embeds(c.input("input_ids"));
  const auto cosine = (unit_rows(image) * unit_rows(text)).sum(-1);
  return {{"pixel_values", stacked},
          {"image_embeds", image},
          {"text_embeds", text},
          {"logit_scale", model->logit_scale()},
          {"logits_per_image", logits_per_image(model, image, text)},
          {"cosine", cosine},
          {"pickscore", model->logit_scale().exp() * cosine},
          {"clipscore", 100 * cosine.clamp_min(0)},
          {"clipscore_mean", (100 * cosine).mean().clamp_min(0)}};
}

TensorMap run_clip_image_processor(const ParityCase& c) {
  const std::string where = (c.folder / "case.json").string();
  TensorMap tensors;
  const auto& rules = c.params.at("images");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Fields rule(rules[i], fmt::format("{}: params.images[{}]", where, i));
    const auto config = resized_to(rule.required<int>("shortest_edge"), rule.required<int>("crop_size"));
    tensors[fmt::format("crop_u8.{}", i)] = bytes_of(clip_crop(config, case_image(c, i)));
    tensors[fmt::format("pixel_values.{}", i)] = clip_pixel_values(config, case_image(c, i));
  }
  return tensors;
}

TensorMap run_mask2former(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  auto params = c.param_fields();
  const auto found = load_mask2former(c.model())->forward(c.input("pixel_values"));
  TensorMap out{{"class_queries_logits", found.classes}, {"masks_queries_logits", found.masks}};
  const auto threshold = params.required<double>("threshold");
  const auto sizes = params.required<std::vector<std::array<std::int64_t, 2>>>("target_sizes");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto image = static_cast<std::int64_t>(i);
    std::vector<float> scores;
    std::vector<std::int64_t> labels, boxes;
    std::vector<Tensor> masks = {torch::zeros({0, sizes[i][0], sizes[i][1]}, torch::kUInt8)};
    for (const auto& object : objects_as_transformers(found.classes[image], found.masks[image], sizes[i][1],
                                                      sizes[i][0], threshold)) {
      scores.push_back(object.score);
      labels.push_back(object.label);
      boxes.insert(boxes.end(), object.box.begin(), object.box.end());
      masks.push_back(object.mask.to(torch::kUInt8).unsqueeze(0));
    }
    const auto name = [i](const char* what) { return fmt::format("{}.{}", i, what); };
    out[name("scores")] = torch::tensor(scores);
    out[name("labels")] = torch::tensor(labels, torch::kInt64);
    out[name("boxes")] = torch::tensor(boxes, torch::kInt64).view({-1, 4});
    out[name("masks")] = torch::cat(masks);
  }
  return out;
}

/// Everything that a case of either class may hold.
TensorMap run_clip_text(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  const auto out = load_clip_text_model(c.model())->forward(c.input("input_ids"));
  TensorMap tensors{{"pooler_output", out.pooled},
                    {"last_hidden_state", out.last_hidden_state},
                    {"penultimate", out.penultimate}};
  if (out.text_embeds.defined()) tensors["text_embeds"] = out.text_embeds;
  return tensors;
}

TensorMap run_t5_encoder(const ParityCase& c) {
  auto model = load_t5_encoder(c.model());
  TensorMap out;
  for (const auto length : c.param_fields().required<std::vector<std::int64_t>>("lengths")) {
    const auto& ids = c.input(fmt::format("input_ids.{}", length));
    out[fmt::format("unmasked.{}", length)] = model->forward(ids);
    out[fmt::format("masked.{}", length)] =
        model->forward(ids, c.input(fmt::format("attention_mask.{}", length)));
  }
  return out;
}

template <class Tokenizer>
TensorMap tokens_of(const ParityCase& c) {
  const auto tokenizer = Tokenizer::load(c.model());
  const auto texts = c.texts("texts");
  const auto length = c.param_fields().template required<std::int64_t>("max_length");
  const auto padded = tokenizer.encode_padded(texts, length);
  std::vector<std::int64_t> whole, lengths;
  for (const auto& text : texts) {
    const auto ids = tokenizer.encode(text);
    whole.insert(whole.end(), ids.begin(), ids.end());
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
  }
  const auto table = [&](const std::vector<std::int64_t>& values) {
    return torch::tensor(values, torch::kInt64).view({-1, length});
  };
  return {{"input_ids", table(padded.ids)},
          {"attention_mask", table(padded.attention_mask)},
          {"whole_ids", torch::tensor(whole, torch::kInt64)},
          {"whole_lengths", torch::tensor(lengths, torch::kInt64)}};
}

TensorMap run_tokenizer(const ParityCase& c) {
  const auto family = c.param_fields().required<std::string>("family");
  if (family == "clip") return tokens_of<ClipTokenizer>(c);
  if (family == "t5") return tokens_of<T5Tokenizer>(c);
  throw Error(fmt::format("tokenizer family \"{}\" is not known", family), c.folder.string(),
              "known: \"clip\", \"t5\"");
}

}  // namespace

const ParityKinds& model_parity_kinds() {
  static const ParityKinds kinds = {
      {"autoencoder_kl", run_autoencoder_kl},   {"autoencoder_kl_tiled", run_autoencoder_kl_tiled},
      {"encode_prompt", run_encode_prompt},     {"clip_image_processor", run_clip_image_processor},
      {"clip_model", run_clip_model},           {"clip_text", run_clip_text},
      {"clip_text_projection", run_clip_text},  {"mask2former", run_mask2former},
      {"sd3_transformer", run_sd3_transformer}, {"flux_transformer", run_flux_transformer},
      {"t5_encoder", run_t5_encoder},           {"tokenizer", run_tokenizer}};
  return kinds;
}

}  // namespace harness
