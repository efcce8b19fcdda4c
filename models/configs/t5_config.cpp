#include "models/configs/t5_config.h"

#include <fmt/format.h>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr ConfigInteger<T5Config> kIntegers[] = {
    {"vocab_size", &T5Config::vocab_size},
    {"d_model", &T5Config::d_model},
    {"d_kv", &T5Config::d_kv},
    {"d_ff", &T5Config::d_ff},
    {"num_layers", &T5Config::num_layers},
    {"num_heads", &T5Config::num_heads},
    {"relative_attention_num_buckets", &T5Config::relative_attention_num_buckets},
    {"relative_attention_max_distance", &T5Config::relative_attention_max_distance}};

}  // namespace

T5Config T5Config::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  T5Config c;
  fields.only("model_type", {"t5"});
  fields.only("is_decoder", {false});
  fields.integers_of(c, kIntegers);
  c.layer_norm_epsilon = fields.positive_number("layer_norm_epsilon", c.layer_norm_epsilon);
  c.gated = fields.only("feed_forward_proj", {"relu", "gated-gelu"}) == "gated-gelu";
  // Both follow from feed_forward_proj.
  fields.only("dense_act_fn", {c.gated ? "gelu_new" : "relu"});
  fields.only("is_gated_act", {c.gated});
  // About the decoder, or the positions of T5's training texts: attention here is relative.
  fields.ignore("is_encoder_decoder num_decoder_layers scale_decoder_outputs n_positions");
  fields.finish();
  if (c.relative_attention_num_buckets < 4 ||
      c.relative_attention_max_distance <= c.relative_attention_num_buckets / 4)
    throw Error(fmt::format("{} position buckets do not fit a largest distance of {}",
                            c.relative_attention_num_buckets, c.relative_attention_max_distance),
                where);
  return c;
}

}  // namespace harness
