#include "models/tokenizers/t5_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr auto kModelFile = "spiece.model";
constexpr auto kConfigFile = "tokenizer_config.json";
constexpr auto kSpecialTokensFile = "special_tokens_map.json";
constexpr std::string_view kWordStart = "\u2581";
constexpr std::int64_t kMostExtraIds = 100'000;

/// A token that tokenizer_config.json adds; without an id it takes its piece's, or the next free one.
struct TokenSetting {
  std::string text;
  std::optional<std::int64_t> id;
  bool normalized = false;
  bool strips_right = false;
};

/// The settings of a tokenizer folder beside its model.
struct TokenizerSettings {
  std::string end = "</s>", unknown = "<unk>", pad = "<pad>";
  std::int64_t extra_ids = 100;
  std::vector<TokenSetting> added;  ///< by id
  std::vector<std::string> additional;
};

/// A special token is a string, or an object with its text as "content".
std::string token_text(const Json& value, const std::string& key, const std::string& where) {
  const Json* text = &value;
  if (value.is_object() && value.contains("content")) text = &value["content"];
  if (!text->is_string() || text->get_ref<const std::string&>().empty())
    throw Error(fmt::format("{} is not a token", in_quotes(key)), where);
  return *text;
}

/// Reads the three named special tokens and the list of additional ones, where given.
void read_special_tokens(ConfigFields& fields, TokenizerSettings& settings) {
  const auto read = [&](const char* key, std::string& text) {
    fields.mark(key);
    if (fields.has(key) && !fields.get(key).is_null())
      text = token_text(fields.get(key), key, fields.where());
  };
  read("eos_token", settings.end);
  read("unk_token", settings.unknown);
  read("pad_token", settings.pad);
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    fields.mark(key);
    if (!fields.has(key)) continue;
    const auto& list = fields.get(key);
    if (list.empty()) continue;  // [], {} or null
    if (!list.is_array()) throw Error(fmt::format("{} is not a list", in_quotes(key)), fields.where());
    settings.additional.clear();
    for (const auto& token : list) settings.additional.push_back(token_text(token, key, fields.where()));
  }
}

TokenSetting read_added_token(const std::string& id, const Json& value, const std::string& where) {
  TokenSetting token{.text = token_text(value, id, where), .id = 0};
  const auto* end = id.data() + id.size();
  const auto parsed = std::from_chars(id.data(), end, *token.id);
  if (parsed.ec != std::errc() || parsed.ptr != end || *token.id < 0)
    throw Error(fmt::format("{} is not an id", in_quotes(id)), where);
  ConfigFields fields(value, where + "." + id);
  token.normalized = fields.optional("normalized", !fields.optional("special", false));
  token.strips_right = fields.optional("rstrip", false);
  fields.optional("lstrip", false);
  fields.only("single_word", {false});
  fields.ignore("content __type");
  fields.Fields::finish();  // every key of a token counts
  return token;
}

void read_config(const std::filesystem::path& file, TokenizerSettings& settings) {
  const Json document = read_json(file);
  ConfigFields fields(document, file.string());
  fields.only("tokenizer_class", {"T5Tokenizer", "T5TokenizerFast"});
  settings.extra_ids = fields.integer("extra_ids", {0, kMostExtraIds}, settings.extra_ids);
  read_special_tokens(fields, settings);
  fields.mark("added_tokens_decoder");
  if (fields.has("added_tokens_decoder")) {
    const auto tokens = fields.object("added_tokens_decoder");
    for (const auto& id : tokens.keys())
      settings.added.push_back(read_added_token(id, tokens.raw().at(id), tokens.where()));
    std::ranges::sort(settings.added, {}, &TokenSetting::id);
  }
  for (const char* side : {"padding_side", "truncation_side"}) fields.only(side, {"right"});
  fields.only("split_special_tokens", {false});
  fields.only("sp_model_kwargs", {Json::object()});
  fields.only("bos_token", {nullptr});
  // Of no effect on ids in transformers 5, or given anew by every call.
  fields.ignore("add_prefix_space legacy model_max_length stride truncation_strategy");
  fields.finish();
}

TokenizerSettings read_settings(const std::filesystem::path& folder) {
  TokenizerSettings settings;
  if (const auto file = folder / kSpecialTokensFile; std::filesystem::exists(file)) {
    const Json document = read_json(file);
    ConfigFields fields(document, file.string());
    read_special_tokens(fields, settings);
    fields.finish();
  }
  // Where both files name a token, this one counts.
  if (const auto file = folder / kConfigFile; std::filesystem::exists(file)) read_config(file, settings);
  return settings;
}

/// Gives each added token its id: that of the piece with its text, else the next after all pieces.
class IdBook {
 public:
  IdBook(const Unigram& words, std::string where)
      : words_(words), next_(static_cast<std::int64_t>(words.size())), where_(std::move(where)) {}

