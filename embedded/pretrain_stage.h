#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/processes/worker_pool.h"
#include "models/nn/torch.h"

namespace harness {

struct PretrainProgress {
  std::string stage;
  std::int64_t step = 0, steps = 0;
  double loss = 0;
  double images_per_second = 0;
};

/// Of `harness pretrain`. Schedules are in steps, so that a seed gives the same weights on a slow machine.
struct PretrainOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  std::filesystem::path atlas;
  std::filesystem::path out;  ///< receives the files of the model, pretrain.json and curve.csv
  std::function<void(const PretrainProgress&)> report = [](const PretrainProgress&) {};
};

struct StagePlan {
  std::string name;
  std::uint64_t number;
  std::int64_t steps, micro_batches, micro_size, warm_up;
  double peak_rate;
  bool decay_vectors;  ///< weight decay also on biases and norms
  double weight_decay;
  bool ema;  ///< the stage ends with the average of its weights
};

/// What the pretraining of the model and of the scorer have in common.
class Pretraining {
 public:
  /// The loss of one micro-batch, whose data follow from `seed`.
  using Loss = std::function<torch::Tensor(std::uint64_t seed)>;

  explicit Pretraining(const PretrainOptions& options);

  /// Micro-batches on a pool of single-threaded workers, gradients added in their order (so that no number of
  /// threads changes a bit), AdamW with betas 0.9 and 0.99, norm clipped to 1. Learning rate: linear warm-up,
  /// constant to 30 % of the steps, then linear to 3 %. after_update runs under NoGradGuard.
  void train(
      const StagePlan& plan, std::vector<torch::Tensor> parameters, const Loss& loss,
      const std::function<void()>& after_update = [] {});

  /// curve.csv and pretrain.json with `facts` of the pretraining `what`.
  void save_record(const std::string& what, Json facts) const;
  void save_json(const std::string& file, const Json& document) const;

 private:
  const PretrainOptions& options_;
  WorkerPool pool_;
  std::string curve_ = "stage,step,loss\n";
  double seconds_ = 0;  ///< that the stages took
};

}  // namespace harness
