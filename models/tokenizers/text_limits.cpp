#include "models/tokenizers/text_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "models/tokenizers/clip_tokenizer.h"
#include "models/tokenizers/t5_tokenizer.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

template <class Tokenizer>
std::function<std::size_t(std::string_view)> counter(const fs::path& folder) {
  const auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::load(folder));
  return [tokenizer](std::string_view text) { return tokenizer->encode(text).size(); };
}

}  // namespace

TextLimits::TextLimits(const fs::path& folder, std::int64_t t5_tokens) {
  if (folder.empty()) return;
  for (const char* name : {"tokenizer", "tokenizer_2", "tokenizer_3"}) {
    const auto place = folder / name;
    if (!fs::is_directory(place)) continue;
    if (fs::exists(place / "spiece.model")) {
      encoders_.push_back({"T5", t5_tokens, counter<T5Tokenizer>(place)});
    } else {
      encoders_.push_back({"CLIP", kClipTokens, counter<ClipTokenizer>(place)});
    }
  }
  std::ranges::stable_sort(encoders_, {}, &Encoder::tokens);
}

TextLimits::Reading TextLimits::reading(std::string_view text) const {
  const auto is_cut = [&](const Encoder& encoder) {
    return encoder.tokens_of(text) > static_cast<std::size_t>(encoder.tokens);
  };
  const auto cut = std::ranges::count_if(encoders_, is_cut);
  if (cut == 0) return Reading::kWhole;
  return cut == std::ssize(encoders_) ? Reading::kCut : Reading::kPartly;
}

std::string TextLimits::words_of(const Encoder& encoder) {
  return fmt::format("the {} tokens of {}", encoder.tokens, encoder.name);
}

std::string TextLimits::longest() const {
  return empty() ? "" : words_of(encoders_.back());
}

std::string TextLimits::shortest() const {
  return empty() ? "" : words_of(encoders_.front());
}

}  // namespace harness
