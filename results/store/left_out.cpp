#include "results/store/left_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kParts = "left_out";

}  // namespace

std::string left_out_note(const std::string& part) {
  return Json{{kParts, {part}}}.dump() + "\n";
}

bool is_left_out(const fs::path& folder, const std::string& part) {
  std::error_code absent;
  if (fs::exists(folder / part, absent) || !fs::exists(folder / kLeftOutFile, absent)) return false;
  const auto noted = read_json(folder / kLeftOutFile);
  const auto parts =
      Fields(noted, (folder / kLeftOutFile).string()).required<std::vector<std::string>>(kParts);
  return std::ranges::find(parts, part) != parts.end();
}

std::string left_out_text(const std::string& part) {
  return fmt::format("the {} were not part of the archive that this was imported from", part);
}

std::string left_out_text(const std::string& part, std::int64_t count, const std::string& of_what) {
  return fmt::format("the {} of {} were not part of the archive that they were imported from", part,
                     counted(count, of_what));
}

}  // namespace harness
