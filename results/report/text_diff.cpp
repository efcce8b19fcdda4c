#include "results/report/text_diff.h"

#include <algorithm>

#include "core/text.h"
#include "core/unicode/normal_form.h"

namespace harness {
namespace {

/// Distances between all beginnings, [text + 1][target + 1].
std::vector<std::vector<std::size_t>> distances(std::u32string_view text, std::u32string_view target) {
  std::vector<std::vector<std::size_t>> d(text.size() + 1, std::vector<std::size_t>(target.size() + 1));
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (std::size_t j = 0; j <= target.size(); ++j) {
      d[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      const std::size_t change = d[i - 1][j - 1] + (text[i - 1] == target[j - 1] ? 0 : 1);
      d[i][j] = std::min({change, d[i - 1][j] + 1, d[i][j - 1] + 1});
    }
  }
  return d;
}

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
  const auto d = distances(lower_text, lower_target);
  std::vector<Step> steps;
  std::size_t i = text.size(), j = target.size();
  while (i > 0 || j > 0) {
    const bool same = i > 0 && j > 0 && lower_text[i - 1] == lower_target[j - 1];
    if (i > 0 && j > 0 && d[i][j] == d[i - 1][j - 1] + (same ? 0 : 1)) {
      steps.push_back({same ? DiffKind::kSame : DiffKind::kWrong, text[i - 1]});
      --i, --j;
    } else if (i > 0 && d[i][j] == d[i - 1][j] + 1) {
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
  const auto shown = utf8_to_utf32(to_nfc(text));
  const auto steps = backwards_steps(without_blanks(shown), without_blanks(utf8_to_utf32(to_nfc(target))));
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
