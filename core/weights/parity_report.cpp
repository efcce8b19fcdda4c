#include "core/weights/parity_report.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/weights/safetensors.h"

namespace harness {
namespace {

void compare_numbers(const std::string& name, const std::vector<double>& reference,
                     const std::vector<double>& computed, const Tolerance& tolerance, ParityReport& report) {
  if (reference.size() != computed.size())
    return report.fail(name, fmt::format("{} values instead of {}", computed.size(), reference.size()));
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::isfinite(reference[i]) != std::isfinite(computed[i]))
      return report.fail(name, fmt::format("value {} is {} instead of {}", i, computed[i], reference[i]));
    if (!std::isfinite(reference[i])) continue;
    error = std::max(error, std::abs(reference[i] - computed[i]));
    largest = std::max(largest, std::abs(reference[i]));
  }
  report.add(name, error, largest, tolerance);
}

void compare_tensor(const std::string& name, const SafetensorsFile& reference, const ParityOutputs& outputs,
                    const Json& tolerance, ParityReport& report) {
  const auto dtype = reference.at(name).dtype;
  const auto found = outputs.find(name);
  if (found == outputs.end()) return report.fail(name, "not computed");
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&found->second)) {
    if (dtype != Dtype::kI64) return report.fail(name, "has another type");
    if (reference.values<std::int64_t>(name) != *integers) report.fail(name, "differs");
  } else {
    if (dtype != Dtype::kF64) return report.fail(name, "has another type");
    compare_numbers(name, reference.values<double>(name), std::get<std::vector<double>>(found->second),
                    Tolerance::of(tolerance, name), report);
  }
}

}  // namespace

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

ParityReport compare_outputs(const std::filesystem::path& folder, const ParityOutputs& outputs) {
  const auto file = folder / "case.json";
  const Json document = read_json(file);
  const Json& tolerance = Fields(document, file.string()).get("tolerance");
  const SafetensorsFile reference(folder / "outputs.safetensors");
  ParityReport report{.name = document.at("name"), .kind = document.at("kind")};
  for (const auto& [name, _] : reference.tensors())
    compare_tensor(name, reference, outputs, tolerance, report);
  return report;
}

}  // namespace harness
