#include <fmt/format.h>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "models/parity/parity.h"
#include "models/parity/parity_case.h"
#include "models/parity/parity_check.h"
#include "trainers/parity.h"
#include "worker/commands.h"
#include "worker/threads.h"

namespace harness {
namespace {

/// LibTorch's errors end with a stack trace.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

ParityReport check_case(const std::filesystem::path& folder) {
  const auto file = folder / "case.json";
  const auto document = read_json(file);
  Fields fields(document, file.string());
  ParityReport result{.name = fields.required<std::string>("name"),
                      .kind = fields.required<std::string>("kind"),
                      .tolerance = ""};
  try {
    if (is_model_case(result.kind)) return compare_with_case(folder, run_model_case(folder));
    if (is_trainer_case(result.kind)) return compare_with_case(folder, run_trainer_case(folder));
    result.known = false;
    result.message = fmt::format("this build does not know the kind {}", in_quotes(result.kind));
  } catch (const UnknownCase& error) {
    result.known = false;
    result.message = error.what();
  } catch (const std::exception& error) {
    result.message = first_line(error.what());
  }
  return result;
}

}  // namespace

int parity_command(const Json& request) {
  use_one_thread();
  Fields fields(request, "parity");
  Json cases = Json::array();
  bool passed = true;
  for (const auto& folder : fields.required<std::vector<std::string>>("cases")) {
    const auto result = check_case(folder);
    passed = passed && result.passed();
    cases.push_back(result.to_json());
  }
  put("{}\n", Json{{"cases", cases}}.dump());
  return passed ? 0 : 1;
}

}  // namespace harness
