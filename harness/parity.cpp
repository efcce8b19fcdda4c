#include "harness/parity.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "core/error.h"
#include "core/safetensors.h"
#include "datasets/python_random_parity.h"
#include "evaluators/text_metrics_parity.h"
#include "harness/worker_request.h"
#include "results/statistics_parity.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// error <= atol + rtol * max(abs(reference)), over a whole tensor.
struct Tolerance {
  double atol = 0, rtol = 0;
};

Tolerance tolerance_for(const Json& case_json, const std::string& tensor) {
  const auto& all = case_json.at("tolerance");
  const Json overrides = all.value("overrides", Json::array());
  for (const auto& entry : overrides) {
    if (::fnmatch(entry.at("match").get<std::string>().c_str(), tensor.c_str(), 0) == 0) {
      return {entry.value("atol", 0.0), entry.value("rtol", 0.0)};
    }
  }
  return {all.value("atol", 0.0), all.value("rtol", 0.0)};
}

/// What a comparison of a whole case found so far.
struct Check {
  double max_abs = 0, max_rel = 0;
  std::string message;

  void fail(const std::string& tensor, const std::string& what) {
    message += fmt::format("{}{}: {}", message.empty() ? "" : "; ", tensor, what);
  }
};

void compare_numbers(const std::string& name, std::span<const double> reference,
                     const std::vector<double>& computed, const Tolerance& tolerance, Check& check) {
  if (reference.size() != computed.size()) {
    check.fail(name, fmt::format("{} values instead of {}", computed.size(), reference.size()));
    return;
  }
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::isfinite(reference[i]) != std::isfinite(computed[i])) {
      check.fail(name, fmt::format("value {} is {} instead of {}", i, computed[i], reference[i]));
      return;
    }
    if (!std::isfinite(reference[i])) continue;
    error = std::max(error, std::abs(reference[i] - computed[i]));
    largest = std::max(largest, std::abs(reference[i]));
  }
  check.max_abs = std::max(check.max_abs, error);
  if (largest > 0) check.max_rel = std::max(check.max_rel, error / largest);
  if (error > tolerance.atol + tolerance.rtol * largest)
    check.fail(name, fmt::format("off by {:.3g}", error));
}

void compare_integers(const std::string& name, std::span<const std::int64_t> reference,
                      const std::vector<std::int64_t>& computed, Check& check) {
  if (std::equal(reference.begin(), reference.end(), computed.begin(), computed.end())) return;
  check.fail(name, "differs");
}

void compare_tensor(const std::string& name, const TensorView& reference, const ParityOutputs& outputs,
                    const Json& case_json, Check& check) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) {
    check.fail(name, "not computed");
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&found->second)) {
    if (reference.dtype != Dtype::kI64) return check.fail(name, "has another type");
    compare_integers(name, reference.as<std::int64_t>(), *integers, check);
  } else {
    if (reference.dtype != Dtype::kF64) return check.fail(name, "has another type");
    compare_numbers(name, reference.as<double>(), std::get<std::vector<double>>(found->second),
                    tolerance_for(case_json, name), check);
  }
}

Json case_answer(const std::string& name, const std::string& kind, const Check& check) {
  return {{"name", name},
          {"kind", kind},
          {"passed", check.message.empty()},
          {"max_abs", check.max_abs},
          {"max_rel", check.max_rel},
          {"message", check.message}};
}

using Compute = std::function<ParityOutputs(const Json&, const std::string&)>;

Json check_outputs(const fs::path& folder, const Json& case_json, const std::string& kind,
                   const Compute& compute) {
  Check check;
  const SafetensorsFile reference(folder / "outputs.safetensors");
  const auto outputs = compute(case_json, (folder / "case.json").string());
  for (const auto& [name, tensor] : reference.tensors())
    compare_tensor(name, tensor, outputs, case_json, check);
  return case_answer(case_json.at("name"), kind, check);
}

Json check_statistics(const fs::path& folder, const std::string& kind) {
  const auto result = check_statistics_case(folder);
  Check check{.max_abs = result.max_abs, .max_rel = result.max_rel, .message = result.message};
  if (!result.passed && check.message.empty()) check.message = "does not pass";
  return case_answer(result.name, kind, check);
}

/// Kinds that need no model. An Error of the case itself (a broken file) is that case's failure.
std::optional<Json> check_here(const fs::path& folder, const Json& case_json, const std::string& kind) {
  try {
    if (kind == "statistics") return check_statistics(folder, kind);
    if (kind == "python_random_sample") return check_outputs(folder, case_json, kind, python_random_outputs);
    if (kind == "ocr_text_metrics") return check_outputs(folder, case_json, kind, text_metrics_outputs);
    return std::nullopt;
  } catch (const Error& error) {
    return case_answer(case_json.at("name"), kind, {.message = error.what()});
  }
}

}  // namespace

Json check_parity(const std::vector<fs::path>& folders) {
  std::vector<Json> cases(folders.size());
  std::vector<std::size_t> for_worker;
  Json worker_folders = Json::array();
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const auto file = folders[i] / "case.json";
    if (!fs::exists(file))
      throw Error("holds no case.json", folders[i].string(), "give folders of parity cases");
    const Json case_json = read_json(file);
    Fields fields(case_json, file.string());
    fields.required<std::string>("name");
    const auto kind = fields.required<std::string>("kind");
    if (auto answer = check_here(folders[i], case_json, kind)) {
      cases[i] = std::move(*answer);
    } else {
      for_worker.push_back(i);
      worker_folders.push_back(fs::absolute(folders[i]).string());
    }
  }
  if (!for_worker.empty()) {
    const auto answer = ask_worker("parity", {{"cases", worker_folders}, {"json", true}});
    const auto& answers = answer.at("cases");
    if (answers.size() != for_worker.size()) {
      throw Error("harness-worker answered for another number of cases", "parity", "", Status::kFailed);
    }
    for (std::size_t i = 0; i < for_worker.size(); ++i) cases[for_worker[i]] = answers[i];
  }
  return {{"cases", cases}};
}

}  // namespace harness
