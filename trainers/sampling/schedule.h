#pragma once

#include <vector>

namespace harness {

/// Noise levels of a sampling run, from noise to data.
struct Schedule {
  std::vector<float> sigmas;     ///< K + 1, falling, the last is 0
  std::vector<float> timesteps;  ///< K, 1000 sigma: what the transformer is given

  int steps() const { return static_cast<int>(timesteps.size()); }
};

/// How the K unshifted levels are spaced.
enum class NoiseGrid {
  kDiffusers,  ///< as FlowMatchEulerDiscreteScheduler: linear between its largest and smallest training
               ///< level, both shifted already, so that the end is shifted twice
  kUniform,    ///< linspace(1, 0, K + 1): all steps equal before the shift
  kModel       ///< as the model is usually sampled at its size of image, shift included (rollout.h)
};

/// Of a grid that is not the model's: sigma -> shift sigma / (1 + (shift - 1) sigma).
Schedule shifted_schedule(NoiseGrid grid, int steps, double shift, int num_train_timesteps = 1000);

}  // namespace harness
