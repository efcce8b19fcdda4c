#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "trainers/loop_settings.h"

namespace harness {

/// Statistics of one update. Per-step values are NaN for untrained steps.
struct UpdateRecord {
  std::int64_t update_index = 0;  ///< from 1
  std::int64_t epoch = 0;         ///< from 1
  bool fresh = false;      ///< first update on these samples: their noise is independent of the policy's move
  bool on_policy = false;  ///< no update since they were sampled: every log-ratio is 0
  std::map<std::string, double> stats;
  std::map<std::string, std::vector<double>> per_step;
};

/// What a training has taken up to some update, without evaluations.
struct SpentTime {
  double seconds = 0;         ///< wall time
  double scorer_seconds = 0;  ///< of it: waiting for rewards
  double core_seconds = 0;    ///< CPU time of all processes; on GPUs: time that they were held
  std::optional<double> gpu_busy_seconds = {};  ///< of it, with the run's work (BusyTime); empty on a CPU
  double peak_bytes = 0;                        ///< peak memory of all processes; on GPUs theirs
  double weight_copies = 0;  ///< copies of the trained weights in addition to their average

  /// Calls visit(name, cost) for each.
  static void for_each(auto& costs, const auto& visit) {
    visit("seconds", costs.seconds);
    visit("scorer_seconds", costs.scorer_seconds);
    visit("core_seconds", costs.core_seconds);
    visit("gpu_busy_seconds", costs.gpu_busy_seconds);
    visit("peak_bytes", costs.peak_bytes);
    visit("weight_copies", costs.weight_copies);
  }
  Json to_json() const;  ///< an object with these names
  static SpentTime from_json(Fields fields);
};

/// A checkpoint, written to `folder`.
struct WrittenCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
  std::string sha256;  ///< of its manifest
  std::optional<double> lambda_late = {}, lambda_late_last = {}, clip_fraction = {};
  SpentTime spent = {};
};

/// What a network's rounding adds to a run's log-ratios.
struct MeasuredRounding {
  double late = 0;   ///< its Lambda_late
  double slope = 1;  ///< mean of d log(ratio) / dy
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredRounding, late, slope)

/// The loop's inputs and callbacks. Of several processes the root alone reports and decides whether to save;
/// one that must stop stops all; each has its own rewards and their state.
struct TrainHooks {
  /// Scores one image of a prompt, by its place in TrainJob::prompts; empty if the scorer failed.
  /// Thread-safe.
  std::function<std::future<std::optional<double>>(std::size_t prompt, Image)> reward;
  /// [B] rewards of pixels [B,3,H,W] in 0..1, one text each, differentiable in the pixels; null if the task's
  /// scorer has no gradient. Thread-safe.
  std::function<torch::Tensor(const std::vector<std::string>& texts, const torch::Tensor& pixels)>
      reward_gradient;
  std::function<void(const UpdateRecord&)> on_update;
  std::function<void(const WrittenCheckpoint&)> on_checkpoint;
  std::function<void(const std::string& message)> on_warning = [](const std::string&) {};
  /// Once per run whose network is rounded.
  std::function<void(const MeasuredRounding&)> on_rounding = [](const MeasuredRounding&) {};
  std::function<void(std::int64_t update)> on_resume;  ///< once, with the updates done; 0: from the start
  std::function<bool()> should_stop = [] { return false; };  ///< between epochs
  std::function<bool()> should_save = [] { return true; };   ///< a resume point, at each epoch's end
  std::function<bool()> may_save = [] { return true; };  ///< when it stops: no if another attempt took over
  /// State of the scorers, kept in resume points.
  std::function<Json()> reward_state = [] { return Json::object(); };
  std::function<void(const Json& state, const std::string& where)> restore_rewards =
      [](const Json&, const std::string&) {};
  /// Time to write a resume point.
  std::function<void(std::chrono::steady_clock::duration)> on_saved = [](auto) {};
};

struct TrainJob {
  TrainSettings settings;
  std::uint32_t seed = 42;
  std::vector<PromptText> prompts;  ///< the training set: a prompt's place in it is its noise address
  std::filesystem::path folder;     ///< of the run: checkpoints/ and resume/ are written there
  BackboneSource source;            ///< of the backbone, for the KL term's reference
  std::string resume_key;           ///< of valid resume points: build and CPU features
  /// Updates in the log: a resume point of a later one would leave a gap.
  std::int64_t recorded_updates = std::numeric_limits<std::int64_t>::max();
};

/// The prompts of all epochs, in their order.
std::vector<PromptText> prompts_of_all_epochs(const TrainJob& job);

/// The prompts of an epoch: indices in the training set.
std::vector<int> prompts_of_epoch(const TrainJob& job, std::int64_t epoch);

}  // namespace harness
