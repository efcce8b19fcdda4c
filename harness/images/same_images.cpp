#include "harness/images/same_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>

#include "core/error.h"
#include "core/files.h"
#include "core/paths/shown_path.h"
#include "core/processes/worker_pool.h"
#include "core/sha256.h"
#include "core/text.h"
#include "evaluators/given/given_image.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kFewImages = 32,
                      kManyImages = 512;  // that tell whether two sets share some, and how many
constexpr std::size_t kMostOfAPrompt = 16;

/// An image of a set.
struct Place {
  const ImageSet* set;
  const SummedImage* image;
};

/// What an image shows, as far as two of them are compared.
struct Picture {
  std::string sum;            ///< size and SHA-256 of the pixels; of a file that cannot be read, of its bytes
  std::vector<double> areas;  ///< mean brightness of 8 x 8 areas, 0 to 255; empty: cannot be read

  /// A copy that was compressed, resized or retouched: no area's brightness differs by more than 2 of 255.
  /// Two images that a model draws from other noise, or after another training, differ by far more in some.
  bool is_near(const Picture& other) const {
    if (sum == other.sum) return true;
    return !areas.empty() &&
           std::ranges::equal(areas, other.areas, [](double a, double b) { return std::abs(a - b) <= 2; });
  }
};

std::vector<double> brightness_of_areas(const Image& image) {
  constexpr int kAcross = 8;
  if (image.width < kAcross || image.height < kAcross) return {};
  std::vector<double> sums(kAcross * kAcross);
  std::vector<int> counts(sums.size());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const auto area =
          static_cast<std::size_t>(y * kAcross / image.height * kAcross + x * kAcross / image.width);
      const auto* rgb = &image.rgb[3 * (static_cast<std::size_t>(y) * image.width + x)];
      sums[area] += (rgb[0] + rgb[1] + rgb[2]) / 3.0;
      ++counts[area];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return sums;
}

/// What the pixels of files are, as far as anybody asked.
class Pixels {
 public:
  Pixels() : pool_(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U))) {}

  void read(const std::vector<Place>& places) {
    std::map<std::string, Place> unknown;
    for (const auto& place : places) {
      if (!pictures_.contains(place.image->sha256)) unknown.emplace(place.image->sha256, place);
    }
    const std::vector<std::pair<std::string, Place>> wanted(unknown.begin(), unknown.end());
    std::vector<Picture> pictures(wanted.size());
    pool_.run(wanted.size(), [&](std::size_t i) { pictures[i] = picture_of(wanted[i].second); });
    for (std::size_t i = 0; i < wanted.size(); ++i) pictures_[wanted[i].first] = std::move(pictures[i]);
  }

  const Picture& of(const SummedImage& image) const { return pictures_.at(image.sha256); }

 private:
  static Picture picture_of(const Place& place) {
    const auto file = place.set->folder / place.image->name;
    try {
      const auto image = decode_given_image(read_file(file), file.string()).image;
      const std::string_view bytes(reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size());
      return {fmt::format("{} x {} {}", image.width, image.height, sha256_hex(bytes)),
              brightness_of_areas(image)};
    } catch (const Error&) {
      return {place.image->sha256, {}};
    }
  }

  WorkerPool pool_;
  std::map<std::string, Picture> pictures_;  ///< by the SHA-256 of the file
};

/// The first images of each prompt.
using ByPrompt = std::map<int, std::vector<Place>>;

ByPrompt by_prompt(const ImageSet& set) {
  ByPrompt places;
  for (const auto& image : *set.images) {
    auto& own = places[image.position];
    if (own.size() < kMostOfAPrompt) own.push_back({&set, &image});
  }
  return places;
}

struct Shared {
  std::size_t equal = 0, compared = 0;
  std::size_t near = 0;       ///< equal ones among them
  std::size_t of_larger = 0;  ///< images of these prompts, in the set that has more of each
  bool all() const { return compared > 0 && equal == of_larger; }
  bool most() const { return equal > 0 && 2 * equal >= compared; }
  bool are_copies() const { return compared > 0 && 10 * near >= 9 * compared; }
};

/// Prompts are taken in an order that has nothing to do with theirs, the same one for every pair of sets.
std::uint32_t place_in_order(int position) {
  return (static_cast<std::uint32_t>(position) + 1) * 2654435761U;  // Knuth's multiplicative hash
}

