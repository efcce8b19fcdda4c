#include <fmt/format.h>

#include "models/encoders/clip_image_processor.h"
#include "models/loading.h"
#include "models/parity/parity_kinds.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {
namespace {

using torch::Tensor;

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

}  // namespace

TensorMap run_clip_model_case(const ParityCase& c) {
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

TensorMap run_clip_image_processor_case(const ParityCase& c) {
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

TensorMap run_clip_text_case(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  const auto out = load_clip_text_model(c.model())->forward(c.input("input_ids"));
  return {{"pooler_output", out.pooled}, {"last_hidden_state", out.last_hidden_state}};
}

TensorMap run_clip_text_projection_case(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  const auto out = load_clip_text_model(c.model())->forward(c.input("input_ids"));
  TensorMap tensors{{"last_hidden_state", out.last_hidden_state}, {"penultimate", out.penultimate}};
  if (out.text_embeds.defined()) tensors["text_embeds"] = out.text_embeds;
  return tensors;
}

TensorMap clip_tokenizer_case(const ParityCase& c) {
  const auto tokenizer = ClipTokenizer::load(c.model());
  const auto texts = c.text_fields().required<std::vector<std::string>>("texts");
  const auto padded = tokenizer.encode_padded(texts, c.param_fields().required<std::int64_t>("max_length"));
  std::vector<std::int64_t> whole, lengths;
  for (const auto& text : texts) {
    const auto ids = tokenizer.encode(text);
    whole.insert(whole.end(), ids.begin(), ids.end());
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
  }
  const auto rows = static_cast<std::int64_t>(texts.size());
  const auto table = [rows](const std::vector<std::int64_t>& values) {
    return torch::tensor(values, torch::kInt64).reshape({rows, -1});
  };
  return {{"input_ids", table(padded.ids)},
          {"attention_mask", table(padded.attention_mask)},
          {"whole_ids", torch::tensor(whole, torch::kInt64)},
          {"whole_lengths", torch::tensor(lengths, torch::kInt64)}};
}

}  // namespace harness
