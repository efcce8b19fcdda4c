#include <fmt/format.h>

#include <utility>
#include <vector>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/files.h"
#include "core/weights/outside_checkpoint.h"
#include "trainers/loop/run_state.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A checkpoint as it comes into a run: raw weights and their averages, which are the same where the other
/// program saved one set.
struct Weights {
  std::vector<NamedTensor> raw, averages;
  std::string form;  ///< for people
};

std::vector<NamedTensor> copies(const std::vector<NamedTensor>& weights) {
  std::vector<NamedTensor> own;
  for (const auto& [name, tensor] : weights) own.push_back({name, tensor.detach().clone()});
  return own;
}

void require_finite(const std::vector<NamedTensor>& weights, const fs::path& place) {
  for (const auto& [name, tensor] : weights) {
    if (torch::isfinite(tensor).all().item<bool>()) continue;
    throw Error(fmt::format("tensor {} holds values that are not finite", name), place.string(),
                "the checkpoint is broken: leave it out");
  }
}

Weights read_own(const OutsideCheckpoint& found, Backbone& backbone) {
  Weights weights{.raw = {}, .averages = {}, .form = "a checkpoint of this project's"};
  load_checkpoint(found.folder, false, backbone);
  weights.raw = copies(backbone.trainable());
  load_checkpoint(found.folder, true, backbone);
  weights.averages = copies(backbone.trainable());
  return weights;
}

/// Leaves the backbone with the checkpoint in it.
Weights read_outside(const OutsideCheckpoint& found, Backbone& backbone) {
  if (found.form == OutsideForm::kHarness) return read_own(found, backbone);
  std::string form = "a whole network";
  if (found.form == OutsideForm::kTransformer) {
    backbone.drop_adapter();
    load_into(backbone.velocity_network(), ModelWeights::open(found.folder, "diffusion_pytorch_model"),
              {.device = backbone.device(), .dtype = backbone.trainable().front().tensor.scalar_type()});
  } else {
    const auto& adapter = backbone.load_adapter(found.folder);
    form = adapter.summary();
  }
  const auto weights = backbone.trainable();
  return {.raw = weights, .averages = weights, .form = std::move(form)};
}

}  // namespace

bool run_import(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  if (!ranks.is_root()) return true;
  remove_asides(job.folder / "checkpoints");
  const auto held = hold_weights(job);
  const auto backbone = Backbone::load(backbone_source(job));
  held.expect_unchanged();
  const auto planned = job.get<Json>("imported"), settings = job.get<Json>("settings");
  std::string form;
  double done = 0;
  reporter.progress(done, static_cast<double>(planned.size()), "checkpoints", 0, "");
  for (const auto& step : settings.at("checkpoints")) {
    if (reporter.should_stop()) return false;
    const auto number = step.dump();
    const auto place = job.path("checkpoint:" + number);
    const auto found = find_outside_checkpoint(place);
    if (found.checksum() != planned.at(number).get<std::string>())
      throw Error("was changed since the run was planned", place.string(), "repeat the command");
    const auto weights = read_outside(found, *backbone);
    require_finite(weights.raw, place);
    require_finite(weights.averages, place);
    form = weights.form;
    const auto folder = job.folder / "checkpoints" / number;
    const auto* adapter = backbone->adapter();
    const auto sum =
        write_checkpoint(folder, weights.raw, weights.averages, {{"step", step}, {"imported", weights.form}},
                         adapter != nullptr ? &adapter->config() : nullptr);
    reporter.event({{"type", "checkpoint"},
                    {"step", step},
                    {"path", fs::relative(folder, job.folder).string()},
                    {"sha256", sum},
                    {"lambda_late", nullptr},
                    {"lambda_late_last", nullptr},
                    {"clip_fraction", nullptr}});
    reporter.wake();
    ++done;
    reporter.progress(done, static_cast<double>(planned.size()), "checkpoints", 0, "");
  }
  reporter.completed({{"checkpoints", planned.size()}, {"form", form}});
  return true;
}

}  // namespace harness
