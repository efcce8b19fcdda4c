#pragma once

#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "core/json.h"

namespace harness {

/// Reads the checkpoints of a plan's rows from outside, [{"row", "runs": [{"seed", "checkpoints": [{"step",
/// "place"}]}]}], as far as it must to say a sentence on each row: what they are, whether they move, how much
/// their runs are alike. Throws Error naming the place of one that does not fit the backbone or is not finite
/// (whole networks: where they are compared), and two runs of a row that are one training.
///
/// Two runs are one training where the movements d of two of their checkpoints from the base model have a
/// cosine <d1, d2> / (|d1| |d2|), over all parameters, above .5: between checkpoints of one training .79 to
/// .98 were measured, and -.02 to .10 between trainings of other seeds. Of each run the first and the last
/// checkpoint are compared. For updates s B A the products are those of small matrices, <d1, d2> = sum of
/// s1 s2 (B1^T B2) (A1 A2^T) by elements.
std::vector<std::string> check_outside(const Json& rows, const BackboneSource& source, bool uses_ema);

}  // namespace harness
