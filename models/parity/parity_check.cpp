#include "models/parity/parity_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace harness {
namespace {

using torch::Tensor;

void compare(const std::string& name, const Tensor& reference, const Tensor& computed, const Tolerance& t,
             ParityReport& report) {
  if (reference.sizes() != computed.sizes()) {
    return report.fail(name,
                       fmt::format("shape [{}] instead of [{}]",
                                   fmt::join(computed.sizes().begin(), computed.sizes().end(), ", "),
                                   fmt::join(reference.sizes().begin(), reference.sizes().end(), ", ")));
  }
  if (!reference.is_floating_point() && !t.overridden) {
    const auto differing =
        (reference.to(torch::kInt64) != computed.to(torch::kInt64)).sum().item<std::int64_t>();
    if (differing > 0)
      report.fail(name, fmt::format("{} of {} integers differ", differing, reference.numel()));
    return;
  }
  const auto a = reference.to(torch::kFloat64), b = computed.detach().to(torch::kCPU, torch::kFloat64);
  const auto finite = a.isfinite();
  if (!finite.equal(b.isfinite())) return report.fail(name, "non-finite elements are at other places");
  const auto error = (a - b).abs().masked_select(finite);
  if (error.numel() == 0) return;
  report.add(name, (t.mean ? error.mean() : error.max()).item<double>(),
             a.masked_select(finite).abs().max().item<double>(), t);
}

}  // namespace

ParityReport compare_with_case(const std::filesystem::path& folder, const TensorMap& computed) {
  const auto document = read_json(folder / "case.json");
  ParityReport report{.name = document.at("name"), .kind = document.at("kind"), .tolerance = ""};
  for (const auto& [name, reference] : load_tensors(folder / "outputs.safetensors")) {
    const auto found = computed.find(name);
    if (found == computed.end()) {
      report.fail(name, "not computed");
    } else {
      compare(name, reference, found->second, Tolerance::of(document.at("tolerance"), name), report);
    }
  }
  return report;
}

}  // namespace harness
