#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A piece of a vocabulary; its id is its place.
struct ScoredPiece {
  std::string text;  ///< UTF-8; U+2581 stands for the space before a word
  double score = 0;  ///< log probability
};

/// What a SentencePiece model file holds of a unigram model (arXiv:1808.06226).
struct SentencePieceModel {
  std::vector<ScoredPiece> pieces;
  std::size_t unknown = 0;    ///< id of the piece for unknown characters
  std::string character_map;  ///< precompiled (CharacterMap); empty for none

  /// Throws Error at no such model, not exactly one unknown piece, and what T5's models do not have.
  static SentencePieceModel read(const std::filesystem::path& path);
  /// The same of a file's bytes; `where` is its path in messages.
  static SentencePieceModel parse(std::string_view bytes, const std::string& where);
};

}  // namespace harness
