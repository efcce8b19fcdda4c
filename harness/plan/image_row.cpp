#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/paths/shown_path.h"
#include "core/text.h"
#include "harness/images/common_folder.h"
#include "harness/images/same_images.h"
#include "harness/plan/row_source.h"

namespace harness {
namespace {

/// Where a row's images were found, with what was left out of them.
std::string images_text(const Plan& plan, const std::string& row) {
  std::vector<std::string> places, remarks;
  for (const auto& run : plan.runs) {
    if (run.name != row) continue;
    for (const auto& [step, given] : run.images) {
      places.push_back(fmt::format("{} in {} ({})", counted(std::ssize(given.list), "image"),
                                   shown_path(given.folder), given.layout));
      remarks.insert(remarks.end(), given.notes.begin(), given.notes.end());
    }
  }
  places.insert(places.end(), remarks.begin(), remarks.end());
  return fmt::format("{}: {}.", row, join(places, "; "));
}

/// Images that are there already. They are part of a run's id, whatever their source and place.
class ImageRows : public RowSource {
 public:
  RunPlan run(const Plan& plan, const std::string& name, std::size_t i, const GivenRow& row) const override {
    RunPlan run{.job = {}, .name = name, .method = kImagesMethod, .seed = plan.seeds[i]};
    Json& identity = run.job.identity;
    identity = {{"kind", "images"},
                {"method", run.method},
                {"backbone", plan.backbone.name},
                {"task", plan.spec.task},
                {"seed", run.seed},
                {"weights_sha256", plan.inputs.weights_sha256},
                {"prompts_sha256", plan.inputs.evaluation.sha256},
                {"numerics_version", plan.numerics_version}};
    std::vector<int> steps;
    for (const auto& [step, place] : row.runs[i]) {
      const ImagePlace images{.path = place, .where = "images of " + name, .first_index = row.first_index};
      auto found = in_common_folder(find_images(images, plan.inputs.evaluation));
      auto& given = run.images[step];
      given = {.folder = found.folder, .list = summed(found), .layout = found.layout, .notes = found.notes};
      steps.push_back(step);
      identity["images"][std::to_string(step)] = checksum_of(given.list);
      run.job.paths[fmt::format("images:{}", step)] = given.folder.string();
    }
    identity["settings"] = {{"checkpoints", steps}};
    if (steps.size() > 1) run.checkpoints = steps;  // else there is nothing to choose
    run.job.label = fmt::format("images of {} (seed {})", name, run.seed);
    return run;
  }

  const char* evaluation_kind() const override { return kScoreJob; }

  /// No sampler draws them.
  void complete(const Plan& plan, const RunPlan& run, Job& evaluation) const override {
    evaluation.identity["settings"] = Json::object();
    evaluation.identity["samples"] = plan.spec.samples;
    evaluation.paths["images"] = run.images.at(evaluation.step).folder.string();
  }

  std::vector<CheckpointRecord> keep_checkpoints(const Plan&, const RunPlan& run) const override {
    std::vector<CheckpointRecord> checkpoints;
    for (const auto& [step, given] : run.images) {
      const auto path = fmt::format("checkpoints/{}", step);
      checkpoints.push_back({.run_id = run.job.id,
                             .step = step,
                             .path = path,
                             .sha256 = write_image_checkpoint(run.job.folder / path, step, given.list)});
    }
    return checkpoints;
  }

  void add_record_notes(const Plan& plan, const std::vector<std::string>& rows,
                        std::vector<std::string>& notes) const override {
    for (const auto& row : rows) notes.push_back(images_text(plan, row));
    if (plan.seeds.size() > 1) {
      notes.push_back(fmt::format(
          "That the {} folders of a row are as many training runs is the statement of who gave them; those of two "
          "rows are not paired.",
          plan.seeds.size()));
    }
    notes.push_back(fmt::format(
        "Noise not paired: the images of {} were drawn elsewhere. {} paired by prompt{} alone; prompts and scorers "
        "are those of every row, and how the images were drawn is not recorded here.",
        join(rows, ", "), plan.spec.has_base ? "Their differences are" : "Differences are",
        plan.spec.samples > 1 ? " and by the number of the image" : ""));
  }

  /// One set of images is not several, however its files were saved.
  void check(Plan& plan) const override {
    std::vector<ImagesOfRun> runs;
    for (const auto& run : plan.runs) {
      if (run.images.empty()) continue;
      auto& own = runs.emplace_back(ImagesOfRun{.row = run.name, .checkpoints = {}});
      for (const auto& [_, given] : run.images) own.checkpoints.push_back({given.folder, &given.list});
    }
    std::ranges::move(require_different_images(runs), std::back_inserter(plan.inputs.notes));
  }
};

}  // namespace

const RowSource& image_source() {
  static const ImageRows rows;
  return rows;
}

}  // namespace harness
