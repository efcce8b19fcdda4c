#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

// What the embedded model shapes-flux reads of a prompt: words of a closed vocabulary, those of the grammar
// of datasets/geneval_generator.h. It reads the prompt alone, never a target.
inline constexpr std::size_t kShapesPlaces = 16;

/// All words in the order of their ids from 1 on; 0 means no word.
const std::vector<std::string>& shapes_vocabulary_words();

/// Of what a prompt begins with: photo, picture, drawing or image, or none of them; 0 means no prompt.
inline constexpr std::int64_t kShapesStyles = 6;

struct ShapesText {
  std::vector<std::int64_t> ids;  ///< kShapesPlaces, filled up with 0
  std::int64_t style = 0;         ///< 1 and more
  std::vector<std::string> kept;
  std::vector<std::string> unknown;  ///< that are left out, each once
  std::size_t cut = 0;               ///< known words beyond kShapesPlaces
};

/// The words of a prompt in lower case, without the punctuation around them.
ShapesText shapes_text(std::string_view prompt);

}  // namespace harness
