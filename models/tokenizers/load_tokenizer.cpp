#include "models/tokenizers/load_tokenizer.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {
namespace {

/// The UTF-8 bytes of a text between a start token 256 and an end token 257, which also fills up.
class ByteTokenizer : public TextTokenizer {
 public:
  std::vector<std::int64_t> encode(std::string_view text, std::int64_t length) const override {
    if (invalid_utf8_at(text)) throw Error("the text is not UTF-8", "ByteTokenizer");
    std::vector<std::int64_t> ids(static_cast<std::size_t>(length), end_id());
    ids[0] = 256;
    const auto kept = std::min(text.size(), ids.size() - 2);
    for (std::size_t i = 0; i < kept; ++i) ids[i + 1] = static_cast<unsigned char>(text[i]);
    return ids;
  }
  std::int64_t vocab_size() const override { return 258; }
  std::int64_t end_id() const override { return 257; }
};

/// Null where the file does not state it.
Json tokenizer_class(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return nullptr;
  const auto document = read_json(file);
  return document.is_object() ? document.value("tokenizer_class", Json()) : Json();
}

using Makers = std::map<std::string, std::unique_ptr<TextTokenizer> (*)()>;

Makers& makers() {
  static Makers all;  // registration runs before main
  return all;
}

}  // namespace

bool register_text_tokenizer(const char* class_name, std::unique_ptr<TextTokenizer> (*make)()) {
  return makers().emplace(class_name, make).second;
}

std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::filesystem::path& folder) {
  const auto named = tokenizer_class(folder / "tokenizer_config.json");
  if (named == "ByteTokenizer") return std::make_unique<ByteTokenizer>();
  if (named.is_string()) {
    if (const auto found = makers().find(named.get<std::string>()); found != makers().end())
      return found->second();
  }
  return std::make_unique<ClipTokenizer>(ClipTokenizer::load(folder));
}

}  // namespace harness
