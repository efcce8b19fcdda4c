#pragma once

#include "core/weights/parity_report.h"

namespace harness {

/// Every output of a parity case of kind `python_random_sample`: for draw i of params.draws ([seed in decimal
/// digits, n, k]) `i.sample`, `i.shuffle`, `i.random`, `i.getrandbits32` and `i.randrange`. Throws Error, at
/// `where`, if the case is not of that form.
ParityOutputs python_random_outputs(const Json& case_json, const std::string& where);

}  // namespace harness
