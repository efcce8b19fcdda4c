#include <fmt/format.h>

#include <numeric>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/streams.h"
#include "evaluators/evaluator.h"
#include "trainers/loop/trainable.h"
#include "trainers/loop_settings.h"
#include "trainers/method.h"
#include "worker/commands.h"
#include "worker/outside_check.h"
#include "worker/reward_gradient.h"

namespace harness {
namespace {

constexpr std::uint32_t kAnySeed = 42;                     // no check depends on it
constexpr std::int64_t kSmallBackboneBytes = 700'000'000;  // of a worker on a backbone without an estimate

/// Reads all that the request's jobs would read, and adds up the largest job.
class Check {
 public:
  explicit Check(const Json& request)
      : fields_(request, "check"), backbone_(fields_.required<std::string>("backbone")) {
    const auto threads = fields_.required<int>("threads");
    device_ = fields_.required<std::string>("device_kind");
    workload_.shards_at_once = device_ == "cpu" ? threads : 1;
    ranks_ = fields_.required<int>("ranks");
  }

  void evaluations() {
    if (!fields_.has("evaluation_settings")) return;
    const auto& given = fields_.get("evaluation_settings");
    const auto settings =
        read_evaluate_settings(without_model_choices(given, backbone_), "evaluation settings");
    require_grid(settings.grid, "evaluation settings");
    workload_.evaluation_images = settings.shard_size;
    uses_ema_ = settings.use_ema;
    note(given, settings.guidance, "evaluation settings");
  }

  void methods() {
    const auto task = fields_.required<std::string>("task");
    for (const auto& row : fields_.get("methods")) {
      const auto where = fmt::format("settings of {}", row.at("name").get<std::string>());
      const auto given = read_train_settings(without_model_choices(row.at("loop"), backbone_), where);
      const auto context = method_context(task, kAnyLatentSize, given);
      const auto configured = make_method(row.at("method"), row.at("settings"), context, where);
      require_reward_gradient(*configured.method, task, where);
      require_trainable(*configured.method, given, kAnySeed, where);
      const auto train = with_forests(given, *configured.method, kAnySeed, where);
      require_grid(train.grid, where);
      require_shared_folds(train, ranks_, where + ": --ranks");
      folds_ = std::gcd(folds_, train.gradient_folds);
      // All latents of a trajectory, and per step the old policy's mean and velocity.
      workload_.epoch_latents = std::max(workload_.epoch_latents,
                                         train.images_per_epoch() / ranks_ * (3 * train.sampling_steps + 1));
      workload_.training_images = std::max(workload_.training_images, train.shard_prompts * train.group_size);
      expect_moved_average(train, where);
      note(row.at("loop"), train.guidance, where);
    }
  }

  void scorers() {
    if (!fields_.has("scorers")) return;
    for (const auto& [name, scorer] : fields_.get("scorers").items())
      scorer_bytes_ += check_scorer_folder(name, scorer);
  }

  Json resources() {
    auto resources = estimate_resources({.name = backbone_,
                                         .folder = fields_.required<std::string>("weights"),
                                         .device = torch::Device(device_),
                                         .choices = choices_},
                                        workload_);
    if (scorer_bytes_ > 0) {
      auto& memory = resources["memory"];
      memory["scorers"] = scorer_bytes_;
      memory["total"] = memory.value("total", kSmallBackboneBytes) + scorer_bytes_;
    }
    return resources;
  }

  std::int64_t shared_folds() const { return folds_; }

  /// A sentence on each row of imported checkpoints.
  std::vector<std::string> outside() {
    if (!fields_.has("outside")) return {};
    use_one_thread();
    return check_outside(fields_.get("outside"),
                         {.name = backbone_, .folder = fields_.required<std::string>("weights")}, uses_ema_);
  }

 private:
  void require_grid(NoiseGrid grid, const std::string& where) const {
    if (grid != NoiseGrid::kModel || backbone_type(backbone_).has_usual_sampler) return;
    throw Error(fmt::format("is \"model\", and {} has no grid of its own", backbone_), where + ": grid",
                "give uniform or diffusers");
  }

  /// A checkpoint whose average still equals the base model must not be evaluated.
  void expect_moved_average(const TrainSettings& train, const std::string& where) const {
    if (!uses_ema_) return;
    for (const auto step : train.checkpoints) {
      if (ema_lag(train.ema, step).start_share < 1) continue;
      throw Error(
          fmt::format("checkpoint {} would hold the base model: the moving average is first updated later "
                      "(ema_interval {})",
                      step, train.ema.interval),
          where, "lower ema_interval, or evaluate the raw weights (eval_weights=raw)");
    }
  }

  void note(const Json& settings, double guidance, const std::string& where) {
    workload_.guided |= guidance != 1;
    choices_ = read_model_choices(backbone_, settings, where);
  }

  Fields fields_;
  std::string backbone_, device_;
  ModelChoices choices_;
  Workload workload_;
  int ranks_ = 1;
  std::int64_t folds_ = 0;  ///< common divisor of all methods' gradient folds
  bool uses_ema_ = false;
  std::int64_t scorer_bytes_ = 0;  ///< of weights that a worker's threads share
};

}  // namespace

int check_command(const Json& request) {
  Check check(request);
  check.evaluations();
  check.methods();
  check.scorers();
  const auto resources = check.resources();
  put("{}\n", Json{{"ok", true},
                   {"resources", resources},
                   {"shared_folds", check.shared_folds()},
                   {"outside", check.outside()}}
                  .dump());
  return 0;
}

int check_scorers_command(const Json& request) {
  std::int64_t bytes = 0;
  for (const auto& [name, scorer] : request.at("scorers").items()) bytes += check_scorer_folder(name, scorer);
  put("{}\n", Json{{"ok", true},
                   {"resources", {{"memory", {{"scorers", bytes}, {"total", kSmallBackboneBytes + bytes}}}}}}
                  .dump());
  return 0;
}

}  // namespace harness
