#include "harness/runs/stored_files.h"

#include <fmt/format.h>

#include "core/file_checksums.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "results/store/stored_image.h"

namespace harness {
namespace fs = std::filesystem;

std::string ChangedFile::problem() const {
  if (found.empty()) return "is missing";
  return fmt::format("is not the file that was written: SHA-256 {:.12} instead of {:.12}", found, expected);
}

bool is_inside(const std::string& path) {
  const auto normal = fs::path(path).lexically_normal();
  return normal.is_relative() && (normal.empty() || *normal.begin() != "..");
}

std::vector<ChangedFile> changed_files(const fs::path& folder) {
  std::vector<ChangedFile> changed;
  const auto manifest = read_json(folder / "manifest.json");
  auto files = Fields(manifest, (folder / "manifest.json").string()).object("files");
  for (const auto& name : files.keys()) {
    if (!is_inside(name)) continue;
    ChangedFile file{.file = folder / name, .expected = files.required<std::string>(name)};
    if (fs::is_regular_file(file.file)) file.found = remembered_sha256(file.file);
    if (file.found != file.expected) changed.push_back(std::move(file));
  }
  return changed;
}

std::string ImageCheck::text() const {
  std::vector<std::string> parts;
  if (missing > 0) parts.push_back(fmt::format("{} gone", missing));
  if (changed > 0) parts.push_back(fmt::format("{} not the file that was scored", changed));
  return fmt::format("of {} images, {}, such as {}", images, join(parts, " and "), example);
}

ImageCheck check_stored_images(Store& store, const std::string& evaluation, const fs::path& folder) {
  ImageCheck check;
  for (const auto& [path, sha256] : stored_images(store, evaluation)) {
    ++check.images;
    const auto file = folder / path;
    std::error_code unknown;
    const bool is_there = fs::is_regular_file(file, unknown);
    if (is_there && sha256_file(file) == sha256) continue;
    ++(is_there ? check.changed : check.missing);
    if (check.example.empty()) check.example = file.string();
  }
  return check;
}

}  // namespace harness
