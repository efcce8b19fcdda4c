#include "models/tokenizers/clip_tokenizer_config.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// In the order in which transformers adds them: of two with one content, the later one's flags hold.
constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
constexpr auto kEndOfText = "<|endoftext|>";
constexpr auto kDecoder = "added_tokens_decoder";

/// Keys about decoding, about where the files came from, and about settings that every call gives anew.
constexpr const char* kIrrelevantKeys[] = {"backend",
                                           "clean_up_tokenization_spaces",
                                           "errors",
                                           "is_local",
                                           "local_files_only",
                                           "max_length",
                                           "model_input_names",
                                           "name_or_path",
                                           "pad_to_multiple_of",
                                           "pad_token_type_id",
                                           "processor_class",
                                           "special_tokens_map_file",
                                           "stride",
                                           "trust_remote_code",
                                           "use_fast"};

struct SpecialToken {
  std::string content;
  bool normalized;
};
using SpecialTokens = std::map<std::string, SpecialToken>;  // by name

template <class T>
void expect(Fields& fields, const std::string& key, const T& wanted) {
  if (fields.optional<T>(key, wanted) != wanted) {
    throw Error(fmt::format("{} {} is not implemented", key, json_text(fields.get(key))), fields.where(),
                fmt::format("implemented: {}", json_text(Json(wanted))));
  }
}

SpecialToken read_token_object(Fields& token) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) expect(token, flag, false);
  for (const char* irrelevant : {"__type", "id", "special"}) {
    if (token.has(irrelevant)) token.get(irrelevant);
  }
  SpecialToken read{token.required<std::string>("content"), token.required<bool>("normalized")};
  if (read.content.empty()) throw Error("an empty token", token.where());
  token.finish();
  return read;
}

/// Replaces the special tokens that the fields name.
void read_special_tokens(Fields& fields, SpecialTokens& tokens) {
  for (const char* name : kSpecialTokens) {
    if (!fields.has(name)) continue;
    const auto& value = fields.get(name);
    if (value.is_null()) {
      tokens.erase(name);
    } else if (value.is_object()) {
      auto token = fields.object(name);
      tokens.insert_or_assign(name, read_token_object(token));
    } else {
      tokens.insert_or_assign(name, SpecialToken{fields.required<std::string>(name), false});
    }
  }
  for (const char* name : {"additional_special_tokens", "extra_special_tokens"}) {
    if (fields.has(name) && !fields.get(name).empty())
      throw Error(fmt::format("{} is not implemented", name), fields.where());
  }
}

void add(ClipTokenizerConfig& config, Fields token, std::optional<std::int64_t> id) {
  const auto [content, normalized] = read_token_object(token);
  if (!config.added.emplace(content, AddedToken{normalized, id}).second)
    throw Error(fmt::format("{} is given a second time", in_quotes(content)), token.where());
}

void read_decoder(Fields decoder, ClipTokenizerConfig& config) {
  for (const auto& key : decoder.keys()) {
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size())
      throw Error(fmt::format("{} is no id of a token", in_quotes(key)), decoder.where());
    add(config, decoder.object(key), id);
  }
}

/// Added tokens of folders that state them in tokenizer.json only.
void read_fast_tokenizer(const fs::path& file, ClipTokenizerConfig& config) {
  if (!fs::exists(file)) return;
  const Json document = read_json(file);
  const auto& tokens = Fields(document, file.string()).get("added_tokens");
  if (!tokens.is_array()) throw Error("added_tokens is no list", file.string());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Fields token(tokens.at(i), fmt::format("{}: added_tokens[{}]", file.string(), i));
    const auto id = token.required<std::int64_t>("id");
    add(config, std::move(token), id);
  }
}

void read_special_tokens_map(const fs::path& file, SpecialTokens& tokens) {
  if (!fs::exists(file)) return;
  const Json document = read_json(file);
  Fields fields(document, file.string());
  read_special_tokens(fields, tokens);
  fields.finish();
}

/// Files without a limit hold 1e30.
std::optional<std::int64_t> read_max_length(Fields& fields) {
  constexpr auto kKey = "model_max_length";
  constexpr double kLimit = 1e9;
  if (!fields.has(kKey)) return std::nullopt;
  const auto value = fields.required<double>(kKey);
  if (value >= kLimit) return std::nullopt;
  const auto length = fields.required<std::int64_t>(kKey);
  if (length < 2) throw Error(fmt::format("\"{}\" = {} is out of range", kKey, length), fields.where());
  return length;
}

void expect_implemented(Fields& fields) {
  const auto type = fields.optional<std::string>("tokenizer_class", "CLIPTokenizer");
  if (type != "CLIPTokenizer" && type != "CLIPTokenizerFast")
    throw Error(fmt::format("is a {}, not a CLIPTokenizer", in_quotes(type)), fields.where());
  expect(fields, "add_prefix_space", false);
  expect(fields, "do_lower_case", true);
  expect(fields, "split_special_tokens", false);
  for (const char* side : {"padding_side", "truncation_side"}) expect(fields, side, std::string("right"));
  expect(fields, "truncation_strategy", std::string("longest_first"));
  for (const char* key : kIrrelevantKeys) {
    if (fields.has(key)) fields.get(key);
  }
}

}  // namespace

ClipTokenizerConfig ClipTokenizerConfig::load(const fs::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  const Json document = read_json(file);
  Fields fields(document, file.string());
  expect_implemented(fields);
  ClipTokenizerConfig config;
  config.model_max_length = read_max_length(fields);
  SpecialTokens special{{"bos_token", {"<|startoftext|>", false}},
                        {"eos_token", {kEndOfText, false}},
                        {"unk_token", {kEndOfText, false}},
                        {"pad_token", {kEndOfText, false}}};
  read_special_tokens(fields, special);
  if (fields.has(kDecoder)) {
    read_decoder(fields.object(kDecoder), config);
  } else {
    if (fs::exists(folder / "added_tokens.json"))
      throw Error("is not implemented", (folder / "added_tokens.json").string(),
                  fmt::format("state the tokens in {} of tokenizer_config.json", kDecoder));
    read_special_tokens_map(folder / "special_tokens_map.json", special);
    read_fast_tokenizer(folder / "tokenizer.json", config);
  }
  fields.finish();
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (!special.contains(name)) throw Error(fmt::format("has no {}", name), file.string());
  }
  config.bos_token = special.at("bos_token").content;
  config.eos_token = special.at("eos_token").content;
  config.pad_token = special.at("pad_token").content;
  const auto stated = config.added;
  for (const char* name : kSpecialTokens) {
    const auto found = special.find(name);
    if (found == special.end() || stated.contains(found->second.content)) continue;
    config.added.insert_or_assign(found->second.content, AddedToken{found->second.normalized, std::nullopt});
  }
  return config;
}

}  // namespace harness
