#include "core/parity_report.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <limits>

namespace harness {

Tolerance Tolerance::of(const Json& tolerance, const std::string& tensor) {
  for (const auto& entry : tolerance.value("overrides", Json::array())) {
    if (::fnmatch(entry.at("match").get<std::string>().c_str(), tensor.c_str(), 0) != 0) continue;
    return {entry.value("atol", 0.0), entry.value("rtol", 0.0),
            entry.value("measure", "max") == std::string("mean"), true};
  }
  return {tolerance.value("atol", 0.0), tolerance.value("rtol", 0.0)};
}

std::string Tolerance::text() const {
  return fmt::format("{:.3g} + {:.3g} max|x|{}", atol, rtol, mean ? ", mean" : "");
}

void ParityReport::add(const std::string& tensor, double error, double scale, const Tolerance& t) {
  max_abs = std::max(max_abs, error);
  if (scale > 0) max_rel = std::max(max_rel, error / scale);
  const double allowed = t.allowed(scale);
  const double share = error <= 0 ? 0 : allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
  if (tolerance.empty() || share > used) tolerance = t.text();
  used = std::max(used, share);
  if (!(error <= allowed)) fail(tensor, fmt::format("error {:.3g} above the allowed {:.3g}", error, allowed));
}

void ParityReport::fail(const std::string& tensor, const std::string& problem) {
  message += fmt::format("{}{}: {}", message.empty() ? "" : "; ", tensor, problem);
}

Json ParityReport::to_json() const {
  return {{"name", name},       {"kind", kind},           {"known", known},
          {"passed", passed()}, {"max_abs", max_abs},     {"max_rel", max_rel},
          {"used", used},       {"tolerance", tolerance}, {"message", message}};
}

}  // namespace harness
