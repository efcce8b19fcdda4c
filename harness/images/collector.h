#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/images/image_list.h"

namespace harness {

/// Takes a place's images in and refuses two of one sample.
class ImageCollector {
 public:
  explicit ImageCollector(const ImagePlace& place) : place_(place) {}

  /// `sample`: nothing where its place among the images of its prompt says it. Throws Error (at `where`).
  void add(int position, std::optional<long long> sample, const std::string& name, const std::string& where);

  /// Samples count from 0: where the place's do not, the smallest becomes 0 and a note says so. Throws Error
  /// where there is no image.
  ImageList finish(std::filesystem::path folder, std::string layout) &&;

  /// What has an ending of a picture and is none of those that are read. Throws Error if there was one.
  static bool is_image(const std::filesystem::path& file);
  void pass_over(const std::filesystem::path& file);

 private:
  int first_sample() const;

  const ImagePlace& place_;
  std::map<std::pair<int, int>, std::string> found_;
  std::map<int, int> next_;  ///< by prompt
  int of_other_forms_ = 0;
  std::string other_form_;
};

}  // namespace harness
