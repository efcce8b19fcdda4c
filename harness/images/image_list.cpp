#include "harness/images/image_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/processes/worker_pool.h"
#include "core/sha256.h"

namespace harness {

int ImageList::samples() const {
  int most = 0;
  for (const auto& image : images) most = std::max(most, image.sample + 1);
  return most;
}

std::vector<SummedImage> summed(const ImageList& list) {
  std::vector<SummedImage> images(list.images.size());
  WorkerPool pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U)));
  pool.run(images.size(), [&](std::size_t i) {
    images[i] = {list.images[i], sha256_file(list.folder / list.images[i].name)};
  });
  return images;
}

std::optional<std::string> require_same_seeds(std::span<const ImageList> lists) {
  struct Known {
    int sample;
    const ImageList* list;
    const std::string* name;
  };
  std::map<std::pair<int, std::uint64_t>, Known> known;
  const ImageList* first = nullptr;
  std::optional<std::string> note;
  for (const auto& list : lists) {
    bool has_seeds = false, shares_one = false;
    for (const auto& image : list.images) {
      if (!image.seed) continue;
      has_seeds = true;
      const auto [at, is_new] =
          known.emplace(std::pair(image.position, *image.seed), Known{image.sample, &list, &image.name});
      if (is_new) continue;
      shares_one = true;
      const auto& other = at->second;
      if (other.sample == image.sample) continue;
      throw Error(fmt::format("seed {} of a prompt is sample {} in {} ({}) and sample {} in {} ({})",
                              *image.seed, other.sample, other.list->folder.string(), *other.name,
                              image.sample, list.folder.string(), image.name),
                  "harness score",
                  "give each system the same seeds for a prompt, or number its images in a manifest's column "
                  "\"sample\"");
    }
    if (first == nullptr && has_seeds) first = &list;
    if (has_seeds && &list != first && !shares_one && !note)
      note = fmt::format("No prompt has a seed that {} and {} share: their images are paired by order alone.",
                         first->folder.filename().string(), list.folder.filename().string());
  }
  return note;
}

}  // namespace harness
