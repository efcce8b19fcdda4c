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

namespace {

struct Known {
  const ImageList* list;
  const FoundImage* image;

  std::string text() const { return fmt::format("{} ({})", list->folder.string(), image->name); }
};

/// Throws Error where the numbers of two lists may be read in two ways. Seeds say it where both have them.
void require_same_numbers(std::span<const ImageList> lists) {
  constexpr const char* kHint =
      "number the samples of all rows from the same number on; where a row lacks the first sample, leave it out "
      "of the others";
  std::map<std::pair<int, std::uint64_t>, Known> known;
  std::optional<Known> first;
  for (const auto& list : lists) {
    const auto begins = std::ranges::find(list.images, list.first_number, &FoundImage::number);
    if (list.first_number && begins != list.images.end()) {
      const Known here{&list, &*begins};
      if (!first) first = here;
      const auto &number = list.first_number, &other = first->list->first_number;
      if (number != other && !(begins->seed && first->image->seed))
        throw Error(
            fmt::format("samples begin at {} in {} and at {} in {}: {} may be the first sample, as {} is, or "
                        "sample {} where the first is missing",
                        *other, first->text(), *number, here.text(),
                        number > other ? here.text() : first->text(),
                        number > other ? first->text() : here.text(), std::max(*number, *other)),
            "harness score", kHint);
    }
    for (const auto& image : list.images) {
      if (!image.number) continue;
      const Known here{&list, &image};
      const auto [at, is_new] = known.emplace(std::pair(image.position, *image.number), here);
      const auto& other = at->second;
      if (is_new || other.image->sample == image.sample || (image.seed && other.image->seed)) continue;
      throw Error(
          fmt::format("number {} of a prompt is sample {} in {} and sample {} in {}, as each counts its "
                      "own numbers",
                      *image.number, other.image->sample, other.text(), image.sample, here.text()),
          "harness score", kHint);
    }
  }
}

}  // namespace

std::optional<std::string> require_same_seeds(std::span<const ImageList> lists) {
  std::map<std::pair<int, std::uint64_t>, Known> known;
  const ImageList* first = nullptr;
  std::optional<std::string> note;
  for (const auto& list : lists) {
    bool has_seeds = false, shares_one = false;
    for (const auto& image : list.images) {
      if (!image.seed) continue;
      has_seeds = true;
      const auto [at, is_new] = known.emplace(std::pair(image.position, *image.seed), Known{&list, &image});
      if (is_new) continue;
      shares_one = true;
      const auto& other = at->second;
      if (other.image->sample == image.sample) continue;
      const auto is_numbered = [](const FoundImage& of) { return of.number && of.number != of.seed; };
      throw Error(
          fmt::format("seed {} of a prompt is sample {} in {} and sample {} in {}", *image.seed,
                      other.image->sample, other.text(), image.sample, Known{&list, &image}.text()),
          "harness score",
          is_numbered(image) || is_numbered(*other.image)
              ? "give a seed the same number in every manifest, or leave the samples' numbers out of all"
              : "give each system the same seeds for a prompt, or number its images in a manifest's "
                "column \"sample\"");
    }
    if (first == nullptr && has_seeds) first = &list;
    if (has_seeds && &list != first && !shares_one && !note)
      note = fmt::format("No prompt has a seed that {} and {} share: their images are paired by order alone.",
                         first->folder.filename().string(), list.folder.filename().string());
  }
  require_same_numbers(lists);
  return note;
}

}  // namespace harness
