#include "evaluators/text_metrics.h"

#include <algorithm>

#include "core/text.h"
#include "evaluators/lower_case.h"

namespace harness {

std::u32string normalised_text(std::string_view text) {
  std::u32string kept = utf8_to_utf32(text);
  std::erase(kept, U' ');
  return python_lower(kept);
}

TextMetrics text_metrics(std::string_view transcript, std::string_view target) {
  const std::u32string p = normalised_text(transcript), t = normalised_text(target);
  const std::size_t distance = levenshtein(p, t);
  const bool inside = p.find(t) != std::u32string::npos;
  const std::size_t charged = inside ? 0 : std::min(distance, t.size());
  const double length = static_cast<double>(std::max<std::size_t>(t.size(), 1));
  const double reward = 1 - static_cast<double>(charged) / length;
  return {.reward = reward,
          .cer_paper = 1 - reward,
          .cer = static_cast<double>(distance) / length,
          .exact_match = p == t,
          .substring_match = inside,
          .distance = distance,
          .target_length = t.size()};
}

}  // namespace harness
