#include "harness/checks/doctor.h"

#include <fmt/format.h>
#include <pango/pangocairo.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/processes/process.h"
#include "core/sha256.h"
#include "core/source_sums/build_info.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "datasets/prompt_set.h"
#include "harness/plan/external_scorers.h"
#include "harness/plan/inputs.h"
#include "harness/plan/registry.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "results/schema/database_file.h"
#include "results/store/store.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSetup = "run scripts/setup, then scripts/build";

std::string gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

/// The first line with `part` in it that a program prints; nothing if it is not there or prints none.
std::optional<std::string> first_line(const std::vector<std::string>& words, const std::string& part = "") {
  std::istringstream text(output_of(words));
  for (std::string line; std::getline(text, line);)
    if (line.find(part) != std::string::npos) return std::string(trim(line));
  return std::nullopt;
}

std::optional<fs::path> in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const auto& folder : split(path == nullptr ? "" : path, ':')) {
    const auto file = fs::path(folder) / program;
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
  }
  return std::nullopt;
}

Finding program_finding(const std::string& topic, const std::string& name, const std::string& program,
                        const std::string& version_argument, const std::string& hint) {
  Finding finding{.topic = topic, .name = name, .hint = hint};
  if (const auto file = in_path(program)) {
    finding.found = true;
    finding.detail = first_line({file->string(), version_argument}).value_or(file->string());
  }
  return finding;
}

std::vector<Finding> machine() {
  const auto& build = build_info();
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  constexpr double kMemoryOfDefault = 1e9;
  return {{.topic = "machine",
           .name = "processor",
           .found = true,
           .detail = fmt::format("{}, {} cores, {}", build.cpu, core_count(), build.cpu_features)},
          {.topic = "machine",
           .name = "memory",
           .found = memory >= kMemoryOfDefault,
           .needed = true,
           .detail = gigabytes(memory),
           .hint = "the embedded default needs about 1 GB"}};
}

/// Runs `program` with `argument`; its output if it ends well, else why not, in `problem`.
std::optional<std::string> answer_of(const fs::path& program, const std::string& argument,
                                     std::string& problem) {
  try {
    auto finished = run_program({program.string(), argument});
    if (finished.status.ok()) return finished.out;
    problem = finished.status.text();
  } catch (const Error& error) {
    problem = error.what();
  }
  return std::nullopt;
}

