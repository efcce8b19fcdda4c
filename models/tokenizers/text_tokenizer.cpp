#include "models/tokenizers/text_tokenizer.h"

#include <array>
#include <map>
#include <string>

#include "core/json.h"
#include "models/tokenizers/byte_tokenizer.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {
namespace {

class ClipTextTokenizer : public TextTokenizer {
 public:
  explicit ClipTextTokenizer(ClipTokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  std::vector<std::int64_t> encode(std::string_view text, std::int64_t length) const override {
    const std::array<std::string, 1> texts{std::string(text)};
    return tokenizer_.encode_padded(texts, length).ids;
  }
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  std::int64_t end_id() const override { return tokenizer_.end_id(); }

 private:
  ClipTokenizer tokenizer_;
};

/// Null where the file does not say it.
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
  if (named == ByteTokenizer::kClass) return std::make_unique<ByteTokenizer>();
  if (named.is_string()) {
    if (const auto found = makers().find(named.get<std::string>()); found != makers().end())
      return found->second();
  }
  return std::make_unique<ClipTextTokenizer>(ClipTokenizer::load(folder));
}

}  // namespace harness
