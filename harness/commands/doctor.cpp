#include <fmt/format.h>
#include <pango/pangocairo.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/host.h"
#include "core/processes/process.h"
#include "core/sha256.h"
#include "core/source_sums/build_info.h"
#include "core/streams.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "datasets/prompt_set.h"
#include "harness/batch/trial_job.h"
#include "harness/commands/command.h"
#include "harness/plan/model_folder.h"
#include "harness/plan/plan.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "harness/run/executor.h"
#include "harness/spec/external_scorers.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"
#include "results/schema/database_file.h"
#include "results/store/store.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// One thing that a feature stands on.
struct Finding {
  std::string topic = {};  ///< the section that it stands in
  std::string name = {};   ///< "Tesseract"
  bool found = false;
  bool needed = false;      ///< by the embedded default; without it that does not run
  std::string detail = {};  ///< what is there
  std::string hint = {};    ///< what it is for and what to do, where it is missing
};

constexpr const char* kSetup = "run scripts/setup, then scripts/build";
constexpr double kNeededByDefault = 1e9;  ///< bytes of memory and of disk

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

using Detail = std::optional<std::string>;
using Look = std::function<Detail()>;

/// The finding with the detail that `look` gives: it is missing where there is none, or where `look` throws,
/// which `failed` puts in words.
Finding look_for(
    Finding finding, const Look& look,
    const std::function<void(const Error&, Finding&)>& failed = [](const Error& error, Finding& missing) {
      missing.detail = error.what();
    }) {
  try {
    const auto detail = look();
    finding.found = detail.has_value();
    finding.detail = detail.value_or("");
  } catch (const Error& error) {
    failed(error, finding);
  }
  return finding;
}

Finding program_finding(const std::string& name, const std::string& program, const std::string& hint) {
  return look_for({.name = name, .hint = hint}, [&]() -> Detail {
    const auto file = program_on_path(program);
    if (!file) return std::nullopt;
    return first_line({file->string(), "--version"}).value_or(file->string());
  });
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

std::vector<Finding> machine() {
  const auto& build = build_info();
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{.name = "processor",
           .found = true,
           .detail = fmt::format("{}, {} cores, {}", build.cpu, core_count(), build.cpu_features)},
          {.name = "memory",
           .found = memory >= kNeededByDefault,
           .needed = true,
           .detail = gigabytes(memory),
           .hint = "the embedded default needs about 1 GB"}};
}

