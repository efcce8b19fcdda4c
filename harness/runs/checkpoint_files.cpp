#include "harness/runs/checkpoint_files.h"

#include <fmt/format.h>

#include "core/file_checksums.h"
#include "core/json.h"

namespace harness {
namespace fs = std::filesystem;

std::string ChangedFile::problem() const {
  if (found.empty()) return "is not there";
  return fmt::format("is not the file that was written: SHA-256 {:.12} instead of {:.12}", found, expected);
}

bool is_inside(const std::string& path) {
  const auto normal = fs::path(path).lexically_normal();
  return normal.is_relative() && (normal.empty() || *normal.begin() != "..");
}

std::vector<ChangedFile> changed_files(const fs::path& folder) {
  std::vector<ChangedFile> changed;
  const auto files = read_json(folder / "manifest.json").value("files", Json::object());
  for (const auto& [name, sum] : files.items()) {
    if (!is_inside(name)) continue;
    ChangedFile file{.file = folder / name, .expected = sum.get<std::string>()};
    if (fs::is_regular_file(file.file)) file.found = remembered_sha256(file.file);
    if (file.found != file.expected) changed.push_back(std::move(file));
  }
  return changed;
}

}  // namespace harness
