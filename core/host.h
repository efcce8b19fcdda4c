#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace harness {

/// Of this machine, as it calls itself.
std::string host_name();

/// The file that a shell would run for a program's name; nothing if PATH has none.
std::optional<std::filesystem::path> program_on_path(const std::string& name);

/// False for a variable that is unset or empty.
bool is_set(const char* variable);
/// Its text; "" if it is unset.
std::string environment(const char* variable);
/// Its whole number, nothing if it is unset. Throws Error for anything else and for less than `lowest`;
/// `what` names the unit, as in "a number of seconds".
std::optional<std::int64_t> environment_number(const char* variable, std::int64_t lowest,
                                               const std::string& what);

}  // namespace harness
