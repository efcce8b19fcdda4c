#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace harness {

/// Byte-pair encoding of words over bytes, the last byte of a word marked by "</w>" (arXiv:1508.07909).
class BytePairs {
 public:
  /// vocab.json: tokens and their ids, 0 to N-1, among them the 256 bytes (as the characters that stand for
  /// them) with and without "</w>". merges.txt: two tokens a line, the first merge first. Throws Error.
  static BytePairs load(const std::filesystem::path& vocab, const std::filesystem::path& merges);

  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  std::optional<std::int64_t> id(const std::string& token) const;

  /// Appends the ids of one word, not empty.
  void append_word(std::string_view word, std::vector<std::int64_t>& ids) const;

 private:
  struct Merge {
    std::int64_t rank, id;
  };
  using Pair = std::uint64_t;  ///< left id, right id: 32 bits each
  static Pair pair_of(std::int64_t left, std::int64_t right) {
    return static_cast<Pair>(left) << 32 | static_cast<Pair>(right);
  }

  void read_vocabulary(const std::filesystem::path& file);
  void read_merges(const std::filesystem::path& file);
  /// The merge of two neighbours, or one of a rank above all others.
  Merge merge_of(std::int64_t left, std::int64_t right) const;

  std::unordered_map<std::string, std::int64_t> ids_;
  std::unordered_map<Pair, Merge> merges_;
  std::array<std::int64_t, 256> inner_{}, final_{};  ///< ids of bytes within and at the end of a word
};

}  // namespace harness
