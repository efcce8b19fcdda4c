#include "results/report/text_diff.h"

#include <algorithm>

#include "core/text.h"

namespace harness {
namespace {

/// Distances between all beginnings, [text + 1][target + 1] row by row.
class Alignment {
 public:
  Alignment(std::u32string_view text, std::u32string_view target)
      : text_(text), target_(target), width_(target.size() + 1), cells_((text.size() + 1) * width_) {
    for (std::size_t i = 0; i <= text.size(); ++i) {
      for (std::size_t j = 0; j < width_; ++j) cells_[i * width_ + j] = cell(i, j);
    }
  }

  std::size_t at(std::size_t i, std::size_t j) const { return cells_[i * width_ + j]; }
  bool same(std::size_t i, std::size_t j) const { return text_[i - 1] == target_[j - 1]; }

 private:
  std::size_t cell(std::size_t i, std::size_t j) const {
    if (i == 0 || j == 0) return i + j;
    const std::size_t change = at(i - 1, j - 1) + (same(i, j) ? 0 : 1);
    return std::min({change, at(i - 1, j) + 1, at(i, j - 1) + 1});
  }

  std::u32string_view text_, target_;
  std::size_t width_;
  std::vector<std::size_t> cells_;
};

struct Step {
  DiffKind kind;
  char32_t character;
};

std::u32string without_blanks(std::u32string_view text) {
  std::u32string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char32_t c) { return c != U' '; });
  return out;
}

/// The steps from the end to the beginning; where several are best: replace, then drop, then insert.
std::vector<Step> backwards_steps(std::u32string_view text, std::u32string_view target) {
  const auto lower_text = to_lower(text), lower_target = to_lower(target);
  const Alignment alignment(lower_text, lower_target);
  std::vector<Step> steps;
  std::size_t i = text.size(), j = target.size();
  while (i > 0 || j > 0) {
    const auto here = alignment.at(i, j);
    if (i > 0 && j > 0 && here == alignment.at(i - 1, j - 1) + (alignment.same(i, j) ? 0 : 1)) {
      steps.push_back({alignment.same(i, j) ? DiffKind::kSame : DiffKind::kWrong, text[i - 1]});
      --i, --j;
    } else if (i > 0 && here == alignment.at(i - 1, j) + 1) {
      steps.push_back({DiffKind::kWrong, text[--i]});
    } else {
      steps.push_back({DiffKind::kMissing, target[--j]});
    }
  }
  return steps;
}

void append(std::vector<DiffRun>& runs, DiffKind kind, char32_t character) {
  if (runs.empty() || runs.back().kind != kind) runs.push_back({kind, {}});
  runs.back().text += utf32_to_utf8(std::u32string(1, character));
}

}  // namespace

std::vector<DiffRun> text_diff(std::string_view text, std::string_view target) {
  const auto shown = utf8_to_utf32(text);
  const auto steps = backwards_steps(without_blanks(shown), without_blanks(utf8_to_utf32(target)));
  std::vector<DiffRun> runs;
  std::size_t next = 0;
  const auto add_blanks = [&] {
    for (; next < shown.size() && shown[next] == U' '; ++next) {
      append(runs,
             runs.empty() || runs.back().kind == DiffKind::kMissing ? DiffKind::kSame : runs.back().kind,
             U' ');
    }
  };
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind != DiffKind::kMissing) {
      add_blanks();
      ++next;
    }
    append(runs, step->kind, step->character);
  }
  add_blanks();
  return runs;
}

}  // namespace harness
