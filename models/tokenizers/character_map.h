#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// The precompiled character map of a SentencePiece model (for T5: NFKC and white space), applied as
/// Hugging Face's tokenizers apply it: a grapheme of fewer than 6 bytes as a whole, any other character by
/// character, each replaced by the target of the shortest source that it begins with. (SentencePiece itself
/// takes the longest source wherever it ends; the two differ at rare combining marks, as U+00BD U+0301.)
class CharacterMap {
 public:
  /// `bytes`: a double-array trie after its size (32 bits, little-endian), and the targets, each ended by a
  /// zero byte; nothing: no change. Throws Error, with `where`, if malformed.
  CharacterMap(std::string_view bytes, std::string where);

  /// `text` is UTF-8. Throws Error if the map points outside itself.
  std::string apply(std::string_view text) const;

 private:
  /// Appends the target for `part`; false if no source begins it.
  bool append_target(std::string_view part, std::string& out) const;
  std::uint32_t unit(std::size_t place) const;

  std::vector<std::uint32_t> trie_;
  std::string targets_;
  std::string where_;
};

}  // namespace harness
