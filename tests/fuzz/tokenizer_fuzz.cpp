// The input is a SentencePiece model, and after the last 0x1f a text. Either the model is refused with one
// clean line that names it, or the text becomes ids of its vocabulary.

#include <cstdint>

#include "models/tokenizers/character_map.h"
#include "models/tokenizers/sentencepiece_model.h"
#include "models/tokenizers/unigram.h"
#include "tests/fuzz/checks.h"

namespace harness {
namespace {

constexpr auto kWhere = "fuzz";

void check(std::string_view input) {
  const auto cut = input.rfind('\x1f');
  const auto bytes = input.substr(0, cut);
  const auto text = cut == std::string_view::npos ? std::string_view("a sign") : input.substr(cut + 1);
  try {
    const auto model = SentencePieceModel::parse(bytes, kWhere);
    const Unigram words(model.pieces, model.unknown, kWhere);
    const CharacterMap characters(model.character_map, kWhere);
    if (invalid_utf8_at(text)) return;
    std::vector<std::int64_t> ids;
    words.encode(characters.apply(text), ids);
    for (const auto id : ids) require(id >= 0 && id < static_cast<std::int64_t>(words.size()));
  } catch (const Error& error) {
    require_clean(error, kWhere);
  }
}

}  // namespace
}  // namespace harness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  harness::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
