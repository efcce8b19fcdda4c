#include "core/error.h"
#include "core/files.h"
#include "trainers/loop/run_state.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"
#include "worker/outside_weights.h"

namespace harness {
namespace fs = std::filesystem;

bool run_import(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  if (!ranks.is_root()) return true;
  remove_asides(job.folder / "checkpoints");
  const auto held = hold_weights(job);
  const auto backbone = Backbone::load(backbone_source(job));
  held.expect_unchanged();
  const auto planned = job.get<Json>("imported"), settings = job.get<Json>("settings");
  std::string form;
  double done = 0;
  const auto report_progress = [&] {
    reporter.progress(done, static_cast<double>(planned.size()), "checkpoints", 0, "");
  };
  report_progress();
  for (const auto& step : settings.at("checkpoints")) {
    if (reporter.should_stop()) return false;
    const auto number = step.dump();
    const auto place = job.path("checkpoint:" + number);
    const auto found = find_outside_checkpoint(place);
    if (found.checksum() != planned.at(number).get<std::string>())
      throw Error("was changed since the run was planned", place.string(), "repeat the command");
    const auto weights = read_outside(found, job.get<std::string>("backbone"), *backbone);
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
    report_progress();
  }
  reporter.completed({{"checkpoints", planned.size()}, {"form", form}});
  return true;
}

}  // namespace harness