/// How many of one prompt's images are also among the other's, each taken once.
std::size_t matched(const std::vector<Place>& a, const std::vector<Place>& b, const Pixels& pixels,
                    bool (*same)(const Picture&, const Picture&)) {
  auto rest = a;
  for (const auto& place : b) {
    const auto found = std::ranges::find_if(
        rest, [&](const Place& other) { return same(pixels.of(*place.image), pixels.of(*other.image)); });
    if (found != rest.end()) rest.erase(found);
  }
  return a.size() - rest.size();
}

/// Images of two sets, whatever their samples are, until so many are compared.
Shared shared_images(const ByPrompt& a, const ByPrompt& b, std::size_t images, Pixels& pixels) {
  std::vector<int> common;
  for (const auto& [position, _] : a) {
    if (b.contains(position)) common.push_back(position);
  }
  std::ranges::sort(common, {}, place_in_order);
  Shared shared;
  std::size_t taken = 0;
  std::vector<Place> wanted;
  for (; taken < common.size() && shared.compared < images; ++taken) {
    const auto &of_a = a.at(common[taken]), &of_b = b.at(common[taken]);
    shared.compared += std::min(of_a.size(), of_b.size());
    shared.of_larger += std::max(of_a.size(), of_b.size());
    wanted.insert(wanted.end(), of_a.begin(), of_a.end());
    wanted.insert(wanted.end(), of_b.begin(), of_b.end());
  }
  pixels.read(wanted);
  for (std::size_t i = 0; i < taken; ++i) {
    const auto &of_a = a.at(common[i]), &of_b = b.at(common[i]);
    shared.equal += matched(of_a, of_b, pixels,
                            [](const Picture& one, const Picture& other) { return one.sum == other.sum; });
    shared.near += matched(of_a, of_b, pixels,
                           [](const Picture& one, const Picture& other) { return one.is_near(other); });
  }
  return shared;
}

/// Compares sets whose images were read once.
class ImageComparison {
 public:
  explicit ImageComparison(const std::vector<ImagesOfRun>& runs) {
    for (const auto& run : runs) {
      auto& own = images_.emplace_back();
      for (const auto& set : run.checkpoints) own.push_back(by_prompt(set));
    }
  }

  /// Of checkpoint `s` of run `i` and `t` of `j`, as exactly as it takes to tell most, or all, from fewer.
  Shared shared(std::size_t i, std::size_t s, std::size_t j, std::size_t t, bool in_all) {
    const auto &a = images_[i][s], &b = images_[j][t];
    auto shared = shared_images(a, b, kFewImages, pixels_);
    if (shared.equal > 0 || (!in_all && shared.are_copies()))
      shared = shared_images(a, b, kManyImages, pixels_);
    return in_all && shared.all() ? shared_images(a, b, std::string::npos, pixels_) : shared;
  }

 private:
  Pixels pixels_;
  std::vector<std::vector<ByPrompt>> images_;
};

[[noreturn]] void refuse(const ImagesOfRun& a, const ImageSet& of_a, const ImagesOfRun& b,
                         const ImageSet& of_b, const Shared& shared) {
  const auto how = shared.most()
                       ? fmt::format("{} of {} have the same pixels", shared.equal, shared.compared)
                       : fmt::format("{} of {} differ no more than copies that were compressed or resized",
                                     shared.near, shared.compared);
  throw Error(
      fmt::format("{} and {} are the same images: {}", of_a.folder.string(), of_b.folder.string(), how),
      fmt::format("{} and {}", a.row, b.row), "give the images of each system, and of each run");
}

/// Sentences of one kind, one for each two rows.
class NotesOnRows {
 public:
  void add(const ImagesOfRun& a, const ImagesOfRun& b, std::string part) {
    const auto [at, is_new] = parts_.try_emplace({a.row, b.row});
    if (is_new) order_.push_back(at->first);
    at->second.push_back(std::move(part));
  }

