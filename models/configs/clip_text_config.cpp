#include "models/configs/clip_text_config.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {
namespace {

/// Flags of every transformers configuration, and CLIP's for training: none changes an encoder's output.
constexpr const char* kIrrelevantFlags[] = {"_attn_implementation_autoset",
                                            "_name_or_path",
                                            "attention_dropout",
                                            "bad_words_ids",
                                            "begin_suppress_tokens",
                                            "bos_token_id",
                                            "chunk_size_feed_forward",
                                            "cross_attention_hidden_size",
                                            "decoder_start_token_id",
                                            "diversity_penalty",
                                            "do_sample",
                                            "dropout",
                                            "dtype",
                                            "early_stopping",
                                            "encoder_no_repeat_ngram_size",
                                            "exponential_decay_length_penalty",
                                            "finetuning_task",
                                            "forced_bos_token_id",
                                            "forced_eos_token_id",
                                            "gradient_checkpointing",
                                            "id2label",
                                            "initializer_factor",
                                            "initializer_range",
                                            "label2id",
                                            "length_penalty",
                                            "max_length",
                                            "min_length",
                                            "no_repeat_ngram_size",
                                            "num_beam_groups",
                                            "num_beams",
                                            "num_return_sequences",
                                            "output_attentions",
                                            "output_hidden_states",
                                            "output_scores",
                                            "pad_token_id",
                                            "prefix",
                                            "problem_type",
                                            "remove_invalid_values",
                                            "repetition_penalty",
                                            "return_dict",
                                            "return_dict_in_generate",
                                            "sep_token_id",
                                            "suppress_tokens",
                                            "task_specific_params",
                                            "temperature",
                                            "tf_legacy_loss",
                                            "tie_encoder_decoder",
                                            "tie_word_embeddings",
                                            "tokenizer_class",
                                            "top_k",
                                            "top_p",
                                            "torch_dtype",
                                            "torchscript",
                                            "transformers_version",
                                            "typical_p",
                                            "use_bfloat16"};

ClipActivation activation(Fields& fields) {
  const auto name = fields.optional<std::string>("hidden_act", "quick_gelu");
  if (name == "quick_gelu") return ClipActivation::kQuickGelu;
  if (name == "gelu") return ClipActivation::kGelu;
  throw Error(fmt::format("hidden_act {} is not known", in_quotes(name)), fields.where(),
              "known: \"quick_gelu\", \"gelu\"");
}

/// Whether `architectures` names the class with a projection. A text_config inside a CLIPModel names none.
bool names_projection(Fields& fields) {
  if (!fields.has("architectures")) return false;
  const auto& names = fields.get("architectures");
  if (names.is_null() || names == Json::array() || names == Json::array({"CLIPTextModel"})) return false;
  if (names == Json::array({"CLIPTextModelWithProjection"})) return true;
  throw Error(fmt::format("architectures {} is not known", json_text(names)), fields.where(),
              "known: [\"CLIPTextModel\"], [\"CLIPTextModelWithProjection\"]");
}

/// Flags that would make the model another one than this.
void expect_encoder(Fields& fields) {
  const auto type = fields.optional<std::string>("model_type", "clip_text_model");
  if (type != "clip_text_model")
    throw Error(fmt::format("is a {}, not a clip_text_model", in_quotes(type)), fields.where());
  for (const char* flag : {"add_cross_attention", "is_decoder", "is_encoder_decoder"}) {
    if (fields.optional<bool>(flag, false))
      throw Error(fmt::format("{} is not implemented", flag), fields.where());
  }
  if (fields.has("pruned_heads") && !fields.get("pruned_heads").empty())
    throw Error("pruned_heads is not implemented", fields.where());
}

}  // namespace

ClipTextConfig ClipTextConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  expect_encoder(fields);
  ClipTextConfig c;
  const auto positive = [&](const char* key, std::int64_t fallback) {
    const auto value = fields.optional<std::int64_t>(key, fallback);
    if (value < 1 || value > (1 << 20))
      throw Error(fmt::format("{} = {} is out of range", in_quotes(key), value), where);
    return value;
  };
  c.vocab_size = positive("vocab_size", c.vocab_size);
  c.hidden_size = positive("hidden_size", c.hidden_size);
  c.intermediate_size = positive("intermediate_size", c.intermediate_size);
  c.num_hidden_layers = positive("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = positive("num_attention_heads", c.num_attention_heads);
  c.max_position_embeddings = positive("max_position_embeddings", c.max_position_embeddings);
  c.projection_dim = positive("projection_dim", c.projection_dim);
  c.eos_token_id = fields.optional<std::int64_t>("eos_token_id", c.eos_token_id);
  c.hidden_act = activation(fields);
  c.layer_norm_eps = fields.optional<double>("layer_norm_eps", c.layer_norm_eps);
  if (c.layer_norm_eps <= 0)
    throw Error(fmt::format("\"layer_norm_eps\" = {} is out of range", c.layer_norm_eps), where);
  c.with_projection = names_projection(fields);
  for (const char* flag : kIrrelevantFlags) {
    if (fields.has(flag)) fields.get(flag);
  }
  fields.finish();
  if (c.hidden_size % c.num_attention_heads != 0) {
    throw Error(fmt::format("hidden_size {} is not a multiple of num_attention_heads {}", c.hidden_size,
                            c.num_attention_heads),
                where);
  }
  return c;
}

ClipEncoderConfig ClipTextConfig::encoder() const {
  return {.width = hidden_size,
          .intermediate = intermediate_size,
          .heads = num_attention_heads,
          .layers = num_hidden_layers,
          .activation = hidden_act,
          .norm_eps = layer_norm_eps};
}

}  // namespace harness
