#include "harness/work/free_disk.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/run_report.h"
#include "harness/workspace/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

std::string megabytes(double mb) {
  return size_text(mb * 1e6);
}

}  // namespace

DiskRoom disk_room(const fs::path& workspace, const std::vector<DiskNeed>& needs) {
  DiskRoom room{.place = existing_part(workspace)};
  std::error_code unknown;
  const auto space = fs::space(room.place, unknown);
  if (!unknown) room.free_mb = static_cast<double>(space.available) / 1e6;
  for (const auto& need : needs) {
    room.need.left_mb += need.left_mb;
    room.need.certain_mb += need.certain_mb;
  }
  return room;
}

void DiskRoom::require() const {
  if (!free_mb || need.certain_mb <= *free_mb) return;
  throw Error(fmt::format("{} are free here, and what is left to do needs about {}, {} of it for certain",
                          megabytes(*free_mb), megabytes(need.left_mb), megabytes(need.certain_mb)),
              place.string(), "free some space, or name a folder on another disk with --out");
}

std::string DiskRoom::note() const {
  if (!free_mb || need.left_mb <= *free_mb || need.certain_mb > *free_mb) return "";
  return fmt::format(
      "{} are free at {}, and what is left to do needs about {}: the disk may become full. Finished work is kept "
      "then, and repeating the command goes on",
      megabytes(*free_mb), place.string(), megabytes(need.left_mb));
}

}  // namespace harness
