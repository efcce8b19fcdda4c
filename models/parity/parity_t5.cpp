#include <fmt/format.h>

#include "models/loading.h"
#include "models/parity/parity_kinds.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {

TensorMap run_t5_encoder_case(const ParityCase& c) {
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

TensorMap t5_tokenizer_case(const ParityCase& c) {
  const auto tokenizer = T5Tokenizer::load(c.model());
  const auto texts = c.text_fields().required<std::vector<std::string>>("texts");
  const auto length = c.param_fields().required<std::int64_t>("max_length");
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

}  // namespace harness
