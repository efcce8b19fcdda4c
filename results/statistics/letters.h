#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace harness {

/// Pairs of items, the smaller number first, that differ.
using DifferingPairs = std::set<std::pair<std::size_t, std::size_t>>;

/// Compact letter display of `items` in order of their means: two items share a letter if and only if no
/// difference between them was shown. The first item has "a". Insert and absorb (Piepho 2004, J. Comput.
/// Graph. Stat. 13:456). Letters beyond z are A to Z, then "(53)" and so on.
std::vector<std::string> compact_letters(std::size_t items, const DifferingPairs& differing);

}  // namespace harness
