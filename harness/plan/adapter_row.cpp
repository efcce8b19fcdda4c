#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/weights/outside_checkpoint.h"
#include "harness/plan/row_source.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

std::string place_of(const RunPlan& run, const std::string& step) {
  return run.job.paths.at("checkpoint:" + step).get<std::string>();
}

/// Checkpoints that are there already: their jobs take them in.
class AdapterRows : public RowSource {
 public:
  RunPlan run(const Plan& plan, const std::string& name, std::size_t i,
              const GivenRow& given) const override {
    RunPlan run{.job = {}, .name = name, .method = plan.spec.arm(name).method, .seed = plan.seeds[i]};
    Json& identity = run.job.identity = common_identity("import", plan, run.seed);
    run.job.paths = {{"weights", plan.inputs.weights_path()},
                     {"text_cache", plan.workspace.text_cache_folder()}};
    identity["method"] = run.method;
    for (const auto& [step, place] : given.runs[i]) {
      run.checkpoints.push_back(step);
      identity["imported"][std::to_string(step)] = find_outside_checkpoint(place).checksum();
      run.job.paths[fmt::format("checkpoint:{}", step)] = fs::absolute(place).string();
    }
    identity["settings"] = {{"checkpoints", run.checkpoints}};
    run.job.label = fmt::format("take in {} (seed {})", name, run.seed);
    return run;
  }

  bool has_averages(const RunPlan& run) const override {
    return std::ranges::any_of(run.checkpoints, [&](int step) {
      return find_outside_checkpoint(place_of(run, std::to_string(step))).form == OutsideForm::kHarness;
    });
  }

  void add_plan_notes(const Plan& plan, const std::vector<std::string>& rows,
                      std::vector<std::string>& notes) const override {
    if (plan.seeds.size() < 2) return;
    notes.push_back(fmt::format(
        "Runs of {} are paired with those of other rows by the seed that they are given for: a pair has the same "
        "noise in evaluation. With which seeds they were trained is the claim of who gave them.",
        join(rows, ", ")));
  }

  void add_record_notes(const Plan&, const std::vector<std::string>& rows,
                        std::vector<std::string>& notes) const override {
    notes.push_back(fmt::format(
        "Trained elsewhere: {}. Prompts, noise, sampler, scorers and the rule of selection are those "
        "of every row; what its training was is not recorded here, and its columns of training are "
        "empty.",
        join(rows, ", ")));
  }

  /// One training is not several, whatever the seeds of its images. Whether tensors are those of one
  /// training only a worker can check (plan_check.h).
  void check(Plan& plan) const override {
    std::map<std::pair<std::string, std::string>, std::pair<const RunPlan*, std::string>> known;
    for (const auto& run : plan.runs) {
      if (!run.traits().is_taken_in()) continue;
      for (const auto& [step, sum] : run.job.identity.at("imported").items()) {
        const auto& [other, other_step] =
            known.try_emplace({run.name, sum.get<std::string>()}, std::pair(&run, step)).first->second;
        if (other->seed == run.seed) continue;
        throw Error(
            fmt::format("the runs of seeds {} and {} are the same checkpoints: one training, not two ({} "
                        "and {})",
                        other->seed, run.seed, place_of(*other, other_step), place_of(run, step)),
            "--adapter " + run.name,
            "give each seed the run that was trained with it, or choose one of the --seeds");
      }
    }
  }
};

}  // namespace

const RowSource& adapter_source() {
  static const AdapterRows rows;
  return rows;
}

}  // namespace harness
