#include <fmt/format.h>

#include "core/error.h"
#include "models/parity/parity_kinds.h"

namespace harness {

TensorMap run_tokenizer_case(const ParityCase& c) {
  const auto family = c.param_fields().required<std::string>("family");
  if (family == "clip") return clip_tokenizer_case(c);
  if (family == "t5") return t5_tokenizer_case(c);
  throw Error(fmt::format("tokenizer family \"{}\" is not known", family), c.folder.string(),
              "known: \"clip\", \"t5\"");
}

}  // namespace harness
