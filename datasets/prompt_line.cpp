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

const char* hint_for_control(char32_t c) {
  if (c == U'\t') return "a prompt is one line of plain text: of a table, give the column of prompts alone";
  if (c == U'\r') return "a carriage return; save the file with Unix line ends (mac2unix)";
  return "a prompt is one line of plain text";
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
  if (const auto byte = invalid_utf8_at(line)) {
    throw Error(fmt::format("invalid UTF-8 at byte {} of the line", *byte), where, "save the file as UTF-8");
  }
  const std::u32string text = utf8_to_utf32(line, where);
  if (text.front() == 0xfeff) {
    throw Error("the line starts with a byte order mark", where, "take it out: files were put together here");
  }
  if (const auto control = std::ranges::find_if(text, is_control_character); control != text.end()) {
    throw Error(fmt::format("control character U+{:04X}{}", static_cast<unsigned>(*control),
                            *control == U'\t' ? " (tab)" : ""),
                where, hint_for_control(*control));
  }
}

}  // namespace harness
