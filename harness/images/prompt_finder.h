#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/prompt_set.h"

namespace harness {

/// Finds the prompt that an image is of.
class PromptFinder {
 public:
  PromptFinder(const PromptSet& prompts, int first_index);

  /// Position of an index as files name it. Throws Error (at `where`) outside the set.
  int at(long long index, const std::string& where) const;

  /// Position of a text: as it is, else by its letters and digits alone, without case and in one normal form,
  /// as tokenizers and file names leave them. Throws Error (at `where`) where no prompt has it, or several
  /// have.
  int of_text(std::string_view text, const std::string& where) const;
  bool knows(std::string_view text) const { return positions_of(text) != nullptr; }
  bool is_of(int position, std::string_view text) const;  ///< whether a text means that prompt
  /// As of_text, or nothing where no prompt has it.
  std::optional<int> find_text(std::string_view text, const std::string& where) const;

  const std::string& text_of(int position) const;
  std::size_t size() const { return prompts_.prompts.size(); }
  int first_index() const { return first_index_; }
  bool has(long long index) const;  ///< a prompt has this number

 private:
  const std::vector<int>* positions_of(std::string_view text) const;

  const PromptSet& prompts_;
  int first_index_;
  std::map<std::string, std::vector<int>, std::less<>> exact_, loose_;
};

}  // namespace harness
