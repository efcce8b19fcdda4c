#include "datasets/prompt_generator.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "core/text.h"
#include "datasets/prompt_set.h"
#include "datasets/python_random.h"

namespace harness {
namespace {

constexpr int kColumns = 12, kRows = 3;  // the text grid of the embedded model's images
constexpr std::size_t kShortestTarget = 2, kLongestTarget = 29;
constexpr std::size_t kShortestPrompt = 110, kLongestPrompt = 320;
constexpr std::size_t kEvaluationPrompts = 1018, kTrainingPrompts = 2048;
constexpr std::int64_t kDigitsKept =
    35;  // percent of the drawn targets with digits: patterns hold more of them than real signs do
constexpr int kMostTries = 100000;
constexpr std::int64_t kEvaluationSeed = 1018, kTrainingSeed = 2048;

const char* pick(std::span<const char* const> choices, PythonRandom& random) {
  return choices[static_cast<std::size_t>(random.randrange(static_cast<std::int64_t>(choices.size())))];
}

/// Writes one text that a pattern stands for, drawing every choice from `random` from left to right.
class Expansion {
 public:
  Expansion(std::string_view target, PythonRandom& random) : target_(target), random_(random) {}

  std::string of(std::string_view pattern) {
    std::string out;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '{') {
        const std::size_t end = closing_brace(pattern, i);
        out += of(choice(pattern.substr(i + 1, end - i - 1)));
        i = end;
      } else if (pattern[i] == '<') {
        const std::size_t end = pattern.find('>', i);
        out += named(pattern.substr(i + 1, end - i - 1));
        i = end;
      } else {
        out += pattern[i];
      }
    }
    return out;
  }

 private:
  static std::size_t closing_brace(std::string_view pattern, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < pattern.size(); ++i) {
      if (pattern[i] == '{') ++depth;
      if (pattern[i] == '}' && --depth == 0) return i;
    }
    throw std::logic_error(fmt::format("unbalanced braces in \"{}\"", pattern));
  }

  /// One part of "a|b|c", split at the outer bars only.
  std::string_view choice(std::string_view parts) {
    std::vector<std::string_view> found;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= parts.size(); ++i) {
      if (i == parts.size() || (parts[i] == '|' && depth == 0)) {
        found.push_back(parts.substr(begin, i - begin));
        begin = i + 1;
      } else if (parts[i] == '{') {
        ++depth;
      } else if (parts[i] == '}') {
        --depth;
      }
    }
    return found[static_cast<std::size_t>(random_.randrange(static_cast<std::int64_t>(found.size())))];
  }

  std::string named(std::string_view name) {
    if (name == "T") return std::string(target_);
    if (name == "digit") return std::to_string(random_.randrange(10));
    if (name == "nonzero") return std::to_string(1 + random_.randrange(9));
    const char* pattern = shared_pattern(name);
    if (pattern == nullptr) throw std::logic_error(fmt::format("no word list \"{}\"", name));
    return of(pattern);
  }

  std::string_view target_;
  PythonRandom& random_;
};

/// A few targets are all lower or all upper case, as in hand-written prompts.
std::string with_case(std::string target, PythonRandom& random) {
  const auto draw = random.randrange(100);
  if (draw >= 5) return target;
  for (char& c : target) {
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    if (draw < 3 && upper) c = static_cast<char>(c - 'A' + 'a');
    if (draw >= 3 && lower) c = static_cast<char>(c - 'a' + 'A');
  }
  return target;
}

/// "a" becomes "an" before a vowel, outside the quoted target.
std::string with_articles(const std::string& text) {
  constexpr std::string_view kVowels = "aeiou";
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"') quoted = !quoted;
    const bool article = !quoted && (text[i] == 'a' || text[i] == 'A') && (i == 0 || text[i - 1] == ' ') &&
                         i + 2 < text.size() && text[i + 1] == ' ';
    if (!article) continue;
    const std::string_view next = std::string_view(text).substr(i + 2);
    const bool vowel = kVowels.find(next[0]) != std::string_view::npos;
    if (vowel && !next.starts_with("one") && !next.starts_with("uni")) out += 'n';
  }
  return out;
}

bool has_digit(std::string_view text) {
  return text.find_first_of("0123456789") != std::string_view::npos;
}

/// One candidate of a scene: its target and the prompt around it, either of which may turn out not to fit.
struct Candidate {
  std::string target, text;
};

Candidate draw(const Scene& scene, PythonRandom& random) {
  // Empty choices leave blanks behind.
  const std::string phrase = squeeze_white_space(Expansion({}, random).of(pick(scene.targets, random)));
  const std::string target = with_case(phrase, random);
  return {target, with_articles(Expansion(target, random).of(pick(scene.prompts, random)))};
}

bool fits(const Candidate& candidate) {
  const auto within = [](std::size_t size, std::size_t low, std::size_t high) {
    return size >= low && size <= high;
  };
  return within(candidate.target.size(), kShortestTarget, kLongestTarget) &&
         within(candidate.text.size(), kShortestPrompt, kLongestPrompt) &&
         fits_grid(candidate.target, kColumns, kRows);
}

/// Draws prompts until `count` fit; scenes come in shuffled rounds, so that each is equally frequent. `used`
/// holds the keys of targets that may not come again, and grows. Different targets make different texts.
std::vector<std::string> generate(std::size_t count, std::int64_t seed, std::set<std::string>& used) {
  PythonRandom random(seed);
  std::vector<const Scene*> round;
  std::vector<std::string> prompts;
  int tries = 0;
  while (prompts.size() < count) {
    if (round.empty()) {
      for (const Scene& scene : prompt_scenes()) round.push_back(&scene);
      random.shuffle(round);
    }
    const Candidate candidate = draw(*round.back(), random);
    const bool unwanted = has_digit(candidate.target) && random.randrange(100) >= kDigitsKept;
    if (++tries > kMostTries) throw std::logic_error(fmt::format("scene {} has run dry", round.back()->name));
    // Not taken: the same scene tries again.
    if (unwanted || !fits(candidate) || !used.insert(target_key(candidate.target)).second) continue;
    prompts.push_back(candidate.text);
    round.pop_back();
    tries = 0;
  }
  return prompts;
}

}  // namespace

bool fits_grid(std::string_view text, int columns, int rows) {
  const auto width = static_cast<std::size_t>(columns);
  std::size_t line = 0;
  int lines = 1;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word.size() > width) return false;
    if (line != 0 && line + 1 + word.size() > width) {
      ++lines;
      line = 0;
    }
    line += word.size() + (line == 0 ? 0 : 1);
  }
  return lines <= rows;
}

std::vector<std::string> generate_evaluation_prompts() {
  std::set<std::string> used;
  return generate(kEvaluationPrompts, kEvaluationSeed, used);
}

std::vector<std::string> generate_training_prompts() {
  std::set<std::string> used;
  generate(kEvaluationPrompts, kEvaluationSeed, used);
  return generate(kTrainingPrompts, kTrainingSeed, used);
}

}  // namespace harness
