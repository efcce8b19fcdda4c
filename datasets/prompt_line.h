#pragma once

#include <string>

namespace harness {

/// Throws Error at `where` for what can be no prompt: a text that is empty, longer than kLongestPrompt, no
/// UTF-8, or holds control characters.
void check_prompt_line(const std::string& line, const std::string& where);

}  // namespace harness
