#include "models/tokenizers/byte_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr auto kWordEnd = "</w>";
constexpr auto kNoRank = std::numeric_limits<std::int64_t>::max();

/// The characters that stand for the 256 bytes: Latin-1's own where visible, else those from U+0100 on.
std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> characters;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    const char32_t c = visible ? byte : next++;
    characters[byte] = utf32_to_utf8({&c, 1});
  }
  return characters;
}

/// Throws Error unless the ids are 0 to N-1.
void check_ids(const std::unordered_map<std::string, std::int64_t>& ids, const std::string& where) {
  std::vector<const std::string*> tokens(ids.size(), nullptr);
  for (const auto& [token, id] : ids) {
    if (id < 0 || id >= static_cast<std::int64_t>(ids.size())) {
      throw Error(fmt::format("{} has the id {}, but {} tokens have the ids 0 to {}", in_quotes(token), id,
                              ids.size(), ids.size() - 1),
                  where);
    }
    auto& holder = tokens[static_cast<std::size_t>(id)];
    if (holder != nullptr) {
      const auto [first, second] = std::minmax(*holder, token);
      throw Error(fmt::format("{} and {} have the same id {}", in_quotes(first), in_quotes(second), id),
                  where);
    }
    holder = &token;
  }
}

}  // namespace

BytePairs BytePairs::load(const std::filesystem::path& vocab, const std::filesystem::path& merges) {
  BytePairs pairs;
  pairs.read_vocabulary(vocab);
  pairs.read_merges(merges);
  return pairs;
}

void BytePairs::read_vocabulary(const std::filesystem::path& file) {
  const Json document = read_json(file);
  const auto where = file.string();
  if (!document.is_object()) throw Error("is not an object of tokens and ids", where);
  for (const auto& [token, id] : document.items()) {
    if (!id.is_number_integer())
      throw Error(fmt::format("{} has the id {}, which is not an integer", in_quotes(token), json_text(id)),
                  where);
    ids_.emplace(token, id.get<std::int64_t>());
  }
  check_ids(ids_, where);
  const auto characters = byte_characters();
  const auto required = [&](const std::string& token, std::size_t byte) {
    const auto found = ids_.find(token);
    if (found == ids_.end())
      throw Error(fmt::format("lacks {}, which stands for byte {}", in_quotes(token), byte), where);
    return found->second;
  };
  for (std::size_t byte = 0; byte < 256; ++byte) {
    inner_[byte] = required(characters[byte], byte);
    final_[byte] = required(characters[byte] + kWordEnd, byte);
  }
}

void BytePairs::read_merges(const std::filesystem::path& file) {
  auto lines = split(read_file(file), '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto& line = lines[i];
    if (line.ends_with('\r')) line.pop_back();
    if (i == 0 && line.starts_with("#version")) continue;
    const auto where = fmt::format("{}: line {}", file.string(), i + 1);
    const auto parts = split(line, ' ');
    if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
      throw Error(fmt::format("{} is not a pair of tokens", in_quotes(line)), where);
    const auto known = [&](const std::string& token) {
      if (const auto found = id(token)) return *found;
      throw Error(fmt::format("{} is not in the vocabulary", in_quotes(token)), where);
    };
    const auto left = known(parts[0]), right = known(parts[1]), merged = known(parts[0] + parts[1]);
    if (!merges_.emplace(pair_of(left, right), Merge{static_cast<std::int64_t>(i), merged}).second)
      throw Error(fmt::format("{} is given a second time", in_quotes(line)), where);
  }
}

std::optional<std::int64_t> BytePairs::id(const std::string& token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

BytePairs::Merge BytePairs::merge_of(std::int64_t left, std::int64_t right) const {
  const auto found = merges_.find(pair_of(left, right));
  return found == merges_.end() ? Merge{kNoRank, 0} : found->second;
}

void BytePairs::append_word(std::string_view word, std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> parts;
  for (const char c : word.substr(0, word.size() - 1)) parts.push_back(inner_[static_cast<unsigned char>(c)]);
  parts.push_back(final_[static_cast<unsigned char>(word.back())]);
  std::vector<Merge> merges;  // of each part with the next one
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) merges.push_back(merge_of(parts[i], parts[i + 1]));
  while (!merges.empty()) {
    const auto best = std::ranges::min_element(merges, {}, &Merge::rank);  // the leftmost of equal ones
    if (best->rank == kNoRank) break;
    const auto i = static_cast<std::size_t>(best - merges.begin());
    parts[i] = best->id;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    merges.erase(best);
    if (i > 0) merges[i - 1] = merge_of(parts[i - 1], parts[i]);
    if (i < merges.size()) merges[i] = merge_of(parts[i], parts[i + 1]);
  }
  ids.insert(ids.end(), parts.begin(), parts.end());
}

}  // namespace harness
