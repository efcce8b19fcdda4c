#pragma once

#include <string>
#include <vector>

#include "harness/compare/compared_row.h"
#include "harness/compare/compared_sides.h"

namespace harness {

/// On which terms rows of two experiments are compared.
struct Terms {
  SidePairing pairing;
  std::vector<SideDifference> differences;  ///< of the methods themselves, the code, the CPU, the scale
};

/// Throws Error with every reason against a comparison in these metrics: how the images of the split were
/// generated and scored, how the runs were trained and their checkpoints chosen, and no common seed. The base
/// model has no training that could differ.
Terms require_comparable(Store& store, const ComparedRow& baseline, const ComparedRow& method,
                         const std::string& split, const std::vector<std::string>& metrics);

}  // namespace harness
