#include "models/parity/parity_case.h"

#include <fmt/format.h>

#include "core/error.h"

namespace harness {

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

const torch::Tensor& ParityCase::input(const std::string& name) const {
  const auto found = inputs.find(name);
  if (found == inputs.end()) {
    throw Error(fmt::format("tensor \"{}\" is missing", name), (folder / "inputs.safetensors").string());
  }
  return found->second;
}

Fields ParityCase::param_fields() const {
  return {params, (folder / "case.json").string() + ": params"};
}

Fields ParityCase::text_fields() const {
  return {text, (folder / "case.json").string() + ": text"};
}

}  // namespace harness
