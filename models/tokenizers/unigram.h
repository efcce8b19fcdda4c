#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/tokenizers/sentencepiece_model.h"

namespace harness {

/// Splits words into the pieces of a unigram language model: the segmentation with the largest sum of scores
/// (arXiv:1804.10959). Sums are float64, which decides between the near ties of repeated characters.
class Unigram {
 public:
  /// `unknown` is the id for what no piece covers. Throws Error, with `where`, if a piece occurs twice.
  Unigram(const std::vector<ScoredPiece>& vocabulary, std::size_t unknown, const std::string& where);

  /// Appends a word's ids. A character that no piece covers costs 10 more than the worst; a run is one id.
  void encode(std::string_view word, std::vector<std::int64_t>& ids) const;

  /// Id of a piece, or -1.
  std::int64_t id_of(std::string_view piece) const;
  std::size_t size() const { return scores_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
  std::vector<double> scores_;
  std::size_t longest_ = 0;  ///< bytes of the longest piece
  std::int64_t unknown_;
  double unknown_score_ = 0;
};

}  // namespace harness
