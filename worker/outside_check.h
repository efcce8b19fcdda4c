#pragma once

#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "core/json.h"

namespace harness {

/// Checks the imported checkpoints of a plan's rows, [{"row", "runs": [{"seed", "checkpoints": [{"step",
/// "place"}]}]}], and returns a sentence per row: their form, whether they are trained, how similar their
/// runs are. Throws Error with the place of a checkpoint that does not fit the backbone or is not finite
/// (whole networks: if they are compared), and for two runs of a row that are one training.
///
/// Two runs are one training if the movements d of two of their checkpoints from the base model have a cosine
/// <d1, d2> / (|d1| |d2|), over all parameters, above .5: measured were .79 to .98 between checkpoints of one
/// training, -.02 to .10 between trainings of different seeds, .30 between two methods with one seed. The
/// first and last checkpoints of each run are compared, and of adapters all others, too. For updates s B A,
/// <d1, d2> = sum of s1 s2 (B1^T B2) (A1 A2^T) by elements.
std::vector<std::string> check_outside(const Json& rows, const BackboneSource& source, bool uses_ema);

}  // namespace harness
