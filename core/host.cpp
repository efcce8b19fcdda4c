#include "core/host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace harness {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::optional<std::filesystem::path> program_on_path(const std::string& name) {
  for (const auto& folder : split(environment("PATH"), ':')) {
    const auto file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file)) return file;
  }
  return std::nullopt;
}

bool is_set(const char* variable) {
  return !environment(variable).empty();
}

std::string environment(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

std::optional<std::int64_t> environment_number(const char* variable, std::int64_t lowest,
                                               const std::string& what) {
  const auto text = environment(variable);
  if (text.empty()) return std::nullopt;
  if (const auto number = parse_number<std::int64_t>(text); number && *number >= lowest) return number;
  throw Error(fmt::format("is \"{}\", not a number of {}", text, what), variable);
}

}  // namespace harness
