#include "datasets/prompt_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "datasets/prompt.h"

namespace harness {
namespace {

bool is_control_character(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

}  // namespace

void check_prompt_line(const std::string& line, const std::string& where) {
  if (line.find_first_not_of(' ') == std::string::npos) {
    throw Error("empty line", where, "write one prompt on each line");
  }
  if (line.size() > kLongestPrompt) {
    throw Error(fmt::format("the prompt has {} bytes", line.size()), where,
                fmt::format("a prompt has at most {}", kLongestPrompt));
  }
  if (line.back() == '\r') {
    throw Error("the line ends with a carriage return", where,
                "save the file with Unix line ends (dos2unix)");
  }
  if (const auto byte = invalid_utf8_at(line)) {
    throw Error(fmt::format("invalid UTF-8 at byte {} of the line", *byte), where, "save the file as UTF-8");
  }
  const std::u32string text = utf8_to_utf32(line, where);
  if (text.front() == 0xfeff) {
    throw Error("the line starts with a byte order mark", where, "save the file as UTF-8 without it");
  }
  if (const auto control = std::ranges::find_if(text, is_control_character); control != text.end()) {
    throw Error(fmt::format("control character U+{:04X}", static_cast<unsigned>(*control)), where,
                "a prompt is one line of plain text");
  }
}

}  // namespace harness
