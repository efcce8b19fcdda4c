#include "core/streams.h"
#include "trainers/parity/parity.h"
#include "worker/commands.h"

namespace harness {

int parity_command(const Json& request) {
  use_one_thread();
  Fields fields(request, "parity");
  auto kinds = trainer_parity_kinds();
  kinds.insert(model_parity_kinds().begin(), model_parity_kinds().end());
  Json cases = Json::array();
  bool passed = true;
  for (const auto& folder : fields.required<std::vector<std::string>>("cases")) {
    const auto result = check_case(folder, kinds);
    passed = passed && result.passed();
    cases.push_back(result.to_json());
  }
  put("{}\n", Json{{"cases", cases}}.dump());
  return passed ? 0 : 1;
}

}  // namespace harness
