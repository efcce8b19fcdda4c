#include "harness/terminal/comma_list.h"

#include "core/error.h"
#include "core/text.h"

namespace harness {

std::vector<std::string> comma_list(const std::vector<std::string>& words, const std::string& option) {
  std::vector<std::string> trimmed;
  for (const auto& word : words) {
    trimmed.emplace_back(trim(word));
    if (trimmed.back().empty())
      throw Error("a name between two commas is missing", option + " " + join(words, ","));
  }
  return trimmed;
}

}  // namespace harness
