#include <fmt/format.h>
#include <pango/pangocairo.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/processes/process.h"
#include "core/source_sums/build_info.h"
#include "core/text.h"
#include "harness/commands/doctor.h"
#include "harness/plan/device.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// One that is present or missing, without detail.
Finding there_if(bool found, const std::string& name, const std::string& detail, const std::string& hint) {
  return {.name = name, .found = found, .detail = found ? detail : "", .hint = hint};
}

/// The first of `places` that is there, with the line of its version output that contains `part`.
Finding program_finding(const std::string& name, const std::vector<fs::path>& places, const std::string& hint,
                        const std::string& part = "") {
  return look_for({.name = name, .hint = hint}, [&]() -> Detail {
    for (const auto& file : places) {
      if (fs::exists(file)) return first_line({file.string(), "--version"}, part).value_or(file.string());
    }
    return std::nullopt;
  });
}

fs::path on_path(const std::string& program) {
  return program_on_path(program).value_or("");
}

/// What a program prints. Throws Error where it does not end well.
std::string answer_of(const std::string& name, const fs::path& program, const std::string& argument) {
  std::string problem;
  try {
    auto finished = run_program({program.string(), argument});
    if (finished.status.ok()) return finished.out;
    problem = finished.status.text();
  } catch (const Error& error) {
    problem = error.what();
  }
  throw Error(fmt::format("{} does not answer: {}", name, problem));
}

/// LibTorch is found when the program that links it answers.
Finding libtorch() {
  return look_for({.name = "LibTorch", .needed = true, .hint = kSetup}, [] {
    const auto worker = worker_program().string();
    answer_of(worker, worker, "describe");
    return fmt::format("harness-worker answers ({})", worker);
  });
}

/// That the first GPU's driver answers, and that a worker can open it.
Finding cuda_device() {
  const std::string for_gpu = "only for --device cuda:N: ";
  if (!shows_nvidia_gpu())
    return {.name = "CUDA device",
            .hint = for_gpu + "this machine has no NVIDIA device, or its driver is not loaded"};
  return look_for(
      {.name = "CUDA device", .hint = for_gpu + "nvidia-smi does not answer; install the driver"},
      []() -> Detail {
        const auto opened = run_program({worker_program().string(), "device", "cuda:0"}, {.err = kPipe});
        if (!opened.status.ok()) {  // after the output of CUDA's libraries
          const std::string_view said = opened.err;
          constexpr std::string_view kError = "error: ";
          const auto at = said.find(kError);
          throw Error(std::string(trim(at == said.npos ? said : said.substr(at + kError.size()))));
        }
        return first_line(
            {"nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"});
      },
      [&](const Error& error, Finding& missing) { missing.hint = for_gpu + error.what(); });
}

Finding font(const std::string& family, const std::string& hint) {
  auto* known = pango_font_map_get_family(pango_cairo_font_map_get_default(), family.c_str());
  return there_if(known != nullptr, "font " + family, "found", hint);
}

}  // namespace

std::optional<std::string> first_line(const std::vector<std::string>& words, const std::string& part) {
  std::istringstream text(output_of(words));
  for (std::string line; std::getline(text, line);)
    if (line.find(part) != std::string::npos) return std::string(trim(line));
  return std::nullopt;
}

std::string gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

Finding look_for(Finding finding, const std::function<Detail()>& look, const Failed& failed) {
  try {
    const auto detail = look();
    finding.found = detail.has_value();
    finding.detail = detail.value_or("");
  } catch (const Error& error) {
    failed ? failed(error, finding) : void(finding.detail = error.what());
  }
  return finding;
}

Finding there(const std::string& name, const std::string& detail) {
  return {.name = name, .found = true, .detail = detail};
}

std::vector<Finding> machine_findings() {
  const auto& build = build_info();
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {there("processor", fmt::format("{}, {} cores, {}", build.cpu, core_count(), build.cpu_features)),
          {.name = "memory",
           .found = memory >= kNeededByDefault,
           .needed = true,
           .detail = gigabytes(memory),
           .hint = kMemoryHint}};
}

