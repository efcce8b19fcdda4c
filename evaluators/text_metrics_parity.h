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

/// Every output of a parity case of kind `ocr_text_metrics`, from its case.json (text.pairs: [prediction,
/// target]): `reward`, `cer`, `exact`, `substring`, `distance`, `raw_distance`, `target_length`. `where` (the
/// file) goes into error messages. Throws Error where the case is not of that form.
ParityOutputs text_metrics_outputs(const Json& case_json, const std::string& where);

}  // namespace harness
