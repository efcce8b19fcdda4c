#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/geneval/record.h"
#include "embedded/pictures/engine.h"

namespace harness {

/// Records that the embedded model learns from: of all tags, single objects least. No prompt has the
/// words of one that models are evaluated on (datasets/prompts/geneval-shapes.jsonl), in whatever order.
class ShapesRecords {
 public:
  explicit ShapesRecords(std::uint64_t seed);

  const GenevalRecord& any(DataEngine& engine) const;
  const std::vector<GenevalRecord>& of_tag(std::size_t tag) const { return by_tag_.at(tag); }

 private:
  std::array<std::vector<GenevalRecord>, 6> by_tag_;  ///< in the order of kGenevalTags
};

}  // namespace harness
