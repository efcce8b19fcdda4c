#include "models/configs/clip_tower_fields.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// Flags of every transformers configuration, and CLIP's for training: none changes an encoder's output.
constexpr const char* kIrrelevantFlags[] = {"_attn_implementation_autoset",
                                            "_commit_hash",
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

}  // namespace

void expect_clip_tower(Fields& fields, const std::string& expected) {
  const auto type = fields.optional<std::string>("model_type", expected);
  if (type != expected)
    throw Error(fmt::format("is a {}, not a {}", in_quotes(type), expected), fields.where());
  for (const char* flag : {"add_cross_attention", "is_decoder", "is_encoder_decoder"}) {
    if (fields.optional<bool>(flag, false))
      throw Error(fmt::format("{} is not implemented", flag), fields.where());
  }
  if (fields.has("pruned_heads") && !fields.get("pruned_heads").empty())
    throw Error("pruned_heads is not implemented", fields.where());
}

std::int64_t clip_size(Fields& fields, const std::string& key, std::int64_t fallback) {
  const auto value = fields.optional<std::int64_t>(key, fallback);
  if (value < 1 || value > (1 << 20))
    throw Error(fmt::format("{} = {} is out of range", in_quotes(key), value), fields.where());
  return value;
}

double clip_norm_eps(Fields& fields, double fallback) {
  const auto eps = fields.optional<double>("layer_norm_eps", fallback);
  if (eps <= 0) throw Error(fmt::format("\"layer_norm_eps\" = {} is out of range", eps), fields.where());
  return eps;
}

ClipActivation clip_activation(Fields& fields) {
  const auto name = fields.optional<std::string>("hidden_act", "quick_gelu");
  if (name == "quick_gelu") return ClipActivation::kQuickGelu;
  if (name == "gelu") return ClipActivation::kGelu;
  throw Error(fmt::format("hidden_act {} is not known", in_quotes(name)), fields.where(),
              "known: \"quick_gelu\", \"gelu\"");
}

std::string clip_activation_name(ClipActivation activation) {
  return activation == ClipActivation::kGelu ? "gelu" : "quick_gelu";
}

void expect_whole_heads(std::int64_t width, std::int64_t heads, const std::string& where) {
  if (width % heads == 0) return;
  throw Error(fmt::format("hidden_size {} is not a multiple of num_attention_heads {}", width, heads), where);
}

void ignore_irrelevant_flags(Fields& fields) {
  for (const char* flag : kIrrelevantFlags) {
    if (fields.has(flag)) fields.get(flag);
  }
}

}  // namespace harness
