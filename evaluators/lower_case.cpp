#include "evaluators/lower_case.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace harness {
namespace {

struct Range {
  char32_t first, last;
};

/// Cased letters outside the categories Lu, Ll and Lt (Other_Lowercase and Other_Uppercase of Unicode's
/// DerivedCoreProperties that are not case-ignorable too).
constexpr std::array kOtherCased{Range{0xaa, 0xaa},      Range{0xba, 0xba},       Range{0x2160, 0x217f},
                                 Range{0x24b6, 0x24e9},  Range{0x1f130, 0x1f149}, Range{0x1f150, 0x1f169},
                                 Range{0x1f170, 0x1f189}};

/// Case-ignorable punctuation: word-break classes MidLetter, MidNumLet and Single_Quote.
constexpr std::u32string_view kIgnorableMarks =
    U"'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a";

bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return kIgnorableMarks.find(c) != std::u32string_view::npos;
  }
}

bool is_cased(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return std::any_of(kOtherCased.begin(), kOtherCased.end(),
                         [c](const Range& range) { return range.first <= c && c <= range.last; });
  }
}

/// True if the first code point of the range that is not case-ignorable is a cased letter.
template <class Iterator>
bool meets_cased(Iterator begin, Iterator end) {
  const auto found = std::find_if_not(begin, end, is_case_ignorable);
  return found != end && is_cased(*found);
}

/// Unicode's Final_Sigma: a cased letter before the sigma at `i`, and none after it.
bool is_final_sigma(std::u32string_view text, std::size_t i) {
  const auto sigma = text.begin() + static_cast<std::ptrdiff_t>(i);
  return meets_cased(std::make_reverse_iterator(sigma), text.rend()) && !meets_cased(sigma + 1, text.end());
}

}  // namespace

std::u32string python_lower(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U'\u0130') {
      out += U"i\u0307";
    } else if (text[i] == U'\u03a3') {
      out += is_final_sigma(text, i) ? U'\u03c2' : U'\u03c3';
    } else {
      out += to_lower(text.substr(i, 1));
    }
  }
  return out;
}

}  // namespace harness
