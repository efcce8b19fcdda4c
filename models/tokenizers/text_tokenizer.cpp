#include "models/tokenizers/text_tokenizer.h"

#include <map>
#include <string>

#include "core/json.h"
#include "models/tokenizers/byte_tokenizer.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {
namespace {

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
  return std::make_unique<ClipTokenizer>(ClipTokenizer::load(folder));
}

}  // namespace harness
