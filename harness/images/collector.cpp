#include "harness/images/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <iterator>
#include <locale>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 3> kRead = {".png", ".jpg", ".jpeg"};
constexpr std::array<std::string_view, 8> kOtherForms = {".webp", ".gif",  ".bmp",  ".tif",
                                                         ".tiff", ".avif", ".heic", ".jxl"};
constexpr std::uint64_t kMostSamples = 10'000;

bool ends_with_one_of(const fs::path& file, const auto& endings) {
  const auto ending = boost::algorithm::to_lower_copy(file.extension().string(), std::locale::classic());
  return std::ranges::count(endings, ending) > 0;
}

/// Whether numbers count the samples of prompts; others are seeds: they begin far from 0, or have wide gaps.
bool count_samples(const std::set<std::uint64_t>& numbers) {
  return *numbers.begin() <= 1 && *numbers.rbegin() < kMostSamples &&
         *numbers.rbegin() <= 4 * (numbers.size() + 1);
}

/// "1000, 1007, 1014 and 1 more"
std::string beginning_of(const std::set<std::uint64_t>& numbers) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const auto number : numbers) {
    if (shown.size() < kShown) shown.push_back(std::to_string(number));
  }
  const auto more = numbers.size() - shown.size();
  return join(shown, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

bool ImageCollector::is_image(const fs::path& file) {
  return ends_with_one_of(file, kRead);
}

void ImageCollector::pass_over(const fs::path& file) {
  if (!ends_with_one_of(file, kOtherForms)) return;
  if (of_other_forms_++ == 0) other_form_ = file.filename().string();
}

ImageList ImageCollector::finish(fs::path folder, std::string layout) && {
  if (of_other_forms_ > 0) {
    throw Error(fmt::format("{} of a form that is not read, such as {}", counted(of_other_forms_, "file"),
                            other_form_),
                place_.where, "convert them to PNG");
  }
  if (claims_.empty())
    throw Error(fmt::format("holds no PNG or JPEG image: {}", folder.string()), place_.where);
  require_known_beginning();
  ImageList list{.folder = std::move(folder), .layout = std::move(layout), .images = {}, .notes = {}};
  const auto samples = numbers(list);
  std::map<std::pair<int, int>, const ImageClaim*> known;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const auto& claim = claims_[i];
    const auto [other, is_new] = known.emplace(std::pair(claim.position, samples[i]), &claim);
    if (is_new) continue;
    const auto number = claim.sample ? fmt::format(" for sample {}", *claim.sample)
                        : claim.seed ? fmt::format(" of seed {}", *claim.seed)
                                     : std::string();
    throw Error(fmt::format("prompt {} has two images{}: {} and {}", claim.position + prompts_.first_index(),
                            number, other->second->name, claim.name),
                claim.where, "leave one of them out, or number the samples");
  }
  std::set<std::pair<int, std::uint64_t>> seeds;
  bool are_seeds = true;  // not where one seed is that of several images
  for (const auto& claim : claims_) {
    if (claim.seed) are_seeds = are_seeds && seeds.emplace(claim.position, *claim.seed).second;
  }
  for (const auto& [key, claim] : known)
    list.images.push_back({{key.first, key.second, claim->name},
                           are_seeds ? claim->seed : std::nullopt,
                           claim->has_number ? claim->sample : std::nullopt});
  return list;
}

/// Throws Error where prompts are known by numbers alone, which may count from 0 or from 1.
void ImageCollector::require_known_beginning() const {
  if (place_.first_index || prompts_.size() < 2) return;
  if (!std::ranges::all_of(claims_, &ImageClaim::by_number)) return;
  const auto has = [&](int position) {
    return std::ranges::find(claims_, position, &ImageClaim::position) != claims_.end();
  };
  if (has(0) || !has(1)) return;
  const auto& second = *std::ranges::find(claims_, 1, &ImageClaim::position);
  throw Error(fmt::format("no image has the number 0, and not all {} prompts have images: counted from 0, {} "
                          "is of {}; counted from 1, of {}",
                          prompts_.size(), second.name, in_quotes(prompts_.text_of(1)),
                          in_quotes(prompts_.text_of(0))),
              second.where,
              "--index-from 0 or --index-from 1 says which; or give a manifest.csv with the columns file and "
              "prompt");
}

