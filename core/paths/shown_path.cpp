#include "core/paths/shown_path.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "core/host.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The user's names and the machine's: no folder of that name is shown, nor one above it.
std::vector<std::string> names_of_the_user() {
  std::vector<std::string> names = {environment("USER"), environment("LOGNAME"), host_name(),
                                    fs::path(environment("HOME")).filename().string()};
  if (const auto* user = ::getpwuid(::geteuid())) names.emplace_back(user->pw_name);
  const auto host = host_name();
  names.push_back(host.substr(0, host.find('.')));
  std::erase(names, "");
  return names;
}

/// What follows the last folder that names the user, or that holds the homes of users with one of them.
fs::path without_user(const fs::path& path) {
  static const auto kNames = names_of_the_user();
  const std::vector<fs::path> parts(path.begin(), path.end());
  std::size_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = parts[i].string();
    if (std::ranges::count(kNames, part) > 0) first = i + 1;
    if ((part == "home" || part == "Users") && i == 1 && path.is_absolute()) first = i + 2;
  }
  fs::path rest;
  for (std::size_t i = first; i < parts.size(); ++i) rest /= parts[i];
  return rest;
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

std::string last_names(const fs::path& path) {
  const auto whole = without_trailing_slash(path.lexically_normal());
  const bool is_inside = whole.is_relative() && (whole.empty() || *whole.begin() != "..");
  const auto rest = without_user(whole);
  if (is_inside) return rest.empty() && !whole.empty() ? "~" : rest.string();
  std::vector<fs::path> parts;
  for (const auto& part : rest) {
    if (part != ".." && part != rest.root_path()) parts.push_back(part);
  }
  // A place that stands for several, with {step} in it, keeps what distinguishes them.
  const auto pattern = std::ranges::find_if(
      parts, [](const fs::path& part) { return part.string().find('{') != std::string::npos; });
  const auto last_two = parts.end() - std::min<std::ptrdiff_t>(std::ssize(parts), 2);
  fs::path shown;
  for (auto part = std::min(pattern, last_two); part != parts.end(); ++part) shown /= *part;
  return shown.empty() ? "~" : shown.string();
}

std::string shown_path(const fs::path& path) {
  std::error_code gone;
  const auto here = fs::current_path(gone);
  const auto whole = without_trailing_slash(path.lexically_normal());
  if (!gone && whole.is_absolute()) {
    const auto inside = whole.lexically_relative(here);
    if (!inside.empty() && inside != "." && *inside.begin() != "..") return last_names(inside);
  }
  return last_names(whole);
}

std::string with_last_names(const std::string& text) {
  static const std::regex kPath(R"((^|[\s"'(=])(/[^\s"'(),;:/]+(?:/[^\s"'(),;:/]+)+))");
  std::string out;
  auto rest = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), kPath), end; found != end; ++found) {
    out.append(rest, (*found)[2].first);
    out += last_names((*found)[2].str());
    rest = (*found)[2].second;
  }
  out.append(rest, text.cend());
  return out;
}

}  // namespace harness
