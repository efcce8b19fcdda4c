#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Those of `candidates` that `word` may stand for: the same but for case, hyphens and underscores, or what
/// other programs and papers call it ("learning_rate": lr). For hints alone; no such name is accepted.
std::vector<std::string> otherwise_named(std::string_view word, std::span<const std::string> candidates);

}  // namespace harness
