#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "harness/spec/registry.h"

namespace harness {

// What `harness doctor` looks at: doctor_installed.cpp what is installed, doctor.cpp what is asked for.

/// A requirement of a feature.
struct Finding {
  std::string topic = {};  ///< its section
  std::string name = {};   ///< "Tesseract"
  bool found = false;
  bool needed = false;      ///< by the embedded default; without it that does not run
  std::string detail = {};  ///< what is there
  std::string hint = {};    ///< what it is for and what to do, where it is missing
};

inline constexpr const char* kSetup = "run scripts/setup, then scripts/build";
inline constexpr const char* kMemoryHint = "the embedded default needs about 1 GB";
inline constexpr double kNeededByDefault = 1e9;  ///< bytes of memory and of disk

std::string gigabytes(double bytes);

/// The first line with `part` in it that a program prints; nothing if it is not there or prints none.
std::optional<std::string> first_line(const std::vector<std::string>& words, const std::string& part = "");

using Detail = std::optional<std::string>;

/// Adds to a missing finding what its error lacks.
using Failed = std::function<void(const Error&, Finding&)>;

/// The finding with the detail that `look` gives: it is missing where there is none, or where `look` throws,
/// which `failed` puts in words (default: the detail is what the error says).
Finding look_for(Finding finding, const std::function<Detail()>& look, const Failed& failed = {});

Finding there(const std::string& name, const std::string& detail);

std::vector<Finding> machine_findings();
/// Sets `registry` to what this build knows, if that can be read.
std::vector<Finding> program_findings(std::optional<Registry>& registry);
/// LibTorch, and what a GPU needs.
std::vector<Finding> torch_findings();
Finding tesseract_finding();
/// Fonts, and what sets tables.
std::vector<Finding> picture_findings();
/// Python, which only scripts that compare with the public implementations use.
std::vector<Finding> python_findings();

}  // namespace harness
