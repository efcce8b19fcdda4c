#pragma once

#include <torch/optim/adamw.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/processes/worker_pool.h"
#include "models/nn/torch.h"

namespace harness {

struct PretrainProgress {
  std::string stage;
  std::int64_t step = 0, steps = 0;
  double loss = 0;
  double images_per_second = 0;
};
using PretrainReport = std::function<void(const PretrainProgress&)>;

/// The loss curve of a pretraining, in the order of its stages.
struct PretrainCurve {
  std::string csv = "stage,step,loss\n";
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

/// One stage of pretraining: micro-batches on a pool of single-threaded workers, gradients added in their
/// order (so that no number of threads changes a bit), AdamW with betas 0.9 and 0.99, norm clipped to 1.
/// Learning rate: linear warm-up, constant to 30 % of the steps, then linear to 3 % of the peak.
class PretrainStage {
 public:
  /// The loss of one micro-batch, whose data follow from `seed`.
  using Loss = std::function<torch::Tensor(std::uint64_t seed)>;

  PretrainStage(std::uint64_t seed, WorkerPool& pool, StagePlan plan, std::vector<torch::Tensor> parameters,
                PretrainCurve& curve);

  void run(const Loss& loss, const PretrainReport& report);

  /// Called after every update, under NoGradGuard.
  std::function<void()> after_update = [] {};

 private:
  double update(const Loss& loss, std::int64_t step);

  std::uint64_t seed_;
  WorkerPool& pool_;
  StagePlan plan_;
  std::vector<torch::Tensor> parameters_, ema_;
  PretrainCurve& curve_;
  std::unique_ptr<torch::optim::AdamW> optimiser_;
};

}  // namespace harness
