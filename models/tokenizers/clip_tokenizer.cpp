#include "models/tokenizers/clip_tokenizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "models/tokenizers/clip_tokenizer_config.h"

namespace harness {
namespace {

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
  const auto config = ClipTokenizerConfig::load(folder);
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
