#include "core/processes/script.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>

#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf", kScript = "#!";

/// As far as the system reads it.
std::string first_line(const fs::path& file) {
  constexpr std::size_t kRead = 256;
  std::string text(kRead, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<std::string> fault_of_script(const fs::path& program) {
  const auto line = first_line(program);
  const auto file = shell_word(program.string());
  if (line.starts_with(kMark) && line.substr(kMark.size()).starts_with(kScript))
    return fmt::format(
        "its first line begins with a byte order mark; `sed -i '1s/^\\xef\\xbb\\xbf//' {}` takes it away",
        file);
  if (!line.starts_with(kScript)) return std::nullopt;
  if (line.ends_with('\r'))
    return fmt::format(
        "its first line ends with a carriage return, as Windows ends lines; `sed -i 's/\\r$//' {}` mends it",
        file);
  const std::string words(trim(std::string_view(line).substr(kScript.size())));
  const auto interpreter = words.substr(0, words.find_first_of(" \t"));
  std::error_code unknown;
  if (interpreter.empty() || fs::exists(interpreter, unknown)) return std::nullopt;
  return fmt::format("its first line names {}, which is not there; install that, or name another program",
                     in_quotes(interpreter));
}

}  // namespace harness
