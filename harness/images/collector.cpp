#include "harness/images/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 3> kRead = {".png", ".jpg", ".jpeg"};
constexpr std::array<std::string_view, 8> kOtherForms = {".webp", ".gif",  ".bmp",  ".tif",
                                                         ".tiff", ".avif", ".heic", ".jxl"};
constexpr int kMostSamples = 10'000;

bool ends_with_one_of(const fs::path& file, const auto& endings) {
  auto ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::count(endings, ending) > 0;
}

}  // namespace

bool ImageCollector::is_image(const fs::path& file) {
  return ends_with_one_of(file, kRead);
}

void ImageCollector::pass_over(const fs::path& file) {
  if (!ends_with_one_of(file, kOtherForms)) return;
  if (of_other_forms_++ == 0) other_form_ = file.filename().string();
}

void ImageCollector::add(int position, std::optional<long long> sample, const std::string& name,
                         const std::string& where) {
  const auto given = sample.value_or(next_[position]);
  if (given < 0 || given >= kMostSamples)
    throw Error(fmt::format("{} is sample {}, and samples are 0 to {}", name, given, kMostSamples - 1),
                where);
  const auto number = static_cast<int>(given);
  next_[position] = std::max(next_[position], number + 1);
  const auto [known, is_new] = found_.emplace(std::pair(position, number), name);
  if (is_new) return;
  throw Error(fmt::format("prompt {} has two images for sample {}: {} and {}", position + place_.first_index,
                          number, known->second, name),
              where, "leave one of them out, or number the samples");
}

ImageList ImageCollector::finish(fs::path folder, std::string layout) && {
  if (of_other_forms_ > 0) {
    throw Error(fmt::format("{} of a form that is not read, such as {}", counted(of_other_forms_, "file"),
                            other_form_),
                place_.where, "convert them to PNG");
  }
  if (found_.empty())
    throw Error(fmt::format("holds no PNG or JPEG image: {}", folder.string()), place_.where);
  ImageList list{.folder = std::move(folder), .layout = std::move(layout), .images = {}, .notes = {}};
  const int first = first_sample();
  for (auto& [key, name] : found_) list.images.push_back({key.first, key.second - first, std::move(name)});
  if (first > 0)
    list.notes.push_back(fmt::format("sample {} is the first there and counts as sample 0", first));
  return list;
}

int ImageCollector::first_sample() const {
  int first = kMostSamples;
  for (const auto& [key, _] : found_) first = std::min(first, key.second);
  return first;
}

}  // namespace harness
