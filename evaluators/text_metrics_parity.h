#pragma once

#include "core/weights/parity_report.h"

namespace harness {

/// Every output of a parity case of kind `ocr_text_metrics`, from its case.json (text.pairs: [prediction,
/// target]): `reward`, `cer`, `exact`, `substring`, `distance`, `raw_distance`, `target_length`. `where` (the
/// file) goes into error messages. Throws Error where the case is not of that form.
ParityOutputs text_metrics_outputs(const Json& case_json, const std::string& where);

}  // namespace harness
