#include "harness/plan/scorers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/files.h"
#include "core/paths/shown_path.h"
#include "core/processes/process.h"
#include "core/text.h"
#include "core/weights/safetensors.h"
#include "core/weights/weights_folder.h"
#include "harness/spec/metric_catalogue.h"

namespace harness {
namespace fs = std::filesystem;

std::filesystem::path scorer_path() {
  if (const char* program = std::getenv("HARNESS_SCORER")) return program;
  return sibling_program("harness-scorer");
}

namespace {

/// What harness-scorer prints of a profile on `question`, "--describe" or "--characters".
Json ask_scorer(const std::string& question, const std::string& profile) {
  const auto program = scorer_path();
  const auto [status, text, _] = run_program({program.string(), question, "--profile", profile});
  auto answer = Json::parse(text, nullptr, false);
  if (!status.ok() || !answer.is_object()) {
    throw Error("cannot describe itself (" + status.text() + ")", program.string(), "see the message above",
                Status::kFailed);
  }
  return answer;
}

/// Version, settings, checksums of its data files.
Json describe_scorer(const std::string& profile) {
  auto hello = ask_scorer("--describe", profile);
  hello.erase("protocol");
  return hello;
}

/// So that "PickScore_v1" is near "pickscore".
std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  for (const auto& candidate : known) {
    if (plain_name(name).find(plain_name(candidate)) != std::string::npos)
      return fmt::format("rename it to \"{}\", or link it under that name", candidate);
  }
  return suggestion(name, known);
}

/// An unused folder is probably misspelt: its scorer would be left out without a message.
void expect_known_folders(const fs::path& chosen, const std::vector<std::string>& known) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(chosen)) {
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const char* file : {kExternalScorerFile, "config.json", "model.safetensors"}) {
    if (!fs::exists(chosen / file)) continue;
    throw Error(
        fmt::format("is the folder of one scorer: it holds {}", file), "--scorers " + chosen.string(),
        fmt::format("give the folder above it: --scorers {}",
                    fs::absolute(chosen / ".").lexically_normal().parent_path().parent_path().string()));
  }
  if (folders.empty()) {
    throw Error("holds no scorer", "--scorers " + chosen.string(),
                fmt::format("it takes one folder per scorer: {}, or one with a {}", join(known, ", "),
                            kExternalScorerFile));
  }
  for (const auto& folder : folders) {
    const auto name = folder.filename().string();
    if (std::ranges::count(known, name) > 0 || fs::exists(folder / kExternalScorerFile)) continue;
    throw Error(
        fmt::format("no scorer of this build is named \"{}\"", name), "--scorers " + folder.string(),
        fmt::format("{}; a program of your own needs a {} there", nearest(name, known), kExternalScorerFile));
  }
}

/// Empty where there is none.
fs::path data_folder(const std::string& name) {
  try {
    auto folder = find_data_file("scorers/" + name);
    return fs::is_directory(folder) ? folder : fs::path();
  } catch (const Error&) {
    return {};
  }
}

Json identity_of_folder(const EvaluatorInfo& evaluator, const ScorerFolders& folders) {
  const auto folder = folders.find(evaluator.name);
  if (!folder) {
    throw Error(
        fmt::format("scorer {} has no model here: there is no folder {}", evaluator.name,
                    folders.looked_for(evaluator.name)),
        "--scorers",
        fmt::format("it takes the files of a {} under the name {}; `harness list evaluators` shows which",
                    evaluator.folder_class, evaluator.name));
  }
  Json identity = evaluator.identity.is_object() ? evaluator.identity : Json::object();
  if (!identity.contains("name")) identity["name"] = evaluator.name;
  identity["files"] = scorer_files(*folder, evaluator.folder_parts);
  return identity;
}

/// The registry describes those inside harness-worker, files those with a folder; others are programs.
Json identity_of(const EvaluatorInfo& evaluator, const ScorerFolders& folders) {
  const bool is_known = evaluator.identity.is_object() && !evaluator.identity.empty();
  Json identity = !evaluator.folder_class.empty() ? identity_of_folder(evaluator, folders)
                  : is_known                      ? evaluator.identity
                                                  : describe_scorer(evaluator.name);
  if (!evaluator.source.identity.empty()) identity["source"] = evaluator.source.identity;
  return identity;
}

}  // namespace

