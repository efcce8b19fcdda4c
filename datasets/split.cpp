#include "datasets/split.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "datasets/python_random.h"

namespace harness {

Split make_split(std::uint64_t seed, int of, int take) {
  if (of < 1) throw Error(fmt::format("cannot split {} prompts", of), "split", "there must be at least one");
  if (take < 0 || take > of) {
    throw Error(fmt::format("cannot take {} of {} prompts", take, of), "split",
                fmt::format("take 0 to {}", of));
  }
  PythonRandom random(std::to_string(seed));
  std::vector<bool> taken(static_cast<std::size_t>(of));
  Split split;
  for (const std::int64_t position : random.sample(of, take)) {
    split.validation.push_back(static_cast<int>(position));
    taken[static_cast<std::size_t>(position)] = true;
  }
  for (int position = 0; position < of; ++position) {
    if (!taken[static_cast<std::size_t>(position)]) split.test.push_back(position);
  }
  return split;
}

}  // namespace harness
