#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/images/image_list.h"
#include "harness/images/prompt_finder.h"

namespace harness {

/// What an image's name, or its line of a manifest, states.
struct ImageClaim {
  int position = 0;
  std::string name, where;  ///< where: of messages
  std::optional<std::uint64_t> sample = {}, seed = {};
  std::optional<std::uint64_t> order = {};  ///< among the images of its prompt, where nothing else gives it
  bool by_number = false;                   ///< its prompt is known by a number and nothing else
  bool has_number = true;                   ///< the sample is written there
};

/// Takes a place's images in and refuses two of one sample.
class ImageCollector {
 public:
  ImageCollector(const ImagePlace& place, const PromptFinder& prompts) : place_(place), prompts_(prompts) {}

  void add(ImageClaim claim) { claims_.push_back(std::move(claim)); }

  /// Gives each image its sample: as it was named, where that counts from 0 or 1; else its place among the
  /// seeds, which count upwards, with notes. Throws Error where there is no image, two are one sample of a
  /// prompt, only some have a number, or the prompts' numbers may count from 0 or from 1.
  ImageList finish(std::filesystem::path folder, std::string layout) &&;

  /// What has an ending of a picture and is none of those that are read. Throws Error if there was one.
  static bool is_image(const std::filesystem::path& file);
  void pass_over(const std::filesystem::path& file);

 private:
  using Number = std::optional<std::uint64_t> ImageClaim::*;

  void require_known_beginning() const;
  bool all_have(Number number, const char* name) const;
  std::vector<int> numbers(ImageList& list);
  std::vector<int> samples_as_named(ImageList& list) const;
  std::vector<int> ranks(Number number, ImageList* list) const;
  std::vector<int> in_order(ImageList& list) const;

  const ImagePlace& place_;
  const PromptFinder& prompts_;
  std::vector<ImageClaim> claims_;
  int of_other_forms_ = 0;
  std::string other_form_;
};

}  // namespace harness
