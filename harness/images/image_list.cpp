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

constexpr const char* kWhere = "harness score";
constexpr const char* kNumberAlike =
    "number the samples of all rows from the same number on; where a row lacks the first sample, leave it out of "
    "the others";

/// An image of a list.
struct Known {
  const ImageList* list;
  const FoundImage* image;

  std::string text() const { return fmt::format("{} ({})", list->folder.string(), image->name); }
};
using ByNumber = std::map<std::pair<int, std::uint64_t>, Known>;

/// The one that has this number of the prompt already; nothing where it is the first.
const Known* other_of(ByNumber& known, const Known& here, std::optional<std::uint64_t> number) {
  if (!number) return nullptr;
  const auto [at, is_new] = known.emplace(std::pair(here.image->position, *number), here);
  return is_new ? nullptr : &at->second;
}

void require_same_sample_of_seed(const Known& other, const Known& here) {
  if (other.image->sample == here.image->sample) return;
  const auto is_numbered = [](const Known& of) {
    return of.image->number && of.image->number != of.image->seed;
  };
  throw Error(
      fmt::format("seed {} of a prompt is sample {} in {} and sample {} in {}", *here.image->seed,
                  other.image->sample, other.text(), here.image->sample, here.text()),
      kWhere,
      is_numbered(other) || is_numbered(here)
          ? "give a seed the same number in every manifest, or leave the samples' numbers out of all"
          : "give each system the same seeds for a prompt, or number its images in a manifest's column "
            "\"sample\"");
}

/// Seeds say it where both have them.
void require_same_sample_of_number(const Known& other, const Known& here) {
  if (other.image->sample == here.image->sample || (other.image->seed && here.image->seed)) return;
  throw Error(
      fmt::format(
          "number {} of a prompt is sample {} in {} and sample {} in {}, as each counts its own numbers",
          *here.image->number, other.image->sample, other.text(), here.image->sample, here.text()),
      kWhere, kNumberAlike);
}

void require_same_beginning(const Known& first, const Known& here) {
  const auto number = *here.list->first_number, other = *first.list->first_number;
  if (number == other || (first.image->seed && here.image->seed)) return;
  const auto &lower = number < other ? here : first, &higher = number < other ? first : here;
  throw Error(
      fmt::format("samples begin at {} in {} and at {} in {}: {} may be the first sample, as {} is, or "
                  "sample {} where the first is missing",
                  other, first.text(), number, here.text(), higher.text(), lower.text(),
                  std::max(number, other)),
      kWhere, kNumberAlike);
}

}  // namespace

std::optional<std::string> require_same_seeds(std::span<const ImageList> lists) {
  ByNumber seeds, numbers;
  std::optional<Known> first_counted;
  const ImageList* first = nullptr;
  std::optional<std::string> note;
  for (const auto& list : lists) {
    if (list.first_number) {
      const Known here{&list, &*std::ranges::find(list.images, list.first_number, &FoundImage::number)};
      if (first_counted) require_same_beginning(*first_counted, here);
      if (!first_counted) first_counted = here;
    }
    bool has_numbers = false, shares_one = false;
    for (const auto& image : list.images) {
      const Known here{&list, &image};
      const auto* of_seed = other_of(seeds, here, image.seed);
      const auto* of_number = other_of(numbers, here, image.number);
      if (of_seed != nullptr) require_same_sample_of_seed(*of_seed, here);
      if (of_number != nullptr) require_same_sample_of_number(*of_number, here);
      has_numbers = has_numbers || image.seed || image.number;
      const bool is_same_number = of_number != nullptr && !(image.seed && of_number->image->seed);
      shares_one = shares_one || of_seed != nullptr || is_same_number;
    }
    if (first == nullptr && has_numbers) first = &list;
    if (has_numbers && &list != first && !shares_one && !note)
      note = fmt::format("No prompt has a seed that {} and {} share: their images are paired by order alone.",
                         first->folder.filename().string(), list.folder.filename().string());
  }
  return note;
}

}  // namespace harness
