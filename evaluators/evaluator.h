#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "core/settings/settings.h"
#include "evaluators/metrics/metric_info.h"
#include "evaluators/sample_score.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

/// Scores the images of one job. Safe to use from several threads.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// All of its metrics, each with a value or a reason. The future may be waited for from any thread, and not
  /// longer than this object lives.
  virtual std::future<SampleScore> score(const ScorerText& text, const Image& image) = 0;

  /// Whether it is told a target that is a record (Target::text); else words alone.
  virtual bool reads_records() const { return true; }

  /// Processes that had to be replaced.
  virtual std::size_t replaced() const { return 0; }

  /// Why it was given up, as a sentence for people; nothing while it works.
  virtual std::optional<std::string> given_up() const { return std::nullopt; }

  /// How often it failed in the images waited for so far: what a resumed job needs. Null
  /// while it never did.
  virtual Json state() const { return nullptr; }
  /// Takes up a state() before the first image. Throws Error naming `where` for anything else.
  virtual void restore(const Json& /*state*/, const std::string& /*where*/) {}
};

/// What a job gives a scorer.
struct ScorerSetup {
  std::string name;
  Json identity;  ///< that the job was planned with, but for the sum of its sources
  /// A path of the job: "scorer" (the program harness-scorer), "scorer:NAME" (a scorer's folder). Throws
  /// Error where the job has none.
  std::function<std::filesystem::path(const std::string&)> path;
  std::filesystem::path scratch = {};  ///< the job's own folder, which its processes share
  int rank = 0;                        ///< of this process among those of the job
  int threads = 1;
  std::string device = "cpu";
  std::string where = {};  ///< the job, in messages
};

/// A training task: the reward of an image is a function of one metric.
struct RewardTask {
  std::string name, summary, metric;
  double (*reward)(double) = nullptr;  ///< of the metric's value; null: the value itself
};

/// A training task that is rewarded by a metric of an external scorer, or by minus it: this and its name.
inline constexpr const char* kMaximizeTask = "maximize:";
inline constexpr const char* kMinimizeTask = "minimize:";

/// One of several meanings that a scorer's number may have.
struct ScorerProfile {
  std::string name, formula;
};

/// The public model folder that --scorers holds for an evaluator.
struct ModelFolder {
  std::string model_class, model;
  std::vector<std::string> parts = {};  ///< its subfolders, a model each; empty: it is a model itself
};

/// An evaluator of this build: all that is known of it, and how it scores. One file registers it
/// (evaluators/README.md) and nothing else is edited.
struct Evaluator {
  std::string name, summary;
  std::string version = "1";  ///< of its values, where `identity` does not give more
  int place = 1000;           ///< in lists, equal places by name
  std::vector<MetricInfo> metrics = {};
  std::vector<RewardTask> tasks = {};
  std::string images = {};                   ///< the kind that it is for (core/image.h); empty: all
  std::vector<ScorerProfile> profiles = {};  ///< the first is the default
  std::optional<ModelFolder> folder = {};    ///< nothing: it needs none from outside
  bool guardrail = false;                    ///< computed in every evaluation, named by its table or not
  bool needs_target = false;                 ///< images of prompts that quote no text get no value
  bool has_gradient = false;                 ///< its scorers are DifferentiableScorers too (clip/)
  /// Files of the tree that its values come from, whose sum is in the identity of jobs; empty: the one that
  /// registers it.
  std::vector<std::string> sources = {};

  /// What else can change a value; null where its data files are not shipped: it cannot be chosen then.
  /// Empty: {"name", "version"} of one with `score`; of any other harness-scorer says it, whose profile it
  /// is.
  std::function<Json()> identity = {};
  /// Of an evaluator that needs the image and its prompt alone. An Error is the reason for a missing value.
  std::function<SampleScore(const ScorerText&, const Image&)> score = {};
  /// Of any other. Throws Error if what is there is not what the job was planned with.
  std::function<std::unique_ptr<Scorer>(const ScorerSetup&)> open = {};
  /// Reads its folder up to the headers of the weights and returns what they take in memory, in bytes. Throws
  /// Error naming the file and the rule that it breaks.
  std::function<std::int64_t(const std::filesystem::path& folder, const std::string& profile,
                             const std::string& where)>
      check = {};
};

/// Called by the initialiser of a constant in the file of each evaluator.
bool register_evaluator(Evaluator evaluator, const char* file = __builtin_FILE());

struct ByPlace {
  bool operator()(const Evaluator& a, const Evaluator& b) const {
    return std::tie(a.place, a.name) < std::tie(b.place, b.name);
  }
};

/// Those linked into this program. `harness`, which links no LibTorch, reads of all in registry.json.
const std::set<Evaluator, ByPlace>& evaluators();

/// nullptr for an unknown name.
const Evaluator* find_evaluator(const std::string& name);

/// Throws Error if the job was planned with another scorer than this one.
std::unique_ptr<Scorer> open_scorer(const Evaluator& evaluator, const ScorerSetup& setup);

/// Throws Error (`where`: what was found there) unless `found` is the identity that the job was planned with.
void require_planned(const ScorerSetup& setup, const Json& found, const std::string& where);

/// No value of any of the metrics, for this reason.
SampleScore without_values(const std::vector<MetricInfo>& metrics, const std::string& reason);

/// The descriptions of this build's evaluators and tasks (harness-worker describe).
Json describe_evaluators();
Json describe_tasks();

/// The settings that choose a profile, for evaluators that have several: NAME_profile.
std::vector<Setting> profile_settings();

/// The reward of a task from an image's metrics; nothing where its scorer failed. Throws Error for an unknown
/// task.
std::optional<double> task_reward(const std::string& task, const SampleScore& score);
/// Why there is none.
std::string missing_reward_reason(const std::string& task, const SampleScore& score);

/// Evaluator::check of a folder: `request` is {"folder", "profile"}; without a profile it is the first one.
std::int64_t check_scorer_folder(const std::string& name, const Json& request);

}  // namespace harness
