#include <fmt/format.h>

#include <filesystem>

#include "harness/plan/row_source.h"
#include "harness/plan/scorers.h"

namespace harness {
namespace {

/// A method that is trained here.
class TrainedRows : public RowSource {
 public:
  RunPlan run(const Plan& plan, const std::string& name, std::size_t i, const GivenRow&) const override {
    RunPlan run{.job = {},
                .name = name,
                .method = plan.spec.arm(name).method,
                .seed = plan.seeds[i],
                .checkpoints = plan.checkpoints};
    Json& identity = run.job.identity = common_identity("train", plan, run.seed);
    identity["method"] = run.method;
    if (const auto& source = plan.registry.method(run.method, name).source; !source.identity.empty())
      identity["method_source"] = source.identity;
    identity["train_prompts_sha256"] = plan.inputs.training.sha256;
    identity["settings"] = plan.settings.effective_loop(plan.registry, "train", name);
    identity["settings"]["checkpoints"] = plan.checkpoints;
    identity["method_settings"] = plan.settings.effective_method(name);
    identity["scorers"] = plan.reward_scorers;
    add_target_form(identity, plan, plan.reward_scorers, plan.inputs.training);
    run.job.paths = {{"weights", plan.inputs.weights_path()},
                     {"text_cache", plan.workspace.text_cache_folder()},
                     {"train_prompts", std::filesystem::absolute(plan.inputs.training_file).string()},
                     {"scorer", scorer_path().string()}};
    add_scorer_paths(run.job.paths, plan.reward_scorers, plan);
    run.job.label = fmt::format("train {} (seed {})", name, run.seed);
    return run;
  }

  bool has_averages(const RunPlan&) const override { return true; }
};

}  // namespace

const RowSource& trained_source() {
  static const TrainedRows rows;
  return rows;
}

}  // namespace harness
