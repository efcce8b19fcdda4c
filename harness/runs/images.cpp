#include "harness/runs/images.h"

#include <fmt/format.h>

#include <vector>

#include "core/sha256.h"
#include "core/text.h"
#include "results/store/rows.h"

namespace harness {

std::string ImageCheck::text() const {
  std::vector<std::string> parts;
  if (missing > 0) parts.push_back(fmt::format("{} gone", missing));
  if (changed > 0) parts.push_back(fmt::format("{} not the file that was scored", changed));
  return fmt::format("of {} images, {}, such as {}", images, join(parts, " and "), example);
}

ImageCheck check_stored_images(Store& store, const std::string& evaluation,
                               const std::filesystem::path& folder) {
  using Image = std::pair<std::string, std::string>;  // path and checksum
  ImageCheck check;
  for (const auto& [path, sha256] : checked_rows<Image>(
           store, "SELECT path, sha256 FROM samples WHERE evaluation_id = ?1 ORDER BY prompt_id, sample",
           [](const Query& row) { return Image(row.text(0), row.text(1)); }, evaluation)) {
    ++check.images;
    const auto file = folder / path;
    std::error_code unknown;
    const bool is_there = std::filesystem::is_regular_file(file, unknown);
    if (is_there && sha256_file(file) == sha256) continue;
    ++(is_there ? check.changed : check.missing);
    if (check.example.empty()) check.example = file.string();
  }
  return check;
}

}  // namespace harness
