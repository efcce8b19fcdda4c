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

/// A training prompt: its position in the training set is its noise address.
struct TrainingPrompt {
  int position = 0;
  PromptText prompt;
};

/// Statistics of one update, as they are stored. Per-step values are NaN for untrained steps.
struct UpdateRecord {
  std::int64_t update_index = 0;  ///< from 1
  std::int64_t epoch = 0;         ///< from 1
  bool fresh = false;  ///< no update has used these samples, so their noise is independent of every change
  bool on_policy = false;  ///< no update at all since the old policy made them: every log-ratio is 0
  std::map<std::string, double> stats;
  std::map<std::string, std::vector<double>> per_step;
};

/// What a training has taken up to some update beyond what its settings decide. Evaluations are not in it.
struct SpentTime {
  double seconds = 0;         ///< wall time
  double scorer_seconds = 0;  ///< of it: waited for rewards
  double core_seconds = 0;    ///< CPU time of all processes; on GPUs: time that they were held
  std::optional<double> gpu_busy_seconds = {};  ///< of it, with the run's work (BusyTime); nothing on a CPU
  double peak_bytes = 0;                        ///< largest memory, of all processes; on GPUs theirs
  double weight_copies = 0;  ///< copies of the trained weights beside them and their average
};

/// A checkpoint that now lies in `folder`.
struct WrittenCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
  std::string sha256;  ///< of its manifest
  std::optional<double> lambda_late = {}, lambda_late_last = {}, clip_fraction = {};
  SpentTime spent = {};
};

/// What the rounding of a network adds to a run's log-ratios.
struct MeasuredRounding {
  double late = 0;   ///< Lambda_late of it
  double slope = 1;  ///< mean of d log(ratio) / dy, for what it is of the ratio
};

/// What the loop needs from outside, and what it tells: of several processes the root alone tells anything,
/// and is asked whether to save; one that is to stop stops all; rewards and their state are each process'
/// own.
struct TrainHooks {
  /// Scores one image; nothing where the scorer failed. Called from several threads, in no fixed order.
  std::function<std::future<std::optional<double>>(const TrainingPrompt&, Image)> reward;
  /// [B] rewards of pixels [B,3,H,W] in 0..1 for a text each, with gradient by the pixels; null where the
  /// task's scorer has none. Safe to call from several threads.
  std::function<torch::Tensor(const std::vector<std::string>& texts, const torch::Tensor& pixels)>
      reward_gradient;
  std::function<void(const UpdateRecord&)> on_update;
  std::function<void(const WrittenCheckpoint&)> on_checkpoint;
  std::function<void(const std::string& message)> on_warning = [](const std::string&) {};
  /// Once a run whose network is rounded.
  std::function<void(const MeasuredRounding&)> on_rounding = [](const MeasuredRounding&) {};
  std::function<void(std::int64_t update)>
      on_resume;  ///< once: the update that it goes on from, 0: the start
  std::function<bool()> should_stop = [] { return false; };  ///< asked between epochs
  std::function<bool()> should_save = [] { return true; };   ///< at each epoch's end: a resume point?
  std::function<bool()> may_save = [] { return true; };  ///< when it stops: not where another one has gone on
  /// What the rewards' side has to find again when the run goes on, kept in resume points.
  std::function<Json()> reward_state = [] { return Json::object(); };
  std::function<void(const Json& state, const std::string& where)> restore_rewards =
      [](const Json&, const std::string&) {};
  /// What writing a resume point took.
  std::function<void(std::chrono::steady_clock::duration)> on_saved = [](auto) {};
};

struct TrainJob {
  TrainSettings settings;
  std::uint32_t seed = 42;
  std::vector<TrainingPrompt> prompts;
  std::filesystem::path folder;  ///< of the run: checkpoints/ and resume/ are written there
  BackboneSource source;         ///< of the backbone, for the KL term's reference
  std::string resume_key;        ///< must be equal for a resume point to be taken: build and CPU features
  /// Updates whose records are kept: a resume point behind them would leave a gap.
  std::int64_t recorded_updates = std::numeric_limits<std::int64_t>::max();
};

/// The prompts of all epochs, in their order.
std::vector<PromptText> prompts_of_all_epochs(const TrainJob& job);

/// The prompts of an epoch, by their place in the training set.
std::vector<int> prompts_of_epoch(const TrainJob& job, std::int64_t epoch);

}  // namespace harness
