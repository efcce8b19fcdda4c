#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"

namespace harness {

/// Computed output tensors of a parity case, by name; all of them have one dimension.
using ParityOutputs = std::map<std::string, std::variant<std::vector<std::int64_t>, std::vector<double>>>;

/// Every output of a parity case of kind `python_random_sample`: for draw i of params.draws ([seed in decimal
/// digits, n, k]) `i.sample`, `i.shuffle`, `i.random`, `i.getrandbits32` and `i.randrange`. Throws Error, at
/// `where`, if the case is not of that form.
ParityOutputs python_random_outputs(const Json& case_json, const std::string& where);

}  // namespace harness
