#include "models/configs/t5_config.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {

T5Config T5Config::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  T5Config c;
  const auto only = [&](const char* key, const Json& allowed) {
    if (!fields.has(key)) return;
    if (const Json& value = fields.get(key); value != allowed)
      throw Error(fmt::format("{} = {} is not known", in_quotes(key), json_text(value)), where,
                  fmt::format("known: {}", json_text(allowed)));
  };
  const auto positive = [&](const char* key, std::int64_t fallback) {
    const auto value = fields.optional<std::int64_t>(key, fallback);
    if (value < 1 || value > (1 << 20))
      throw Error(fmt::format("{} = {} is out of range", in_quotes(key), value), where);
    return value;
  };
  only("model_type", "t5");
  only("is_decoder", false);
  c.vocab_size = positive("vocab_size", c.vocab_size);
  c.d_model = positive("d_model", c.d_model);
  c.d_kv = positive("d_kv", c.d_kv);
  c.d_ff = positive("d_ff", c.d_ff);
  c.num_layers = positive("num_layers", c.num_layers);
  c.num_heads = positive("num_heads", c.num_heads);
  c.relative_attention_num_buckets =
      positive("relative_attention_num_buckets", c.relative_attention_num_buckets);
  c.relative_attention_max_distance =
      positive("relative_attention_max_distance", c.relative_attention_max_distance);
  c.layer_norm_epsilon = fields.optional("layer_norm_epsilon", c.layer_norm_epsilon);
  const auto projection = fields.optional<std::string>("feed_forward_proj", "relu");
  if (projection != "relu" && projection != "gated-gelu")
    throw Error(fmt::format("feed_forward_proj {} is not known", in_quotes(projection)), where,
                "known: \"relu\", \"gated-gelu\"");
  c.gated = projection == "gated-gelu";
  // Both follow from feed_forward_proj.
  only("dense_act_fn", c.gated ? "gelu_new" : "relu");
  only("is_gated_act", c.gated);
  // About training, the decoder, generation, or how the file was written: nothing that the encoder's output
  // depends on. tie_word_embeddings says whether the decoder's output shares the embedding.
  for (const char* key : {"_attn_implementation_autoset",
                          "_name_or_path",
                          "architectures",
                          "bos_token_id",
                          "classifier_dropout",
                          "decoder_start_token_id",
                          "dropout_rate",
                          "dtype",
                          "eos_token_id",
                          "gradient_checkpointing",
                          "initializer_factor",
                          "is_encoder_decoder",
                          "n_positions",
                          "num_decoder_layers",
                          "output_attentions",
                          "output_hidden_states",
                          "output_past",
                          "pad_token_id",
                          "problem_type",
                          "return_dict",
                          "scale_decoder_outputs",
                          "task_specific_params",
                          "tie_word_embeddings",
                          "tokenizer_class",
                          "torch_dtype",
                          "transformers_version",
                          "use_cache"}) {
    if (fields.has(key)) fields.get(key);
  }
  fields.finish();
  if (!(c.layer_norm_epsilon > 0)) throw Error("\"layer_norm_epsilon\" is not positive", where);
  if (c.relative_attention_num_buckets < 4 ||
      c.relative_attention_max_distance <= c.relative_attention_num_buckets / 4)
    throw Error(fmt::format("{} position buckets do not fit a largest distance of {}",
                            c.relative_attention_num_buckets, c.relative_attention_max_distance),
                where);
  return c;
}

}  // namespace harness