std::vector<Finding> program_findings(std::optional<Registry>& registry) {
  const auto& build = build_info();
  const auto look = [&] {
    registry = load_registry();
    return fmt::format("{} methods, {} backbones, {} evaluators", registry->methods.size(),
                       registry->backbones.size(), registry->evaluators.size());
  };
  return {
      there("harness", fmt::format("{} (revision {}, {}), {}", build.version, build.git_revision,
                                   build.build_type, executable_folder().string())),
      there("libraries", fmt::format("SQLite {}, cairo {}, Pango {}", sqlite3_libversion(),
                                     cairo_version_string(), pango_version_string())),
      look_for({.name = "registry", .needed = true, .hint = "run scripts/build: the build makes it"}, look)};
}

std::vector<Finding> torch_findings() {
  std::vector<Finding> findings = {libtorch(), cuda_device()};
  const auto support = Json::parse(output_of({worker_program().string(), "gpu"}), nullptr, false);
  if (support.is_object()) {  // else LibTorch's own finding reports it
    const auto missing = support.value("missing", "");
    findings.push_back({.name = "LibTorch's CUDA library",
                        .found = missing.empty(),
                        .detail = missing.empty() ? "can be loaded" : missing,
                        .hint = "only for --device cuda:N: " + support.value("hint", "")});
    findings.push_back(
        there_if(support.value("kernels", false), "kernels of the cuda preset", "in this build",
                 "only for speed and memory with --device cuda:N: HARNESS_PRESET=cuda scripts/harness"));
  }
  findings.push_back(program_finding("CUDA toolkit", {on_path("nvcc"), "/usr/local/cuda/bin/nvcc"},
                                     "only for scripts/build cuda: install nvcc 13", "release"));
  return findings;
}

Finding tesseract_finding() {
  const auto look = [] {
    const auto hello = Json::parse(answer_of("harness-scorer", scorer_path(), "--describe"), nullptr, false);
    if (!hello.is_object()) throw Error("harness-scorer does not answer: ");
    const auto settings = hello.value("settings", Json::object());
    auto detail = fmt::format("{} {}", settings.value("engine", hello.value("name", "scorer")),
                              settings.value("engine_version", hello.value("version", "")));
    for (const auto& data : hello.value("data", Json::array()))
      detail += fmt::format(", {} {}", data.value("file", ""), data.value("sha256", "").substr(0, 12));
    return detail;
  };
  return look_for({.name = "Tesseract",
                   .needed = true,
                   .hint = "reads the text in images: apt-get install tesseract-ocr-eng, or scripts/setup"},
                  look);
}

std::vector<Finding> picture_findings() {
  std::vector<Finding> findings = {
      font("DejaVu Sans", "labels of grids and figures: apt-get install fonts-dejavu-core"),
      font("Liberation Sans", "without it figures use DejaVu Sans: apt-get install fonts-liberation"),
      program_finding("pdflatex", {on_path("pdflatex")},
                      "only to set table.tex: apt-get install texlive-latex-recommended")};
  findings.front().needed = true;
  return findings;
}

std::vector<Finding> python_findings() {
  auto python = program_finding("Python", {on_path("python3")},
                                "only for scripts/setup and the check scripts: apt-get install python3");
  const auto look = [&]() -> Detail {
    if (!python.found) return std::nullopt;
    return first_line({"python3", "-c",
                       "from importlib.metadata import version as v; print('torch ' + "
                       "v('torch') + ', diffusers ' + v('diffusers'))"});
  };
  auto packages = look_for(
      {.name = "torch and diffusers for Python",
       .hint = "only for scripts/check-lora and the peer benchmarks, which print how to install them"},
      look);
  return {std::move(python), std::move(packages)};
}

}  // namespace harness
