#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "core/error.h"
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
    RunPlan run{.job = {}, .name = name, .method = kOutsideMethod, .seed = plan.seeds[i]};
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

  /// One training is not several, by whatever seeds its images are drawn. Whether tensors are those of one
  /// training only a worker can say (plan_check.h).
  void check(Plan& plan) const override {
    std::map<std::pair<std::string, std::string>, std::pair<const RunPlan*, std::string>> known;
    for (const auto& run : plan.runs) {
      if (run.method != kOutsideMethod) continue;
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
