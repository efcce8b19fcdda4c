#include "models/tokenizers/clip_tokenizer_config.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "models/configs/config_fields.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// In the order in which transformers adds them: of two with one content, the later one's flags hold.
constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};
constexpr auto kEndOfText = "<|endoftext|>";
constexpr auto kDecoder = "added_tokens_decoder";

struct SpecialToken {
  std::string content;
  bool normalized;
};
using SpecialTokens = std::map<std::string, SpecialToken>;  // by name

/// Every key of a token counts.
SpecialToken read_token_object(ConfigFields token) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) token.only(flag, {false});
  token.ignore("__type id special");
  SpecialToken read{token.required<std::string>("content"), token.required<bool>("normalized")};
  if (read.content.empty()) throw Error("an empty token", token.where());
  token.Fields::finish();
  return read;
}

/// Replaces the special tokens that the fields name.
void read_special_tokens(ConfigFields& fields, SpecialTokens& tokens) {
  for (const char* name : kSpecialTokens) {
    fields.mark(name);
    if (!fields.has(name)) continue;
    const auto& value = fields.get(name);
    if (value.is_null()) {
      tokens.erase(name);
    } else if (value.is_object()) {
      tokens.insert_or_assign(name, read_token_object(ConfigFields(fields.object(name))));
    } else {
      tokens.insert_or_assign(name, SpecialToken{fields.required<std::string>(name), false});
    }
  }
  for (const char* name : {"additional_special_tokens", "extra_special_tokens"})
    fields.only(name, {nullptr, Json::array(), Json::object()});
}

void add(ClipTokenizerConfig& config, const Fields& token, std::optional<std::int64_t> id) {
  const auto [content, normalized] = read_token_object(ConfigFields(token));
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
    add(config, token, id);
  }
}

void read_special_tokens_map(const fs::path& file, SpecialTokens& tokens) {
  if (!fs::exists(file)) return;
  const Json document = read_json(file);
  ConfigFields fields(document, file.string());
  read_special_tokens(fields, tokens);
  fields.finish();
}

/// Files without a limit hold 1e30.
std::optional<std::int64_t> read_max_length(ConfigFields& fields) {
  constexpr auto kKey = "model_max_length";
  constexpr double kLimit = 1e9;
  if (fields.optional(kKey, kLimit) >= kLimit) return std::nullopt;
  return fields.integer(kKey, {2, static_cast<std::int64_t>(kLimit)});
}

void expect_implemented(ConfigFields& fields) {
  fields.only("tokenizer_class", {"CLIPTokenizer", "CLIPTokenizerFast"});
  for (const char* flag : {"add_prefix_space", "split_special_tokens"}) fields.only(flag, {false});
  fields.only("do_lower_case", {true});
  for (const char* side : {"padding_side", "truncation_side"}) fields.only(side, {"right"});
  fields.only("truncation_strategy", {"longest_first"});
  fields.ignore("stride");  // of texts cut into several
}

}  // namespace

ClipTokenizerConfig ClipTokenizerConfig::load(const fs::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  const Json document = read_json(file);
  ConfigFields fields(document, file.string());
  expect_implemented(fields);
  ClipTokenizerConfig config;
  config.model_max_length = read_max_length(fields);
  SpecialTokens special{{"bos_token", {"<|startoftext|>", false}},
                        {"eos_token", {kEndOfText, false}},
                        {"unk_token", {kEndOfText, false}},
                        {"pad_token", {kEndOfText, false}}};
  read_special_tokens(fields, special);
  fields.mark(kDecoder);
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
