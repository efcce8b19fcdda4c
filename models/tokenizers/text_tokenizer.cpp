#include "models/tokenizers/text_tokenizer.h"

#include <array>
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

bool names_byte_tokenizer(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return false;
  const auto document = read_json(file);
  return document.is_object() && document.value("tokenizer_class", Json()) == ByteTokenizer::kClass;
}

}  // namespace

std::unique_ptr<TextTokenizer> load_text_tokenizer(const std::filesystem::path& folder) {
  if (names_byte_tokenizer(folder / "tokenizer_config.json")) return std::make_unique<ByteTokenizer>();
  return std::make_unique<ClipTextTokenizer>(ClipTokenizer::load(folder));
}

}  // namespace harness
