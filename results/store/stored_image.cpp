#include "results/store/stored_image.h"

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "results/store/left_out.h"

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

}  // namespace harness