std::string readable_characters(const std::string& profile) {
  return ask_scorer("--characters", profile).value("characters", "");
}

ScorerFolders::ScorerFolders(const Registry& registry, const std::string& chosen) : chosen_(chosen) {
  std::vector<std::string> names;
  for (const auto& evaluator : registry.evaluators) {
    if (!evaluator.folder_class.empty()) names.push_back(evaluator.name);
  }
  if (!chosen.empty()) {
    if (!fs::is_directory(chosen)) {
      throw Error("is not a folder", "--scorers " + chosen,
                  names.empty() ? std::string() : "it holds one folder per scorer: " + join(names, ", "));
    }
    expect_known_folders(chosen, names);
  }
  for (const auto& name : names) {
    const auto own = fs::path(chosen) / name;
    const auto folder = !chosen.empty() && fs::is_directory(own) ? own : data_folder(name);
    if (!folder.empty()) found_[name] = folder;
  }
}

std::optional<fs::path> ScorerFolders::find(const std::string& evaluator) const {
  const auto found = found_.find(evaluator);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

std::string ScorerFolders::looked_for(const std::string& evaluator) const {
  if (!chosen_.empty()) return (fs::path(chosen_) / evaluator).string();
  return fmt::format("scorers/{} (give its parent with --scorers DIR)", evaluator);
}

std::optional<std::string> reason_not_to_run(const Registry& registry, const ScorerFolders& folders,
                                             const std::string& metric, const std::string& backbone) {
  const auto* evaluator = registry.evaluator_of(metric, backbone);
  if (evaluator == nullptr) {
    if (registry.evaluator_of(metric) != nullptr) return "no evaluator gives it of this backbone's images";
    const bool is_reserved = std::ranges::count(reserved_metrics(), metric) > 0;
    return is_reserved ? "this build has no evaluator for it" : "no scorer under --scorers DIR gives it";
  }
  if (evaluator->folder_class.empty() || folders.find(evaluator->name)) return std::nullopt;
  return fmt::format("there is no folder {}", shown_path(folders.looked_for(evaluator->name)));
}

Json scorer_identities(const Registry& registry, const ScorerFolders& folders,
                       const std::vector<std::string>& metrics, const std::string& backbone) {
  Json identities = Json::object();
  for (const auto& metric : metrics) {
    const auto* evaluator = registry.evaluator_of(metric, backbone);
    if (evaluator != nullptr && !identities.contains(evaluator->name))
      identities[evaluator->name] = identity_of(*evaluator, folders);
  }
  return identities;
}

Json reward_identities(const Registry& registry, const ScorerFolders& folders, const std::string& task,
                       const std::string& backbone) {
  const auto& evaluator = registry.evaluator_of_task(task, backbone);
  return {{evaluator.name, identity_of(evaluator, folders)}};
}

std::map<std::string, std::string> scorer_files(const fs::path& folder,
                                                const std::vector<std::string>& parts) {
  std::map<std::string, std::string> files;
  std::set<fs::path> with_weights;
  for (const auto& name : parts.empty() ? single_model_files(folder) : files_of_parts(folder, parts)) {
    if (name.extension() == ".safetensors") {
      SafetensorsFile check(folder / name);
      with_weights.insert(name.parent_path());
    }
    files[name.string()] = remembered_sha256(folder / name);
  }
  for (const fs::path part : parts.empty() ? std::vector<std::string>{""} : parts) {
    if (with_weights.contains(part)) continue;
    throw Error("holds no model.safetensors, in one file or in shards", (folder / part).string(),
                "give the model's public folder as transformers saves it; pytorch_model.bin is not read");
  }
  return files;
}

std::map<std::string, std::string> folders_of(const Json& identities, const ScorerFolders& folders) {
  std::map<std::string, std::string> paths;
  for (const auto& [name, identity] : identities.items()) {
    if (const auto folder = folders.find(name); folder && identity.contains("files"))
      paths[name] = fs::absolute(*folder).lexically_normal().string();
  }
  return paths;
}

}  // namespace harness
