#include "models/parity/parity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"

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

ParityCase ParityCase::read(const std::filesystem::path& folder) {
  const auto file = folder / "case.json";
  const Json document = read_json(file);
  Fields fields(document, file.string());
  ParityCase c{.folder = folder, .kind = fields.required<std::string>("kind"), .inputs = {}};
  if (fields.has("params")) c.params = fields.get("params");
  if (fields.has("text")) c.text = fields.get("text");
  c.inputs = load_tensors(folder / "inputs.safetensors");
  return c;
}

const Tensor& ParityCase::input(const std::string& name) const {
  const auto found = inputs.find(name);
  if (found == inputs.end()) {
    throw Error(fmt::format("tensor \"{}\" is missing", name), (folder / "inputs.safetensors").string());
  }
  return found->second;
}

Fields ParityCase::param_fields() const {
  return {params, (folder / "case.json").string() + ": params"};
}

std::vector<std::string> ParityCase::texts(const std::string& list) const {
  return Fields(text, (folder / "case.json").string() + ": text").required<std::vector<std::string>>(list);
}

std::vector<PromptText> ParityCase::prompts(const std::string& list) const {
  std::vector<PromptText> prompts;
  for (const auto& one : texts(list)) prompts.push_back({one, ""});
  return prompts;
}

ParityReport check_case(const std::filesystem::path& folder, const ParityKinds& kinds) {
  const auto file = folder / "case.json";
  const auto document = read_json(file);
  Fields fields(document, file.string());
  ParityReport result{.name = fields.required<std::string>("name"),
                      .kind = fields.required<std::string>("kind"),
                      .tolerance = ""};
  try {
    if (const auto kind = kinds.find(result.kind); kind != kinds.end())
      return compare_with_case(folder, kind->second(ParityCase::read(folder)));
    result.known = false;
    result.message = fmt::format("unknown kind {}", in_quotes(result.kind));
  } catch (const UnknownCase& error) {
    result.known = false;
    result.message = error.what();
  } catch (const std::exception& error) {
    const std::string message = error.what();
    result.message = message.substr(0, message.find('\n'));  // LibTorch's end with a stack trace
  }
  return result;
}

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