  /// "TEXT: PART, PART and 3 more." The text is made of what the rows are.
  void append_to(std::vector<std::string>& notes, const char* text) const {
    constexpr std::size_t kShown = 3;
    for (const auto& rows : order_) {
      auto parts = parts_.at(rows);
      const auto more = parts.size() > kShown ? parts.size() - kShown : 0;
      parts.resize(parts.size() - more);
      const auto whose =
          rows.first == rows.second ? "runs of " + rows.first : rows.first + " and " + rows.second;
      notes.push_back(fmt::format(fmt::runtime(text), whose) + ": " + join(parts, ", ") +
                      (more > 0 ? fmt::format(" and {} more.", more) : "."));
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> parts_;
  std::vector<std::pair<std::string, std::string>> order_;
};

/// The prompts that a set's files are of, by their checksums.
using PromptsOfFiles = std::unordered_map<std::string, std::set<int>>;

PromptsOfFiles prompts_of_files(const ImageSet& set) {
  PromptsOfFiles prompts;
  for (const auto& image : *set.images) prompts[image.sha256].insert(image.position);
  return prompts;
}

/// One file under most prompts of a set.
void note_one_for_most(const ImagesOfRun& run, const ImageSet& set, const PromptsOfFiles& files,
                       std::vector<std::string>& notes) {
  std::set<int> all;
  for (const auto& image : *set.images) all.insert(image.position);
  for (const auto& image : *set.images) {
    const auto count = files.at(image.sha256).size();
    if (count < 2 || 2 * count <= all.size()) continue;
    notes.push_back(fmt::format("One picture serves {} of {} prompts of {} ({} in {}).", count, all.size(),
                                run.row, image.name, shown_path(set.folder)));
    return;
  }
}

/// Files that are in another set, too, and of other prompts there: as where a folder is moved by one.
void note_other_prompts(const std::vector<ImagesOfRun>& runs, std::vector<std::string>& notes) {
  std::vector<std::vector<PromptsOfFiles>> files;
  for (const auto& run : runs) {
    auto& own = files.emplace_back();
    for (const auto& set : run.checkpoints) {
      own.push_back(prompts_of_files(set));
      note_one_for_most(run, set, own.back(), notes);
    }
  }
  NotesOnRows moved;
  const auto compare = [&](std::size_t i, std::size_t s, std::size_t j, std::size_t t) {
    const auto &a = runs[i].checkpoints[s], &b = runs[j].checkpoints[t];
    std::size_t count = 0;
    const SummedImage* example = nullptr;
    for (const auto& image : *b.images) {
      const auto other = files[i][s].find(image.sha256);
      if (other == files[i][s].end() || other->second.contains(image.position)) continue;
      ++count;
      if (example == nullptr) example = &image;
    }
    if (2 * count <= std::min(a.images->size(), b.images->size())) return;
    const auto same = std::ranges::find(*a.images, example->sha256, &SummedImage::sha256);
    moved.add(runs[i], runs[j],
              fmt::format("{} of {} in {} and {}, such as {} there and {} here", count, b.images->size(),
                          shown_path(a.folder), shown_path(b.folder), same->name, example->name));
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      for (std::size_t s = 0; s < runs[i].checkpoints.size(); ++s) {
        for (std::size_t t = 0; t < runs[j].checkpoints.size(); ++t) compare(i, s, j, t);
      }
    }
  }
  moved.append_to(notes, "Images of {} are the same files under different prompts");
}

}  // namespace

std::vector<std::string> require_different_images(const std::vector<ImagesOfRun>& runs) {
  std::vector<std::string> notes;
  ImageComparison comparison(runs);
  NotesOnRows overlaps;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const auto &a = runs[i].checkpoints, &b = runs[j].checkpoints;
      const bool are_of_one_row = runs[i].row == runs[j].row;
      std::size_t in_all = 0;
      for (std::size_t s = 0; s < a.size(); ++s) {
        for (std::size_t t = 0; t < b.size(); ++t) {
          if (!are_of_one_row && (s != t || a.size() != b.size())) continue;
          const auto shared = comparison.shared(i, s, j, t, !are_of_one_row);
          if (are_of_one_row && (shared.most() || shared.are_copies()))
            refuse(runs[i], a[s], runs[j], b[t], shared);
          if (shared.equal == 0) continue;
          if (!are_of_one_row && shared.all() && ++in_all == a.size())
            refuse(runs[i], a[s], runs[j], b[t], shared);
          overlaps.add(runs[i], runs[j],
                       fmt::format("{} of {} in {} and {}", shared.equal, shared.compared,
                                   shown_path(a[s].folder), shown_path(b[t].folder)));
        }
      }
    }
  }
  overlaps.append_to(notes, "Images of {} have the same pixels");
  note_other_prompts(runs, notes);
  return notes;
}

}  // namespace harness
