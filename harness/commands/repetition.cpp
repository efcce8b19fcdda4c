#include "harness/commands/repetition.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/weights/weights_folder.h"
#include "datasets/python_random.h"
#include "harness/archive/placeless.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "harness/runs/job_files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kScorerPath = "scorer:";  ///< of a model or program, by the evaluator's name

/// The prompts of a checksum among those that the workspace keeps; empty if it has none.
std::string prompts_in(const fs::path& folder, const std::string& sha256) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (is_file_of_set(entry.path(), sha256)) return entry.path().string();
  }
  return "";
}

/// Where the job's weights are: the folder of --weights, or weights_here.
std::string weights_now(const Json& identity, const RecordedJob& recorded, const std::string& given) {
  const auto wanted = identity.at("weights_sha256").get<std::string>();
  if (!given.empty()) {
    const auto found = weights_checksum(given);
    if (found == wanted) return given;
    throw Error(fmt::format("holds other weights than {} was made with: sha256 {:.12} instead of {:.12}",
                            recorded.label, found, wanted),
                "--weights " + given, "give the folder of those");
  }
  if (const auto here = weights_here(recorded.folder / kJobFile)) return *here;
  throw Error(
      fmt::format("the weights of {} (sha256 {:.12}) are not found on this machine", recorded.label, wanted),
      (recorded.folder / kJobFile).string(), "name their folder with --weights DIR");
}

/// Paths of a job in a workspace that was moved or imported since, and the scorer of this build.
Json paths_now(const Json& job, const RecordedJob& recorded, const RepetitionOptions& options) {
  Json paths = job.at("paths");
  const Json& identity = job.at("identity");
  const bool is_training = recorded.kind == "train";
  const auto workspace = (is_training ? recorded.folder : recorded.folder.parent_path()).parent_path();
  const auto then = workspace_then(paths);
  for (auto& [name, value] : paths.items()) {
    const fs::path path = value.get<std::string>();
    const bool is_scorer = name.starts_with(kScorerPath);
    if (path.empty()) continue;
    if (name == "weights" && !options.weights.empty()) {
      value = weights_now(identity, recorded, options.weights);
    } else if (is_scorer && !options.scorers.empty()) {
      value = (fs::path(options.scorers) / name.substr(kScorerPath.size())).string();
    }
    if (value != path.string() || (path.is_absolute() && fs::exists(path))) continue;
    const auto relative = path.is_relative() ? path : path.lexically_relative(then);
    if (!relative.empty() && *relative.begin() != "..") value = (workspace / relative).string();
    if (fs::exists(value.get<std::string>())) continue;
    std::string here;
    if (name == "weights") here = weights_now(identity, recorded, "");
    if (is_scorer && fs::exists(path)) here = path.string();
    if (name == "prompts" || name == "train_prompts")
      here = prompts_in(workspace / "prompts", identity.value(name + "_sha256", std::string()));
    if (!here.empty()) value = fs::absolute(here).string();
    const bool is_source = name == "weights" || name == "prompts" || name == "train_prompts";
    if (is_source && here.empty())
      throw Error(fmt::format("{}: its {} are not there any more", recorded.label,
                              name == "weights" ? "weights" : "prompts"),
                  path.string(),
                  "put them back; or repeat the command that made it with their new place, which it notes",
                  Status::kFailed);
  }
  if (paths.contains("scorer")) paths["scorer"] = scorer_path().string();
  return paths;
}

/// Images that are drawn together. On the CPU an image has the same bits in any company; on a GPU only the
/// same shard is known to give them.
std::size_t drawn_together(const Json& identity) {
  if (identity.value("kind", "") != kEvaluateJob || identity.value("device", "cpu") == "cpu") return 1;
  return identity.at("settings").at("eval_shard").get<std::size_t>();
}

/// Some positions of a list, the same ones for the same list: whole shards of so many.
Json some_positions(const Json& all, const RepetitionOptions& options, std::size_t shard) {
  if (options.all || options.images >= all.size()) return all;
  const auto shards = [shard](std::size_t images) {
    return static_cast<std::int64_t>((images + shard - 1) / shard);
  };
  auto places = PythonRandom(std::to_string(options.seed)).sample(shards(all.size()), shards(options.images));
  std::sort(places.begin(), places.end());
  Json chosen = Json::array();
  for (const auto place : places) {
    const auto first = static_cast<std::size_t>(place) * shard;
    for (auto i = first; i < std::min(first + shard, all.size()); ++i) chosen.push_back(all.at(i));
  }
  return chosen;
}

}  // namespace

void prepare_repetition(const RecordedJob& job, const RepetitionOptions& options, const fs::path& folder) {
  make_folder(folder);
  Json document = read_job_document(job.folder);
  document["paths"] = paths_now(document, job, options);
  document["options"]["threads"] = core_count();
  document["options"].erase("required");
  // Images from outside may be gone since; the evaluation kept what it scored.
  if (job.kind == kScoreJob) document["paths"]["kept"] = fs::absolute(job.folder).string();
  if (job.is_evaluation()) {
    const auto file = folder / kPositionsFile;
    const auto positions =
        some_positions(Json(read_positions(job.folder)), options, drawn_together(document.at("identity")));
    write_file(file, positions.dump());
    document["paths"]["positions"] = fs::absolute(file).string();
  }
  write_file(folder / kJobFile, document.dump(1) + "\n");
}

}  // namespace harness
