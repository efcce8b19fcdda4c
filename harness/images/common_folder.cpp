#include "harness/images/common_folder.h"

#include <algorithm>

namespace harness {
namespace fs = std::filesystem;
namespace {

bool is_elsewhere(const ListedImage& image) {
  const auto name = fs::path(image.name).lexically_normal();
  return name.is_absolute() || (!name.empty() && *name.begin() == "..");
}

/// What two folders have in common.
fs::path shared(const fs::path& a, const fs::path& b) {
  fs::path both;
  for (auto [i, j] = std::pair(a.begin(), b.begin()); i != a.end() && j != b.end() && *i == *j; ++i, ++j)
    both /= *i;
  return both;
}

}  // namespace

ImageList in_common_folder(ImageList list) {
  if (std::ranges::none_of(list.images, is_elsewhere)) return list;
  const auto whole = [&](const ListedImage& image) { return (list.folder / image.name).lexically_normal(); };
  auto folder = whole(list.images.front()).parent_path();
  for (const auto& image : list.images) folder = shared(folder, whole(image).parent_path());
  for (auto& image : list.images) image.name = whole(image).lexically_relative(folder).string();
  list.folder = folder;
  return list;
}

}  // namespace harness
