#include "core/files.h"

#include <fmt/format.h>

#include <set>

#include "core/file_checksums.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "harness/checks/check.h"
#include "harness/read/experiments.h"
#include "harness/runs/job_files.h"
#include "harness/runs/stored_files.h"
#include "harness/show/artifacts.h"
#include "results/store/left_out.h"
#include "results/store/rows.h"

// Files against the checksums that were taken when they were written.

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Adds a problem unless the file is there with these bytes.
bool expect_file(const fs::path& file, const std::string& sha256, const std::string& what,
                 Findings& findings) {
  if (!fs::is_regular_file(file)) {
    findings.add("{}: {} is missing", what, file.string());
    return false;
  }
  if (remembered_sha256(file) == sha256) return true;
  findings.add("{}: {} is not the file that was written", what, file.string());
  return false;
}

/// What an archive left out of the files of a check, which then holds for those that are here.
void warn_of_left_out(const std::string& part, std::int64_t count, const std::string& of_what,
                      Findings& findings) {
  if (count == 0) return;
  findings.warning = findings.summary + "; " + left_out_text(part, count, of_what);
}

void check_trained(const CheckedExperiment& experiment, const CheckedRun& run, std::size_t& found,
                   Findings& findings) {
  std::set<std::int64_t> steps;
  for (const auto& checkpoint : experiment.store.checkpoints(run.id)) {
    const auto what = fmt::format("{} at {}", run.name, checkpoint.step);
    const auto path = checkpoint.path.value_or("");
    if (path.empty() || !is_inside(path)) {
      findings.add("{}: no path", what);
      continue;
    }
    steps.insert(checkpoint.step);
    const auto folder = run.place / path;
    if (!expect_file(folder / "manifest.json", checkpoint.sha256.value_or(""), what, findings)) continue;
    const auto manifest = read_json(folder / "manifest.json");
    const auto step =
        Fields(manifest, (folder / "manifest.json").string()).optional("step", std::int64_t{-1});
    if (step != checkpoint.step) findings.add("{}: its manifest is of checkpoint {}", what, step);
    for (const auto& changed : changed_files(folder))
      findings.add("{}: {} {}", what, changed.file.string(), changed.problem());
    ++found;
  }
  for (const auto& step : run.config.at("settings").at("checkpoints")) {
    if (!steps.contains(step.get<std::int64_t>()))
      findings.add("{}: checkpoint {} is not in the DB", run.name, step.dump());
  }
}

/// The base model is the user's own folder, which need not be on this machine.
void check_weights(const CheckedExperiment& experiment, const CheckedRun& run, bool& absent,
                   Findings& findings) {
  const auto checkpoints = experiment.store.checkpoints(run.id);
  const auto expected = run.config.at("weights_sha256").get<std::string>();
  if (checkpoints.size() != 1 || checkpoints.front().sha256.value_or("") != expected)
    return findings.add("the base model is not the one of the runs");
  const auto path = checkpoints.front().path.value_or("");
  if (path.empty()) return;  // random weights by a recipe
  if (weights_here(run.place / kJobFile)) return;
  if (!fs::is_directory(path)) {
    absent = true;
  } else if (weights_checksum(path) != expected) {
    findings.add("{}: are not the weights that were trained from", path);
  }
}

}  // namespace

Findings check_images(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "restore the images from a copy, or repeat the reproduce with --fresh"};
  std::size_t images = 0;
  std::int64_t left_out = 0;
  for (const auto& e : experiment.evaluations) {
    if (is_left_out(e.place, kImagesFolder)) {
      ++left_out;
      continue;
    }
    std::set<std::string> paths;
    constexpr auto kSql = R"sql(
      SELECT s.path, s.sha256, p.position FROM samples AS s JOIN prompts AS p ON p.id = s.prompt_id
      WHERE s.evaluation_id = ?1 ORDER BY p.position, s.sample)sql";
    for (const auto& [path, sha256, position] :
         rows_of<std::string, std::string, std::int64_t>(experiment.store, kSql, e.id)) {
      const auto what = fmt::format("{}: prompt {}", e.name, position);
      if (path.empty()) continue;  // none was given
      if (!is_inside(path)) {
        findings.add("{}: {} is outside the evaluation's folder", what, path);
      } else if (!paths.insert(path).second) {
        findings.add("{}: {} is the path of two images", what, path);
      } else {
        expect_file(e.place / path, sha256, what, findings);
      }
      ++images;
    }
  }
  findings.sum_up(images, fmt::format("{} images have the bytes that were scored", images),
                  "there are no images");
  warn_of_left_out(kImagesFolder, left_out, "evaluation", findings);
  return findings;
}

Findings check_checkpoints(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "restore the checkpoint from a copy, or train again with --fresh"};
  std::size_t found = 0;
  std::int64_t left_out = 0;
  bool absent = false;
  for (const auto& run : experiment.runs) {
    if (run.traits().is_start) {
      check_weights(experiment, run, absent, findings);
    } else if (is_left_out(run.place, kCheckpointsFolder)) {
      ++left_out;
    } else {
      check_trained(experiment, run, found, findings);
    }
  }
  findings.summary = fmt::format("{} checkpoints have the bytes that were written", found);
  if (absent) findings.summary += "; the folder of the base model is not on this machine";
  warn_of_left_out(kCheckpointsFolder, left_out, "run", findings);
  return findings;
}

Findings check_artifacts(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "repeat the reproduce: it writes them again from the DB"};
  auto& store = experiment.store;
  const auto folder = experiment_folder(store, experiment);
  std::size_t intact = 0;
  for (const auto& [name, sum] : recorded_files(store, experiment)) {
    const auto file = folder / name;
    if (!fs::exists(file)) continue;  // written elsewhere, or taken away: no result is lost
    if (sha256_file(file) == sum) {
      ++intact;
    } else {
      findings.add("{} was changed after harness wrote it", file.string());
    }
  }
  findings.sum_up(intact, fmt::format("{} tables and pictures are as they were written", intact),
                  "no table or picture is here");
  return findings;
}

}  // namespace harness
