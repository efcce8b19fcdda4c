#include "models/loading.h"
#include "models/parity_kinds.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {

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
