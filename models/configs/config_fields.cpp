#include "models/configs/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/json_text.h"
#include "core/streams.h"
#include "core/text.h"

namespace harness {
namespace {

/// Of public files (transformers, diffusers). A star stands for any beginning or end.
constexpr auto kQuietKeys =
    // where the file comes from, how it is stored and read
    "_* *_version *dtype architectures name_or_path processor_class tokenizer_class attn_implementation "
    "backend device gradient_checkpointing is_local local_files_only trust_remote_code torchscript "
    "use_bfloat16 use_cache use_fast special_tokens_map_file tokenizer_file full_tokenizer_file "
    "data_format input_data_format return_tensors disable_grouping "
    // training, and heads that no encoder has
    "*dropout dropout_rate initializer_factor initializer_range problem_type finetuning_task num_labels "
    "id2label label2id task_specific_params tie_encoder_decoder tie_word_embeddings tf_legacy_loss "
    // what is given back, and generation of text
    "return_dict return_dict_in_generate output_attentions output_hidden_states output_scores output_past "
    "*_token_id *_token_type_id bad_words_ids begin_suppress_tokens suppress_tokens "
    "chunk_size_feed_forward cross_attention_hidden_size diversity_penalty do_sample early_stopping "
    "encoder_no_repeat_ngram_size exponential_decay_length_penalty length_penalty max_length min_length "
    "no_repeat_ngram_size num_beam_groups num_beams num_return_sequences prefix remove_invalid_values "
    "repetition_penalty temperature top_k top_p typical_p "
    // texts and images: what every call gives anew, and decoding
    "clean_up_tokenization_spaces errors model_input_names pad_to_multiple_of pad_token_type_id "
    "default_to_square do_convert_rgb image_seq_length";

/// First letters of the words by which a key names part of a computation.
constexpr auto kComputing =
    "act alibi alpha atten attn auto beta bias block causal channel clip concat conv crop cross depth dim do "
    "double down dual embd embed eps expert factor feed ff flip frequenc gate gating gelu group guidance head "
    "hidden image inner intermediate interpol kernel kv layer linear lora lower mask mean mlp moe multipl noise "
    "nonlin norm order pad patch pool pos predict prefix proj pruned qk quant ratio regex relative resample "
    "rescale residual resize resolution rms rope rot router sampl scal schedul shift sigma silu size skip "
    "slid snr softcap softmax solver spac spatial special split std step strip suffix swi temporal theta "
    "threshold tie tile time token trunc type up variance vocab width window";

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.starts_with('*')) return key.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  return key == pattern;
}

bool is_quiet(const std::string& key) {
  const auto patterns = split(kQuietKeys, ' ');
  return std::ranges::any_of(patterns, [&key](const auto& pattern) { return matches(pattern, key); });
}

bool names_a_computation(const std::string& key) {
  const auto stems = split(kComputing, ' ');
  return std::ranges::any_of(split(key, '_'), [&stems](const std::string& word) {
    return std::ranges::any_of(stems, [&word](const auto& stem) { return word.starts_with(stem); });
  });
}

bool is_disabled_value(const Json& value) {
  return value == Json(false) || (value.is_structured() && value.empty());
}

/// A file is read several times on the way to a model.
void warn_once(const std::string& where, const std::vector<std::string>& keys) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(where).second) return;
  tell("warning: {}: ignores unknown keys {}\n", where, fmt::join(keys, ", "));
}

}  // namespace

ConfigFields::ConfigFields(const Json& document, const std::string& where, const std::string& class_name)
    : Fields(document, where) {
  const auto name = required<std::string>("_class_name");
  if (name != class_name) {
    throw Error(fmt::format("is a {}, which this build cannot run in this place", in_quotes(name)), where,
                "known: " + class_name);
  }
}

std::int64_t ConfigFields::integer(const std::string& key, Range range,
                                   std::optional<std::int64_t> fallback) {
  const auto value = fallback ? optional(key, *fallback) : required<std::int64_t>(key);
  if (value < range.low || value > range.high)
    fail(key, fmt::format("is {}, outside {}..{}", value, range.low, range.high));
  return value;
}

std::vector<std::int64_t> ConfigFields::integers(const std::string& key, Range count, Range range) {
  const auto values = required<std::vector<std::int64_t>>(key);
  const auto size = std::ssize(values);
  if (size < count.low || size > count.high)
    fail(key, fmt::format("has {} entries, not {}..{}", size, count.low, count.high));
  for (const auto value : values) {
    if (value < range.low || value > range.high)
      fail(key, fmt::format("holds {}, outside {}..{}", value, range.low, range.high));
  }
  return values;
}

double ConfigFields::positive_number(const std::string& key, std::optional<double> fallback) {
  const auto value = fallback ? optional(key, *fallback) : required<double>(key);
  if (!(value > 0)) fail(key, fmt::format("is {}, not above 0", value));
  return value;
}

double ConfigFields::optional_or_null(const std::string& key, double fallback) {
  mark(key);
  return has(key) && get(key).is_null() ? fallback : optional(key, fallback);
}

Json ConfigFields::only(const std::string& key, const std::vector<Json>& known) {
  mark(key);
  if (!has(key)) return nullptr;
  const Json& value = get(key);
  const auto is_value = [&value](const Json& one) {
    return one == value && one.is_number_float() == value.is_number_float();  // 3.0 is no 3
  };
  if (std::ranges::any_of(known, is_value)) return value;
  std::vector<std::string> texts;
  for (const auto& one : known) texts.push_back(json_text(one));
  fail(key, fmt::format("is {}, which is not implemented", json_text(value)),
       fmt::format("known: {}", fmt::join(texts, ", ")));
}

void ConfigFields::ignore(std::string_view keys) {
  for (const auto& key : split(keys, ' ')) mark(key);
}

void ConfigFields::finish() const {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> ignored;
  for (const auto& key : unread()) {
    const Json& value = raw().at(key);
    if (value.is_null() || is_quiet(key)) continue;
    if (key == "quantization_config" && !is_disabled_value(value)) {
      fail(key, "is set: quantised weights are not implemented",
           "give the model's folder in bfloat16, float16 or float32");
    }
    if (nearest(key, asked_for()) || (!is_disabled_value(value) && names_a_computation(key)))
      fail_unknown(key);
    if (ignored.size() <= kShown) ignored.push_back(ignored.size() < kShown ? in_quotes(key) : "...");
  }
  if (!ignored.empty()) warn_once(where(), ignored);
}

}  // namespace harness
