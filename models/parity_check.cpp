#include "models/parity_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace harness {
namespace {

using torch::Tensor;

struct Tolerance {
  double atol = 0, rtol = 0;
  bool mean = false, overridden = false;
};

Tolerance tolerance_for(const std::string& name, const Json& document) {
  Tolerance t{document.value("atol", 0.0), document.value("rtol", 0.0)};
  for (const auto& entry : document.value("overrides", Json::array())) {
    if (fnmatch(entry.at("match").get<std::string>().c_str(), name.c_str(), 0) != 0) continue;
    return {entry.value("atol", 0.0), entry.value("rtol", 0.0),
            entry.value("measure", "max") == std::string("mean"), true};
  }
  return t;
}

/// Why `computed` does not match, or an empty string; folds the errors into `result`.
std::string mismatch(const Tensor& reference, const Tensor& computed, const Tolerance& t,
                     ParityResult& result) {
  if (reference.sizes() != computed.sizes()) {
    return fmt::format("shape [{}] instead of [{}]",
                       fmt::join(computed.sizes().begin(), computed.sizes().end(), ", "),
                       fmt::join(reference.sizes().begin(), reference.sizes().end(), ", "));
  }
  if (reference.numel() == 0) return "";
  if (!reference.is_floating_point() && !t.overridden) {
    const auto differing =
        (reference.to(torch::kInt64) != computed.to(torch::kInt64)).sum().item<std::int64_t>();
    return differing == 0 ? "" : fmt::format("{} of {} integers differ", differing, reference.numel());
  }
  const auto a = reference.to(torch::kFloat64), b = computed.detach().to(torch::kCPU, torch::kFloat64);
  const auto finite = a.isfinite();
  if (!finite.equal(b.isfinite())) return "non-finite elements are at other places";
  const auto error = (a - b).abs().masked_select(finite);
  if (error.numel() == 0) return "";
  const double measured = (t.mean ? error.mean() : error.max()).item<double>();
  const double scale = a.masked_select(finite).abs().max().item<double>();
  result.max_abs = std::max(result.max_abs, measured);
  if (scale > 0) result.max_rel = std::max(result.max_rel, measured / scale);
  const double allowed = t.atol + t.rtol * scale;
  if (measured <= allowed) return "";
  return fmt::format("error {:.3g} above the allowed {:.3g}", measured, allowed);
}

}  // namespace

Json ParityResult::to_json() const {
  return {{"name", name},       {"kind", kind},       {"passed", passed},
          {"max_abs", max_abs}, {"max_rel", max_rel}, {"message", message}};
}

ParityResult compare_with_case(const std::filesystem::path& folder, const TensorMap& computed) {
  const auto document = read_json(folder / "case.json");
  ParityResult result{
      .name = document.at("name"), .kind = document.at("kind"), .passed = true, .message = ""};
  for (const auto& [name, reference] : load_tensors(folder / "outputs.safetensors")) {
    const auto found = computed.find(name);
    const auto problem =
        found == computed.end()
            ? std::string("not computed")
            : mismatch(reference, found->second, tolerance_for(name, document.at("tolerance")), result);
    if (problem.empty()) continue;
    result.passed = false;
    if (result.message.empty()) result.message = name + ": " + problem;
  }
  return result;
}

}  // namespace harness