/// Whether the images have such a number. Throws Error where only some have it.
bool ImageCollector::all_have(Number number, const char* name) const {
  const auto has = [&](const ImageClaim& claim) { return (claim.*number).has_value(); };
  const auto without = std::ranges::find_if_not(claims_, has);
  if (without == claims_.end()) return true;
  if (std::ranges::none_of(claims_, has)) return false;
  throw Error(fmt::format("{} has no \"{}\", and other images have one", without->name, name), without->where,
              "number all images, or none");
}

std::vector<int> ImageCollector::numbers(ImageList& list) {
  if (all_have(&ImageClaim::sample, "sample")) {
    std::set<std::uint64_t> named;
    for (const auto& claim : claims_) named.insert(*claim.sample);
    if (count_samples(named)) return samples_as_named(list);
    for (auto& claim : claims_) claim.seed = claim.sample;
    return ranks(&ImageClaim::sample, &list);
  }
  if (all_have(&ImageClaim::seed, "seed")) return ranks(&ImageClaim::seed, &list);
  const auto has_order = [](const ImageClaim& claim) { return claim.order.has_value(); };
  return std::ranges::all_of(claims_, has_order) ? ranks(&ImageClaim::order, nullptr) : in_order(list);
}

/// Samples count from 0: where the place's do not, the smallest becomes 0, with a note.
std::vector<int> ImageCollector::samples_as_named(ImageList& list) const {
  const auto first = *std::ranges::min_element(claims_, {}, &ImageClaim::sample)->sample;
  if (first > 0)
    list.notes.push_back(fmt::format("sample {} is the first there and counts as sample 0", first));
  if (std::ranges::any_of(claims_, [&](const auto& of) { return of.has_number && of.sample == first; }))
    list.first_number = first;
  std::vector<int> samples;
  for (const auto& claim : claims_) samples.push_back(static_cast<int>(*claim.sample - first));
  return samples;
}

/// Places among the numbers of all images, or among those of the same prompt where each prompt has its own.
std::vector<int> ImageCollector::ranks(Number number, ImageList* list) const {
  std::set<std::uint64_t> all;
  std::map<int, std::set<std::uint64_t>> of_prompt;
  for (const auto& claim : claims_) {
    all.insert(*(claim.*number));
    of_prompt[claim.position].insert(*(claim.*number));
  }
  std::size_t most = 0, sum = 0;
  for (const auto& [_, own] : of_prompt) {
    most = std::max(most, own.size());
    sum += own.size();
  }
  const bool have_own = list == nullptr || all.size() == sum || all.size() > 2 * most;
  if (list != nullptr)
    list->notes.push_back(fmt::format("samples are {} seeds, counted upwards ({})",
                                      have_own ? "each prompt's" : "the", beginning_of(all)));
  std::vector<int> samples;
  for (const auto& claim : claims_) {
    const auto& numbers = have_own ? of_prompt.at(claim.position) : all;
    samples.push_back(static_cast<int>(std::distance(numbers.begin(), numbers.find(*(claim.*number)))));
  }
  return samples;
}

std::vector<int> ImageCollector::in_order(ImageList& list) const {
  std::map<int, int> next;
  std::vector<int> samples;
  for (const auto& claim : claims_) samples.push_back(next[claim.position]++);
  if (std::ranges::any_of(samples, [](int sample) { return sample > 0; }))
    list.notes.push_back("the images of a prompt are numbered in the order in which they are listed");
  return samples;
}

}  // namespace harness
