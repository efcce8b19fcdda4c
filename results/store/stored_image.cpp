#include "results/store/stored_image.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "results/store/left_out.h"
#include "results/store/rows.h"

namespace harness {

std::string read_stored_image(const std::filesystem::path& file, const std::string& sha256) {
  constexpr const char* kHint =
      "put the file back from a copy; `harness db check` and `harness check` name all such images";
  std::string bytes;
  try {
    bytes = read_file(file);
  } catch (const Error& error) {
    if (is_left_out(file.parent_path().parent_path(), kImagesFolder))
      throw Error(left_out_text(kImagesFolder), file.string(), kLeftOutHint, Status::kFailed);
    throw Error(error.problem(), file.string(), kHint, Status::kFailed);
  }
  if (sha256_hex(bytes) == sha256) return bytes;
  throw Error("is not the image that was scored: its checksum is another", file.string(), kHint,
              Status::kFailed);
}

std::vector<StoredImage> stored_images(Store& store, const std::string& evaluation) {
  constexpr auto kSql =
      "SELECT path, sha256 FROM samples WHERE evaluation_id = ?1 AND path <> '' ORDER BY prompt_id, sample";
  return rows_as<StoredImage, std::string, std::string>(store, kSql, evaluation);
}

std::vector<std::filesystem::path> lost_images(Store& store, const std::string& evaluation,
                                               const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> lost;
  if (is_left_out(folder, kImagesFolder)) return lost;
  for (const auto& [path, sha256] : stored_images(store, evaluation)) {
    std::error_code absent;
    const auto bytes = std::filesystem::file_size(folder / path, absent);
    if (absent || bytes == 0) lost.push_back(folder / path);
  }
  return lost;
}

std::string lost_images_text(const std::vector<std::filesystem::path>& lost) {
  return fmt::format("{} {} missing or empty, such as {}", counted(std::ssize(lost), "image"),
                     lost.size() == 1 ? "is" : "are", lost.front().string());
}

}  // namespace harness