Finding registry_finding() {
  Finding finding{.topic = "program",
                  .name = "registry",
                  .needed = true,
                  .hint = "run scripts/build: the build makes it"};
  try {
    const auto registry = load_registry();
    finding.found = true;
    finding.detail = fmt::format("{} methods, {} backbones, {} evaluators", registry.methods.size(),
                                 registry.backbones.size(), registry.evaluators.size());
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

/// LibTorch is found when the program that links it answers.
Finding libtorch_finding() {
  Finding finding{.topic = "training", .name = "LibTorch", .needed = true, .hint = kSetup};
  try {
    const auto worker = worker_program();
    std::string problem;
    finding.found = answer_of(worker, "describe", problem).has_value();
    finding.detail = finding.found ? fmt::format("harness-worker answers ({})", worker.string())
                                   : fmt::format("{} does not answer: {}", worker.string(), problem);
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

std::vector<Finding> program() {
  const auto& build = build_info();
  return {{.topic = "program",
           .name = "harness",
           .found = true,
           .detail = fmt::format("{} (revision {}, {}), {}", build.version, build.git_revision,
                                 build.build_type, executable_folder().string())},
          {.topic = "program",
           .name = "libraries",
           .found = true,
           .detail = fmt::format("SQLite {}, cairo {}, Pango {}", sqlite3_libversion(),
                                 cairo_version_string(), pango_version_string())},
          registry_finding()};
}

std::vector<Finding> gpu() {
  constexpr const char* kForGpu = "only for --device cuda:N: ";
  Finding device{
      .topic = "training",
      .name = "CUDA device",

      .hint = std::string(kForGpu) + "this machine has no NVIDIA device, or its driver is not loaded"};
  if (fs::exists("/dev/nvidia0")) {
    const auto name =
        first_line({"nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"});
    device.found = name.has_value();
    device.detail = name.value_or("");
    device.hint = std::string(kForGpu) + "nvidia-smi does not answer; install the driver";
  }
  Finding toolkit{.topic = "training",
                  .name = "CUDA toolkit",

                  .hint = std::string(kForGpu) + "install nvcc 13 and build the preset \"cuda\""};
  for (const fs::path& nvcc : {in_path("nvcc").value_or(""), fs::path("/usr/local/cuda/bin/nvcc")}) {
    if (toolkit.found || nvcc.empty() || !fs::exists(nvcc)) continue;
    toolkit.found = true;
    toolkit.detail = first_line({nvcc.string(), "--version"}, "release").value_or(nvcc.string());
  }
  return {std::move(device), std::move(toolkit)};
}

/// Weights of every backbone, in the chosen folder or where the backbone looks.
std::vector<Finding> weights(const std::string& chosen) {
  std::vector<Finding> findings;
  std::vector<BackboneInfo> backbones;
  try {
    backbones = load_registry().backbones;
  } catch (const Error&) {
    return findings;  // said above
  }
  const auto named = chosen.empty() ? std::string() : backbone_of_folder(chosen);
  for (const auto& backbone : backbones) {
    Finding finding{.topic = "training",
                    .name = "weights of " + backbone.name,
                    .needed = !backbone.default_weights.empty()};
    try {
      const auto folder = find_weights(backbone, backbone.name == named ? chosen : "");
      finding.found = true;
      finding.detail = folder.empty() ? "random, by seed"
                                      : fmt::format("{}, sha256 {}", folder.string(),
                                                    weights_checksum(folder).substr(0, 12));
    } catch (const Error& error) {
      finding.hint =
          finding.needed
              ? fmt::format("{}; {}", error.problem(), kSetup)
              : fmt::format("only for --backbone {}: name its folder with --weights DIR", backbone.name);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Finding tesseract() {
  Finding finding{.topic = "evaluation",
                  .name = "Tesseract",
                  .needed = true,
                  .hint = "reads the text in images: apt-get install tesseract-ocr-eng, or scripts/setup"};
  std::string problem;
  try {
    const auto text = answer_of(scorer_path(), "--describe", problem);
    const auto hello = text ? Json::parse(*text, nullptr, false) : Json();
    if (!hello.is_object()) {
      finding.detail = "harness-scorer does not answer: " + problem;
      return finding;
    }
    finding.found = true;
    const auto settings = hello.value("settings", Json::object());
    finding.detail = fmt::format("{} {}", settings.value("engine", hello.value("name", "scorer")),
                                 settings.value("engine_version", hello.value("version", "")));
    for (const auto& data : hello.value("data", Json::array()))
      finding.detail +=
          fmt::format(", {} {}", data.value("file", ""), data.value("sha256", "").substr(0, 12));
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

/// The sets of a folder laid out like the public repositories, one a task.
std::vector<Finding> public_prompts(const std::string& folder) {
  constexpr const char* kHint =
      "only for --prompts DIR: a folder with ocr/test.txt or pickscore/test.txt (`harness doctor --prompts "
      "DIR` "
      "checks one)";
  std::vector<Finding> findings;
  for (const auto& task : prompt_tasks()) {
    if (folder.empty() || !fs::exists(fs::path(folder) / task / "test.txt")) continue;
    const auto set = load_prompt_set(find_prompt_file(folder, task), task);
    findings.push_back({.topic = "evaluation",
                        .name = "public prompts",
                        .found = true,
                        .detail = fmt::format("{}, {} prompts, sha256 {}{}", set.name, set.prompts.size(),
                                              set.sha256.substr(0, 12), set.known ? "" : " (unknown)")});
  }
  if (!findings.empty()) return findings;
  if (!folder.empty()) find_prompt_file(folder, kOcrPrompts);  // says what is missing
  return {{.topic = "evaluation", .name = "public prompts", .hint = kHint}};
}

/// What is in a scorer's folder; one that cannot be read makes the finding a missing one.
std::string scorer_folder_text(const fs::path& folder, Finding& finding) {
  try {
    const auto files = scorer_files(folder);
    const auto sum = sha256_hex(canonical_json(Json(files)));
    return fmt::format("{}, {} files {}", folder.string(), files.size(), sum.substr(0, 12));
  } catch (const Error& error) {
    finding.found = false;
    finding.hint = error.hint().empty() ? "fetch the folder again" : error.hint();
    return fmt::format("{} {}", folder.string(), error.problem());
  }
}

std::vector<Finding> prompts(const std::string& folder) {
  const auto generated = generated_prompt_set();
  std::vector<Finding> findings = {{.topic = "evaluation",
                                    .name = "generated prompts",
                                    .found = true,
                                    .needed = true,
                                    .detail = fmt::format("{} prompts, sha256 {}", generated.prompts.size(),
                                                          generated.sha256.substr(0, 12))}};
  const auto given = public_prompts(folder);
  findings.insert(findings.end(), given.begin(), given.end());
  return findings;
}

/// Scorers whose model comes from outside: where each was found, or where it was looked for.
std::vector<Finding> scorers(const std::string& chosen) {
  std::vector<Finding> findings;
  Registry registry;
  try {
    registry = load_registry();
  } catch (const Error&) {
    return findings;  // said above
  }
  const ScorerFolders folders(registry, chosen);
  for (const auto& evaluator : registry.evaluators) {
    if (evaluator.folder_class.empty()) continue;
    Finding finding{.topic = "evaluation", .name = "scorer " + evaluator.name};
    if (const auto folder = folders.find(evaluator.name)) {
      finding.found = true;
      finding.detail = scorer_folder_text(*folder, finding);
    } else {
      finding.hint = fmt::format("only for {}: no folder {}; it takes the public folder of a {}",
                                 join(names_of(evaluator.metrics), ", "), folders.looked_for(evaluator.name),
                                 evaluator.folder_class);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// External scorers of the chosen folder: each scores a test image.
std::vector<Finding> external_scorers(const std::string& chosen) {
  std::vector<Finding> findings;
  if (chosen.empty()) return findings;
  for (const auto& folder : external_scorer_folders(chosen)) {
    Finding finding{.topic = "evaluation", .name = "scorer " + folder.filename().string()};
    try {
      const auto scorer = read_external_scorer(folder);
      try_external_scorer(scorer);
      finding.found = true;
      finding.detail = fmt::format("external, version {}, answers with {}", scorer.version,
                                   join(scorer.metric_names(), ", "));
    } catch (const Error& error) {
      finding.detail = fmt::format("{}: {}", error.where(), error.problem());
      finding.hint = error.hint();
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

bool has_font(const std::string& family) {
  PangoFontFamily** families = nullptr;
  int count = 0;
  pango_font_map_list_families(pango_cairo_font_map_get_default(), &families, &count);
  const bool found = std::any_of(families, families + count, [&](PangoFontFamily* known) {
    return family == pango_font_family_get_name(known);
  });
  g_free(families);
  return found;
}

std::vector<Finding> pictures() {
  const bool font = has_font("DejaVu Sans");
  return {{.topic = "pictures",
           .name = "font DejaVu Sans",
           .found = font,
           .needed = true,
           .detail = font ? "found" : "",
           .hint = "labels of grids and figures: apt-get install fonts-dejavu-core"},
          program_finding("pictures", "gnuplot", "gnuplot", "--version",
                          "only for figures (`harness figure`): apt-get install gnuplot-nox"),
          program_finding("pictures", "pdflatex", "pdflatex", "--version",
                          "only to set table.tex: apt-get install texlive-latex-recommended")};
}

/// Python, which only scripts that compare with the public implementations use.
std::vector<Finding> checks() {
  auto python = program_finding("checks", "Python", "python3", "--version",
                                "only for scripts/setup and the check scripts: apt-get install python3");
  Finding packages{
      .topic = "checks",
      .name = "torch and diffusers for Python",

      .hint = "only for scripts/check-lora and the peer benchmarks, which say how to install them"};
  if (python.found) {
    const auto versions = first_line({"python3", "-c",
                                      "from importlib.metadata import version as v; print('torch ' + "
                                      "v('torch') + ', diffusers ' + v('diffusers'))"});
    packages.found = versions.has_value();
    packages.detail = versions.value_or("");
  }
  return {std::move(python), std::move(packages)};
}

/// The folder itself, or the nearest one above it that is there.
fs::path existing_part(fs::path folder) {
  folder = fs::absolute(folder);
  while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

Finding disk(const Workspace& workspace) {
  Finding finding{
      .topic = "workspace", .name = "disk", .needed = true, .hint = "the embedded default needs about 1 GB"};
  struct statvfs info {};
  const auto place = existing_part(workspace.folder);
  if (::statvfs(place.c_str(), &info) != 0) return finding;
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  finding.found = free >= 1e9;
  finding.detail = fmt::format("{} free at {}", gigabytes(free), place.string());
  return finding;
}

Finding writable(const Workspace& workspace) {
  const auto place = existing_part(workspace.folder);
  const bool can = ::access(place.c_str(), W_OK) == 0;
  return {.topic = "workspace",
          .name = "folder",
          .found = can,
          .needed = true,
          .detail = fmt::format("{}{}", workspace.folder.string(),
                                fs::exists(workspace.folder) ? "" : " (not made yet)"),
          .hint = "it cannot be written: choose another with --out"};
}

Finding file_system(const Workspace& workspace) {
  const auto network = network_file_system_of(workspace.db);
  return {.topic = "workspace",
          .name = "file system",
          .found = !network,
          .detail = network ? *network : "local",
          .hint =
              "a network file system: the DB then uses a rollback journal and one process at a time; --db "
              "FILE beside --out DIR can put it on a local disk"};
}

Finding database(const Workspace& workspace) {
  Finding finding{.topic = "workspace", .name = "database", .found = true};
  if (!fs::exists(workspace.db)) {
    finding.detail = fmt::format("none yet at {}", workspace.db.string());
    return finding;
  }
  try {
    Store store(workspace.db, OpenMode::kReadOnly);
    finding.detail = fmt::format("{}, schema version {}, {}", workspace.db.string(),
                                 schema_version(store.database()), counted(std::ssize(store.runs()), "run"));
  } catch (const Error& error) {
    finding.found = false;
    finding.detail = error.problem();
    finding.hint = with_place(error.hint().empty() ? kRebuildHint : error.hint(), workspace.options);
  }
  return finding;
}

/// Who works in the workspace: not a fault, but what a waiting command waits for.
Finding locks(const Workspace& workspace) {
  Finding finding{.topic = "workspace", .name = "locks", .found = true, .detail = "none held"};
  const auto lock = workspace.folder / ".lock";
  if (event_log_is_held(lock))
    finding.detail = fmt::format("a harness works here (pid {})", trim(read_file(lock)));
  return finding;
}

}  // namespace

std::vector<Finding> examine(const DoctorOptions& options) {
  std::vector<Finding> all;
  const auto add = [&](std::vector<Finding> findings) {
    std::move(findings.begin(), findings.end(), std::back_inserter(all));
  };
  add(machine());
  add(program());
  add({libtorch_finding()});
  add(gpu());
  add(weights(options.weights));
  add({tesseract()});
  add(scorers(options.scorers));
  add(external_scorers(options.scorers));
  add(prompts(options.prompts));
  add(pictures());
  add(checks());
  const auto& workspace = options.workspace;
  add({writable(workspace), disk(workspace), file_system(workspace), database(workspace), locks(workspace)});
  return all;
}

}  // namespace harness