  void add(const TokenSetting& token) {
    if (added_.contains(token.text)) return;
    const auto piece = words_.id_of(token.text);
    const auto id = piece >= 0 ? piece : next_++;
    if (token.id && *token.id != id)
      throw Error(
          fmt::format("gives {} the id {}, but it is {} by the model", in_quotes(token.text), *token.id, id),
          where_);
    added_[token.text] = {token.normalized, {token.text, id, token.strips_right}};
  }

  std::int64_t id_of(const std::string& text) const { return added_.at(text).second.id; }

  /// Longest first; `normalized` ones with the text that the character map makes of them.
  std::vector<WholeToken> tokens(bool normalized, const CharacterMap& characters) const {
    std::vector<WholeToken> out;
    for (const auto& [_, entry] : added_) {
      if (entry.first == normalized) out.push_back(entry.second);
    }
    if (normalized) {
      for (auto& token : out) token.text = characters.apply(token.text);
      std::erase_if(out, [](const auto& token) { return token.text.empty(); });
    }
    sort_longest_first(out);
    return out;
  }

  std::int64_t size() const { return next_; }

 private:
  const Unigram& words_;
  std::map<std::string, std::pair<bool, WholeToken>> added_;  ///< whether normalized, and the token
  std::int64_t next_;
  std::string where_;
};

}  // namespace

T5Tokenizer::T5Tokenizer(Unigram words, CharacterMap characters)
    : words_(std::move(words)), characters_(std::move(characters)) {}

T5Tokenizer T5Tokenizer::load(const std::filesystem::path& folder) {
  const auto file = folder / kModelFile;
  if (!std::filesystem::exists(file))
    throw Error(fmt::format("has no {}", kModelFile), folder.string(),
                "a tokenizer.json alone is not enough: add the SentencePiece model that it was made from");
  const auto settings = read_settings(folder);
  auto model = SentencePieceModel::read(file);
  for (auto i = settings.extra_ids; i-- > 0;) model.pieces.push_back({fmt::format("<extra_id_{}>", i), 0});
  T5Tokenizer tokenizer(Unigram(model.pieces, model.unknown, file.string()),
                        CharacterMap(model.character_map, file.string()));

  const auto where = (folder / kConfigFile).string();
  for (const auto& [key, text] :
       {std::pair("eos_token", settings.end), {"unk_token", settings.unknown}, {"pad_token", settings.pad}}) {
    if (tokenizer.words_.id_of(text) < 0)
      throw Error(
          fmt::format("{} is {}, which is not a piece of {}", in_quotes(key), in_quotes(text), kModelFile),
          where);
  }
  IdBook book(tokenizer.words_, where);
  for (const auto& token : settings.added) book.add(token);
  for (const auto& text : {settings.end, settings.unknown, settings.pad}) book.add({.text = text, .id = {}});
  for (const auto& text : settings.additional) book.add({.text = text, .id = {}});
  for (auto i = settings.extra_ids; i-- > 0;) book.add({.text = fmt::format("<extra_id_{}>", i), .id = {}});
  tokenizer.raw_ = book.tokens(false, tokenizer.characters_);
  tokenizer.normalized_ = book.tokens(true, tokenizer.characters_);
  tokenizer.end_ = book.id_of(settings.end);
  tokenizer.pad_ = book.id_of(settings.pad);
  tokenizer.size_ = book.size();
  return tokenizer;
}

void T5Tokenizer::encode_words(std::string_view text, TokenIds& ids) const {
  for (const auto& word : split(squeeze_white_space(text), ' ')) {
    if (word.empty()) continue;
    const auto marked = word.starts_with(kWordStart) ? word : std::string(kWordStart) + word;
    for (std::size_t begin = 0; begin < marked.size();) {
      const auto end = std::min(marked.find(kWordStart, begin + 1), marked.size());
      words_.encode(std::string_view(marked).substr(begin, end - begin), ids);
      begin = end;
    }
  }
}

void T5Tokenizer::encode_segment(std::string_view text, TokenIds& ids) const {
  cut_out(characters_.apply(text), normalized_, ids, [&](std::string_view rest) { encode_words(rest, ids); });
}

TokenIds T5Tokenizer::encode(std::string_view text) const {
  if (const auto at = invalid_utf8_at(text))
    throw Error(fmt::format("is not UTF-8 at byte {}", *at), "text to tokenize");
  TokenIds ids;
  cut_out(text, raw_, ids, [&](std::string_view rest) { encode_segment(rest, ids); });
  ids.push_back(end_);
  return ids;
}

PaddedTokens T5Tokenizer::encode_padded(std::span<const std::string> texts, std::int64_t length) const {
  if (length < 1) throw Error(fmt::format("{} tokens are too few for the end token", length));
  PaddedTokens padded;
  for (const auto& text : texts) padded.add(encode(text), length, pad_);
  return padded;
}

}  // namespace harness
