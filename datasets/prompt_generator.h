#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A kind of scene: sentences that hold the target as `"<T>"`, and the phrases that fit there. Both are
/// patterns:
/// `{a|b|c}` is one of its parts (they may nest, and one may be empty), `<name>` an entry of a shared word
/// list.
struct Scene {
  const char* name;
  std::vector<const char*> prompts;
  std::vector<const char*> targets;
};

/// Every scene that prompts are made from (prompt_scenes_*.cpp).
std::span<const Scene> prompt_scenes();

/// A phrase for the shared list `name`, or nullptr if there is none of that name. Lists are patterns too.
const char* shared_pattern(std::string_view name);

/// 1018 prompts, all texts and all targets different; the same on every machine.
std::vector<std::string> generate_evaluation_prompts();

/// 2048 prompts, all different, none of whose texts or targets (blanks and case aside) is among the
/// evaluation prompts.
std::vector<std::string> generate_training_prompts();

/// True if the text, greedily wrapped at blanks, takes at most `rows` lines of at most `columns` bytes. A
/// word that is longer than a line does not fit.
bool fits_grid(std::string_view text, int columns, int rows);

}  // namespace harness