std::vector<Finding> program() {
  const auto& build = build_info();
  return {{.name = "harness",
           .found = true,
           .detail = fmt::format("{} (revision {}, {}), {}", build.version, build.git_revision,
                                 build.build_type, executable_folder().string())},
          {.name = "libraries",
           .found = true,
           .detail = fmt::format("SQLite {}, cairo {}, Pango {}", sqlite3_libversion(),
                                 cairo_version_string(), pango_version_string())},
          look_for({.name = "registry", .needed = true, .hint = "run scripts/build: the build makes it"}, [] {
            const auto registry = load_registry();
            return fmt::format("{} methods, {} backbones, {} evaluators", registry.methods.size(),
                               registry.backbones.size(), registry.evaluators.size());
          })};
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
        if (!opened.status.ok()) {  // behind what CUDA's libraries say
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

/// What the worker has for GPUs, whether there is one or not.
std::vector<Finding> gpu_support() {
  const auto support = Json::parse(output_of({worker_program().string(), "gpu"}), nullptr, false);
  if (!support.is_object()) return {};  // LibTorch's own finding says so
  const auto missing = support.value("missing", "");
  const bool has_kernels = support.value("kernels", false);
  return {{.name = "LibTorch's CUDA library",
           .found = missing.empty(),
           .detail = missing.empty() ? "can be loaded" : missing,
           .hint = "only for --device cuda:N: " + support.value("hint", "")},
          {.name = "kernels of the cuda preset",
           .found = has_kernels,
           .detail = has_kernels ? "in this build" : "",
           .hint = "only for speed and memory with --device cuda:N: HARNESS_PRESET=cuda scripts/harness"}};
}

std::vector<Finding> gpu() {
  auto findings = gpu_support();
  findings.insert(findings.begin(), cuda_device());
  findings.push_back(look_for(
      {.name = "CUDA toolkit", .hint = "only for scripts/build cuda: install nvcc 13"}, []() -> Detail {
        for (const fs::path& nvcc :
             {program_on_path("nvcc").value_or(""), fs::path("/usr/local/cuda/bin/nvcc")}) {
          if (fs::exists(nvcc))
            return first_line({nvcc.string(), "--version"}, "release").value_or(nvcc.string());
        }
        return std::nullopt;
      }));
  return findings;
}

/// A copy of a build folder goes on reading what lies in the sources that it was built from.
std::string copied_note(const fs::path& folder) {
  const auto is_in_tree = [](const fs::path& path) {
    const auto inside = path.lexically_relative(source_tree());
    return !inside.empty() && *inside.begin() != "..";
  };
  if (!is_in_tree(folder) || is_in_tree(executable_folder())) return {};
  return fmt::format(
      " (of the sources that this copy in {} was built from; `cmake --install` gives it files of its own)",
      executable_folder().string());
}

/// Weights of every backbone, in the chosen folder or where the backbone looks.
std::vector<Finding> weights(const Registry& registry, const std::string& chosen) {
  std::vector<Finding> findings;
  const auto named = chosen.empty() ? std::string() : backbone_of_folder(chosen);
  for (const auto& backbone : registry.backbones) {
    const auto look = [&] {
      const auto folder = find_weights(backbone, backbone.name == named ? chosen : "");
      return folder.empty() ? "random, by seed"
                            : fmt::format("{}{}, sha256 {}", folder.string(), copied_note(folder),
                                          weights_checksum(folder).substr(0, 12));
    };
    const auto failed = [&](const Error& error, Finding& missing) {
      missing.hint =
          missing.needed
              ? fmt::format("{}; {}", error.problem(), kSetup)
              : fmt::format("only for --backbone {}: name its folder with --weights DIR", backbone.name);
    };
    findings.push_back(look_for(
        {.name = "weights of " + backbone.name, .needed = !backbone.default_weights.empty()}, look, failed));
  }
  return findings;
}

Finding tesseract() {
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

/// The generated sets, and those of a folder laid out like the public repositories, one a task; or of a file.
std::vector<Finding> prompts(const std::string& place) {
  const auto generated = generated_prompt_set();
  std::vector<Finding> findings = {{.name = "generated prompts",
                                    .found = true,
                                    .needed = true,
                                    .detail = fmt::format("{} prompts, sha256 {}", generated.prompts.size(),
                                                          generated.sha256.substr(0, 12))}};
  std::error_code unreadable;
  const bool is_file = fs::is_regular_file(place, unreadable);
  for (const auto& task : is_file ? std::vector{task_of_file(place)} : prompt_tasks()) {
    if (place.empty() || !has_prompt_file(place, task)) continue;
    const auto set = load_prompt_set(find_prompt_file(place, task), task);
    findings.push_back({.name = "public prompts",
                        .found = true,
                        .detail = fmt::format("{}, {} prompts, sha256 {}{}", set.name, set.prompts.size(),
                                              set.sha256.substr(0, 12), set.known ? "" : " (unknown)")});
  }
  if (findings.size() > 1) return findings;
  if (!place.empty()) find_prompt_file(place, kOcrPrompts);  // says what is missing
  findings.push_back({.name = "public prompts",
                      .hint = "only for --prompts: a folder with ocr/test.txt, pickscore/test.txt or "
                              "geneval/test_metadata.jsonl, or a file (`harness doctor --prompts DIR` "
                              "checks one)"});
  return findings;
}

/// Scorers whose model comes from outside: where each was found, or where it was looked for.
std::vector<Finding> scorers(const Registry& registry, const std::string& chosen) {
  std::vector<Finding> findings;
  const ScorerFolders folders(registry, chosen);
  for (const auto& evaluator : registry.evaluators) {
    if (evaluator.folder_class.empty()) continue;
    const auto folder = folders.find(evaluator.name);
    const auto look = [&]() -> Detail {
      if (!folder) return std::nullopt;
      const auto files = scorer_files(*folder, evaluator.folder_parts);
      return fmt::format("{}, {} files {}, read when a plan uses them", folder->string(), files.size(),
                         sha256_hex(canonical_json(Json(files))).substr(0, 12));
    };
    const auto failed = [&](const Error& error, Finding& missing) {
      missing.hint = error.hint().empty() ? "fetch the folder again" : error.hint();
      missing.detail = fmt::format("{} {}", folder->string(), error.problem());
    };
    findings.push_back(look_for(
        {.name = "scorer " + evaluator.name,
         .hint = fmt::format(
             "only for {}: no folder {}; it takes the files of a {} (`harness list evaluators` shows which)",
             join(names_of(evaluator.metrics), ", "), folders.looked_for(evaluator.name),
             evaluator.folder_class)},
        look, failed));
  }
  return findings;
}

/// External scorers of the chosen folder: each scores a test image.
std::vector<Finding> external_scorers(const std::string& chosen) {
  std::vector<Finding> findings;
  if (chosen.empty()) return findings;
  for (const auto& folder : external_scorer_folders(chosen)) {
    const auto look = [&] {
      const auto scorer = read_external_scorer(folder);
      for (const auto& [metric, reason] : try_external_scorer(scorer))
        throw without_trial_value(scorer, metric, reason);
      return fmt::format("external, version {}, answers with {}", scorer.version,
                         join(scorer.metric_names(), ", "));
    };
    const auto failed = [](const Error& error, Finding& missing) {
      missing.detail = fmt::format("{}: {}", error.where(), error.problem());
      missing.hint = error.hint();
    };
    findings.push_back(look_for({.name = "scorer " + folder.filename().string()}, look, failed));
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
  return {{.name = "font DejaVu Sans",
           .found = font,
           .needed = true,
           .detail = font ? "found" : "",
           .hint = "labels of grids and figures: apt-get install fonts-dejavu-core"},
          {.name = "font Liberation Sans",
           .found = has_font("Liberation Sans"),
           .detail = has_font("Liberation Sans") ? "found" : "",
           .hint = "without it figures use DejaVu Sans: apt-get install fonts-liberation"},
          program_finding("pdflatex", "pdflatex",
                          "only to set table.tex: apt-get install texlive-latex-recommended")};
}

/// Python, which only scripts that compare with the public implementations use.
std::vector<Finding> checks() {
  auto python = program_finding("Python", "python3",
                                "only for scripts/setup and the check scripts: apt-get install python3");
  const auto look = [&]() -> Detail {
    if (!python.found) return std::nullopt;
    return first_line({"python3", "-c",
                       "from importlib.metadata import version as v; print('torch ' + "
                       "v('torch') + ', diffusers ' + v('diffusers'))"});
  };
  auto packages =
      look_for({.name = "torch and diffusers for Python",
                .hint = "only for scripts/check-lora and the peer benchmarks, which say how to install them"},
               look);
  return {std::move(python), std::move(packages)};
}

Finding disk(const fs::path& place) {
  Finding finding{.name = "disk", .needed = true, .hint = "the embedded default needs about 1 GB"};
  struct statvfs info {};
  if (::statvfs(place.c_str(), &info) != 0) return finding;
  const double free = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  finding.found = free >= kNeededByDefault;
  finding.detail = fmt::format("{} free at {}", gigabytes(free), place.string());
  return finding;
}

Finding database(const Workspace& workspace) {
  const auto look = [&] {
    if (!fs::exists(workspace.db)) return fmt::format("none yet at {}", workspace.db.string());
    Store store(workspace.db, OpenMode::kReadOnly);
    return fmt::format("{}, schema version {}, {}", workspace.db.string(), schema_version(store.database()),
                       counted(std::ssize(store.runs()), "run"));
  };
  const auto failed = [&](const Error& error, Finding& missing) {
    missing.detail = error.problem();
    missing.hint = with_place(error.hint().empty() ? kRebuildHint : error.hint(), workspace.options);
  };
  return look_for({.name = "database"}, look, failed);
}

std::vector<Finding> workspace_findings(const Workspace& workspace) {
  const auto place = existing_part(workspace.folder);
  const auto lock = workspace.folder / ".lock";
  const auto network = network_file_system_of(workspace.db);
  return {
      {.name = "folder",
       .found = ::access(place.c_str(), W_OK) == 0,
       .needed = true,
       .detail = workspace.folder.string() + (fs::exists(workspace.folder) ? "" : " (not made yet)"),
       .hint = "it cannot be written: choose another with --out"},
      disk(place),
      {.name = "file system",
       .found = !network,
       .detail = network.value_or("local"),
       .hint = "a network file system: the DB then uses a rollback journal and one process at a time; --db "
               "FILE beside --out DIR can put it on a local disk"},
      database(workspace),
      // Who works here: not a fault, but what a waiting command waits for.
      {.name = "locks",
       .found = true,
       .detail = event_log_is_held(lock) ? fmt::format("a harness works here (pid {})", trim(read_file(lock)))
                                         : "none held"}};
}

/// That a batch job finds the program, its libraries and the workspace where it runs.
Finding trial_job(const Batch& batch, const Workspace& workspace, const std::string& arguments) {
  Finding finding{.name = "trial job",
                  .needed = true,
                  .hint = fmt::format(
                      "put the workspace (--out), the program and LibTorch (HARNESS_DEPS) on a file system "
                      "that all nodes see, and name a partition with {}",
                      batch.option())};
  const auto look = [&]() -> Detail {
    constexpr int kSeconds = 120;
    const auto answer = run_trial_job(batch, {.place = existing_part(workspace.folder),
                                              .words = {worker_program().string(), "describe"},
                                              .arguments = arguments,
                                              .limit_s = kSeconds});
    if (!Json::accept(answer.output)) throw Error("harness-worker does not answer on " + answer.node);
    return fmt::format("job {} on {}: found program, LibTorch and workspace", answer.job, answer.node);
  };
  return look_for(finding, look, [](const Error& error, Finding& missing) {
    missing.detail = error.problem();
    if (!error.hint().empty()) missing.hint = error.hint();
  });
}

std::vector<Finding> batch_findings(const Batch& batch, const Workspace& workspace,
                                    const std::string& arguments) {
  const auto& names = batch.names;
  auto queue = look_for({.name = names.submit + ", " + names.list, .needed = true}, [&]() -> Detail {
    batch.require({});
    return first_line({names.submit, "--version"});
  });
  if (!queue.found) return {queue};
  return {queue, trial_job(batch, workspace, arguments)};
}

/// What this build knows; nothing where it cannot be read, which is a finding of its own.
std::optional<Registry> known_registry() {
  try {
    return load_registry();
  } catch (const Error&) {
    return std::nullopt;
  }
}

struct Options {
  WorkspaceChoice place;
  std::string weights, prompts, scorers;                  ///< folders to look into besides the usual places
  std::string executor = kLocalExecutor;                  ///< as of reproduce
  std::map<std::string, std::vector<std::string>> typed;  ///< as of DealingOptions

  std::string arguments(const Batch& batch) const { return join(typed.at(batch.names.executor), " "); }
  bool json = false;
};

/// Looks for everything that some feature of this build needs. Changes nothing, and throws only for folders
/// that were named and are not there.
std::vector<Finding> examine(const Options& options) {
  const auto workspace = find_workspace(options.place);
  std::vector<Finding> all;
  const auto add = [&](const std::string& topic, std::vector<Finding> findings) {
    for (auto& finding : findings) {
      finding.topic = topic;
      all.push_back(std::move(finding));
    }
  };
  const auto registry = known_registry();
  add("machine", machine());
  add("program", program());
  add("training", {libtorch()});
  add("training", gpu());
  if (registry) add("training", weights(*registry, options.weights));
  add("evaluation", {tesseract()});
  if (registry) add("evaluation", scorers(*registry, options.scorers));
  add("evaluation", external_scorers(options.scorers));
  add("evaluation", prompts(options.prompts));
  add("pictures", pictures());
  add("checks", checks());
  add("workspace", workspace_findings(workspace));
  if (const auto* batch = find_batch(options.executor))
    add(batch->names.name, batch_findings(*batch, workspace, options.arguments(*batch)));
  return all;
}

const char* state_of(const Finding& finding) {
  if (finding.found) return "ok";
  return finding.needed ? "MISSING" : "missing";
}

void print_findings(const std::vector<Finding>& findings) {
  std::string topic;
  for (const auto& finding : findings) {
    if (finding.topic != topic) put("{}{}\n", topic.empty() ? "" : "\n", finding.topic);
    topic = finding.topic;
    std::string text = finding.detail;
    if (!finding.found && !finding.hint.empty()) text += (text.empty() ? "" : "; ") + finding.hint;
    put("  {:<8} {:<31} {}\n", state_of(finding), finding.name, text);
  }
}

Json findings_json(const std::vector<Finding>& findings, bool healthy) {
  Json list = Json::array();
  for (const auto& finding : findings) {
    list.push_back({{"topic", finding.topic},
                    {"name", finding.name},
                    {"found", finding.found},
                    {"needed", finding.needed},
                    {"detail", finding.detail},
                    {"hint", finding.found ? "" : finding.hint}});
  }
  return {{"healthy", healthy}, {"findings", std::move(list)}};
}

/// Those that nodes can be proved for.
std::vector<std::string> executors() {
  std::vector<std::string> names = {kLocalExecutor};
  for (const auto& batch : batches()) names.push_back(batch->names.executor);
  return names;
}

int doctor(const Options& o) {
  require_choice(o.executor, executors(), "executor", "--executor");
  for (const auto& batch : batches()) batch->parse(o.arguments(*batch));
  const auto findings = examine(o);
  const bool healthy = std::ranges::all_of(findings, [](const Finding& f) { return f.found || !f.needed; });
  return print_answer(
      o.json, findings_json(findings, healthy), [&] { print_findings(findings); }, healthy ? 0 : 1);
}

Command make_doctor() {
  auto o = std::make_shared<Options>();
  Command command{"doctor", "Check what is installed, and what is missing for which feature", R"(
"ok" is there; "missing" leaves out one feature, which is named; "MISSING" is needed by the embedded default
(`harness reproduce --table sd35-ocr`) and gives exit status 1.
Examples:
  harness doctor
  harness doctor --weights models/stable-diffusion-3.5-medium --prompts flow_grpo/dataset
  harness doctor --scorers models/scorers
  harness doctor --executor slurm --slurm '--partition=gpu' --out /shared/runs
  harness doctor --json)"};
  add_workspace_options(command, o->place);
  command.add("--weights", &o->weights, "also check this model folder", {.is_path = true, .value = "DIR"});
  command.add("--prompts", &o->prompts,
              "also check this file of prompts, or ocr/test.txt, pickscore/test.txt or "
              "geneval/test_metadata.jsonl in this folder",
              {.is_path = true, .value = "DIR|FILE"});
  command.add("--scorers", &o->scorers,
              "also check its scorers, one folder each; external ones score a test image",
              {.is_path = true, .value = "DIR"});
  command.add("--executor", &o->executor,
              batch_executors() + ": also run a one-minute job, which proves that nodes find all",
              {.offers = executors, .value = "NAME"});
  add_batch_options(command, o->typed, "that job", 1);
  return with_json(std::move(command), o, doctor);
}

const bool kRegistered = register_command(CommandGroup::kCheck, 40, make_doctor);

}  // namespace
}  // namespace harness
