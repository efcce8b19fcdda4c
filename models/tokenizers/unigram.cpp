#include "models/tokenizers/unigram.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr double kUnknownPenalty = 10;

/// The best segmentation that ends at a byte: its last piece.
struct Arrival {
  std::size_t begin = 0;
  std::int64_t id = -1;  ///< -1: none yet
  double score = 0;
};

bool continues_a_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::size_t next_character(std::string_view text, std::size_t i) {
  do ++i;
  while (i < text.size() && continues_a_character(text[i]));
  return i;
}

}  // namespace

Unigram::Unigram(const std::vector<ScoredPiece>& vocabulary, std::size_t unknown, const std::string& where)
    : unknown_(static_cast<std::int64_t>(unknown)) {
  for (const auto& piece : vocabulary) {
    if (!ids_.emplace(piece.text, static_cast<std::int64_t>(scores_.size())).second)
      throw Error(fmt::format("holds the piece {} twice", in_quotes(piece.text)), where);
    scores_.push_back(piece.score);
    longest_ = std::max(longest_, piece.text.size());
  }
  unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
}

std::int64_t Unigram::id_of(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

void Unigram::encode(std::string_view word, std::vector<std::int64_t>& ids) const {
  std::vector<Arrival> best(word.size() + 1);
  const auto offer = [&best](std::size_t begin, std::size_t end, std::int64_t id, double score) {
    const double total = best[begin].score + score;
    if (best[end].id < 0 || total > best[end].score) best[end] = {begin, id, total};
  };
  for (std::size_t begin = 0; begin < word.size(); begin = next_character(word, begin)) {
    const auto one = next_character(word, begin);
    bool covered = false;
    for (auto end = one; end <= word.size() && end - begin <= longest_; end = next_character(word, end)) {
      const auto id = id_of(word.substr(begin, end - begin));
      if (id < 0) continue;
      offer(begin, end, id, scores_[static_cast<std::size_t>(id)]);
      covered = covered || end == one;
    }
    if (!covered) offer(begin, one, unknown_, unknown_score_);
  }
  std::vector<std::int64_t> reversed;
  for (auto end = word.size(); end > 0; end = best[end].begin) {
    const bool joins = best[end].id == unknown_ && !reversed.empty() && reversed.back() == unknown_;
    if (!joins) reversed.push_back(best[end].id);
  }
  ids.insert(ids.end(), reversed.rbegin(), reversed.rend());
}

}  // namespace harness
