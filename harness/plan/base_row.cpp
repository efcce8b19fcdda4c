#include <fmt/format.h>

#include "harness/plan/row_source.h"

namespace harness {
namespace {

/// The base model, of which nothing is to be done.
class BaseRows : public RowSource {
 public:
  RunPlan run(const Plan& plan, const std::string&, std::size_t i, const GivenRow&) const override {
    const auto seed = plan.seeds[i];
    RunPlan run{.job = {}, .name = kBaseMethod, .method = kBaseMethod, .seed = seed, .checkpoints = {0}};
    run.job.identity = common_identity("base", plan, seed);
    run.job.identity["method"] = kBaseMethod;
    run.job.paths = {{"weights", plan.inputs.weights_path()}};
    run.job.label = fmt::format("base (seed {})", seed);
    return run;
  }

  std::vector<CheckpointRecord> keep_checkpoints(const Plan& plan, const RunPlan& run) const override {
    return {{.run_id = run.job.id, .path = plan.inputs.weights_path(), .sha256 = plan.inputs.weights_sha256}};
  }
};

}  // namespace

const RowSource& base_source() {
  static const BaseRows rows;
  return rows;
}

}  // namespace harness
