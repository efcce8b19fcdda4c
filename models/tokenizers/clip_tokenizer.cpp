#include "models/tokenizers/clip_tokenizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "models/configs/config_fields.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A token that is found in the text itself, before the text is split into words.
struct AddedToken {
  bool normalized;                 ///< found in the normalised text, else in the text as it is
  std::optional<std::int64_t> id;  ///< where the file states it
};

/// The settings of a tokenizer folder next to its vocabulary and merges.
struct ClipTokenizerConfig {
  std::string bos_token, eos_token, pad_token;
  std::map<std::string, AddedToken> added;       ///< by content, special tokens among them
  std::optional<std::int64_t> model_max_length;  ///< the longest text in tokens, if there is a limit
};

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
      throw Error(fmt::format("{} is not a token id", in_quotes(key)), decoder.where());
    add(config, decoder.object(key), id);
  }
}

/// Added tokens of folders that state them in tokenizer.json only.
void read_fast_tokenizer(const fs::path& file, ClipTokenizerConfig& config) {
  if (!fs::exists(file)) return;
  const Json document = read_json(file);
  const auto& tokens = Fields(document, file.string()).get("added_tokens");
  if (!tokens.is_array()) throw Error("added_tokens is not a list", file.string());
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

/// tokenizer_config.json. Without `added_tokens_decoder` (files before transformers 4.34) that and the
/// special tokens come from tokenizer.json and special_tokens_map.json, as transformers reads them.
ClipTokenizerConfig read_config(const fs::path& folder) {
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

enum class CharacterClass { kSpace, kLetter, kNumber, kOther };

CharacterClass class_of(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterClass::kNumber;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharacterClass::kSpace;
    default:
      return (c >= U'\t' && c <= U'\r') || c == 0x85 ? CharacterClass::kSpace : CharacterClass::kOther;
  }
}

std::string nfc(std::string_view text) {
  utf8proc_uint8_t* composed = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &composed,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (size < 0) throw Error(fmt::format("cannot be normalised: {}", utf8proc_errmsg(size)), "text");
  return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size)};
}

/// NFC, every run of white space as one space, lower case code point by code point.
std::string normalise(std::string_view text) {
  std::u32string normal;
  bool in_space = false;
  for (const char32_t c : utf8_to_utf32(nfc(text))) {
    const bool is_space = class_of(c) == CharacterClass::kSpace;
    if (!is_space) {
      normal += c == U'\u0130' ? std::u32string(U"i\u0307") : to_lower({&c, 1});
    } else if (!in_space) {
      normal += U' ';
    }
    in_space = is_space;
  }
  return utf32_to_utf8(normal);
}

/// Code points of the word at the start: a contraction, letters, one number, other marks; 0 at white space.
std::size_t word_length(std::u32string_view text) {
  for (const std::u32string_view ending : {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const auto kind = class_of(text[0]);
  if (kind == CharacterClass::kSpace) return 0;
  if (kind == CharacterClass::kNumber) return 1;
  const auto end = std::ranges::find_if(text, [kind](char32_t c) { return class_of(c) != kind; });
  return static_cast<std::size_t>(end - text.begin());
}

/// Where a word begins with one of these, transformers takes it out of the marks around it before it splits
/// it like any text. (Folders whose tokens are found in the raw text leave "<|ENDOFTEXT|>" to this.)
constexpr std::u32string_view kWrittenTokens[] = {U"<|startoftext|>", U"<|endoftext|>"};

}  // namespace

ClipTokenizer ClipTokenizer::load(const std::filesystem::path& folder) {
  for (const char* file : {"vocab.json", "merges.txt"}) {
    if (std::filesystem::exists(folder / file)) continue;
    throw Error(fmt::format("lacks {}", file), folder.string(),
                "a CLIP tokenizer is vocab.json and merges.txt; tokenizer.json alone is not read");
  }
  ClipTokenizer tokenizer;
  tokenizer.pairs_ = BytePairs::load(folder / "vocab.json", folder / "merges.txt");
  const auto config = read_config(folder);
  const auto id_of = [&](const std::string& content) {
    if (const auto id = tokenizer.pairs_.id(content)) return *id;
    throw Error(fmt::format("the special token {} is not in vocab.json", in_quotes(content)),
                folder.string());
  };
  for (const auto& [content, token] : config.added) {
    const auto id = id_of(content);
    if (token.id.value_or(id) != id) {
      throw Error(fmt::format("the special token {} has the id {}, but {} in vocab.json", in_quotes(content),
                              *token.id, id),
                  folder.string());
    }
    if (token.normalized) {
      tokenizer.normal_tokens_.push_back({normalise(content), id});
    } else {
      tokenizer.raw_tokens_.push_back({content, id});
    }
  }
  sort_longest_first(tokenizer.raw_tokens_);
  sort_longest_first(tokenizer.normal_tokens_);
  tokenizer.start_id_ = id_of(config.bos_token);
  tokenizer.end_id_ = id_of(config.eos_token);
  tokenizer.padding_id_ = id_of(config.pad_token);
  tokenizer.model_max_length_ = config.model_max_length;
  return tokenizer;
}

void ClipTokenizer::append_words(std::string_view normal, TokenIds& ids) const {
  const auto text = utf8_to_utf32(normal);
  std::u32string_view rest = text;
  const auto take = [&](std::size_t length) {
    if (length > 0) pairs_.append_word(utf32_to_utf8(rest.substr(0, length)), ids);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  };
  while (!rest.empty()) {
    const auto* const written =
        std::ranges::find_if(kWrittenTokens, [&rest](const auto& token) { return rest.starts_with(token); });
    if (written == std::end(kWrittenTokens)) {
      take(word_length(rest));
      continue;
    }
    for (const std::size_t length : {std::size_t{2}, written->size() - 4, std::size_t{2}}) take(length);
  }
}

TokenIds ClipTokenizer::encode(std::string_view text) const {
  if (const auto offset = invalid_utf8_at(text))
    throw Error(fmt::format("invalid UTF-8 at byte {}", *offset), "text", "save the text as UTF-8");
  TokenIds ids{start_id_};
  cut_out(text, raw_tokens_, ids, [&](std::string_view part) {
    cut_out(normalise(part), normal_tokens_, ids, [&](std::string_view rest) { append_words(rest, ids); });
  });
  ids.push_back(end_id_);
  return ids;
}

TokenIds ClipTokenizer::encode(std::string_view text, std::int64_t length) const {
  return encode_padded(std::array{std::string(text)}, length).ids;
}

PaddedTokens ClipTokenizer::encode_padded(std::span<const std::string> texts, std::int64_t length) const {
  if (length < 2) throw Error(fmt::format("{} tokens have no room for start and end", length));
  PaddedTokens padded;
  for (const auto& text : texts) padded.add(encode(text), length, padding_id_);
  return padded;
}

}  // namespace harness
