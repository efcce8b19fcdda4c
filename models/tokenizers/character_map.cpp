#include "models/tokenizers/character_map.h"

#include <utf8proc.h>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::size_t kUnitBytes = 4;
constexpr std::size_t kWholeGrapheme = 6;  ///< bytes from which a grapheme is mapped character by character

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = kUnitBytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// A unit of the double array (github.com/s-yata/darts-clone): label in bits 0..7 (bit 31 set: a value), "has
// a leaf" in bit 8, distance to the children in bits 10..30, 256 times that if bit 9 is set.
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::size_t children(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & 1U << 9) >> 6);
}
std::size_t leaf_value(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}

/// Calls `function` with each extended grapheme cluster.
template <class Function>
void for_each_grapheme(std::u32string_view text, const Function& function) {
  std::size_t begin = 0;
  utf8proc_int32_t state = 0;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && !utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(text[i - 1]),
                                                             static_cast<utf8proc_int32_t>(text[i]), &state))
      continue;
    function(text.substr(begin, i - begin));
    begin = i;
  }
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, std::string where) : where_(std::move(where)) {
  if (bytes.empty()) return;
  const auto size = bytes.size() < kUnitBytes ? 0 : little_endian(bytes);
  if (size < kUnitBytes || size % kUnitBytes != 0 || size >= bytes.size() - kUnitBytes)
    throw Error("its character map is malformed", where_);
  for (std::size_t i = 0; i < size; i += kUnitBytes)
    trie_.push_back(little_endian(bytes.substr(kUnitBytes + i)));
  targets_ = bytes.substr(kUnitBytes + size);
}

std::uint32_t CharacterMap::unit(std::size_t place) const {
  if (place >= trie_.size()) throw Error("its character map points outside itself", where_);
  return trie_[place];
}

bool CharacterMap::append_target(std::string_view part, std::string& out) const {
  std::size_t place = children(unit(0));
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    place ^= byte;
    const auto node = unit(place);
    if (label(node) != byte) return false;
    place ^= children(node);
    if (!has_leaf(node)) continue;
    const auto target = leaf_value(unit(place));
    if (target >= targets_.size()) throw Error("its character map points outside itself", where_);
    out += targets_.c_str() + target;
    return true;
  }
  return false;
}

std::string CharacterMap::apply(std::string_view text) const {
  if (trie_.empty()) return std::string(text);
  std::string out;
  const auto map_or_keep = [&](const std::string& part) {
    const bool mapped = append_target(part, out);
    if (!mapped) out += part;
  };
  for_each_grapheme(utf8_to_utf32(text), [&](std::u32string_view grapheme) {
    const auto whole = utf32_to_utf8(grapheme);
    if (whole.size() < kWholeGrapheme && append_target(whole, out)) return;
    for (const char32_t c : grapheme) map_or_keep(utf32_to_utf8({&c, 1}));
  });
  return out;
}

}  // namespace harness
