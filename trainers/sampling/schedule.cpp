#include "trainers/sampling/schedule.h"

#include <cmath>

#include "core/require.h"

namespace harness {
namespace {

template <class Number>
Number shifted(Number sigma, Number shift) {
  return shift * sigma / (1 + (shift - 1) * sigma);
}

Schedule from_sigmas(std::vector<float> sigmas, int num_train_timesteps) {
  Schedule schedule;
  for (const float sigma : sigmas)
    schedule.timesteps.push_back(sigma * static_cast<float>(num_train_timesteps));
  schedule.sigmas = std::move(sigmas);
  schedule.sigmas.push_back(0);
  return schedule;
}

/// `count` points from `first` to `last` inclusive, as numpy.linspace.
std::vector<double> linspace(double first, double last, int count) {
  std::vector<double> points;
  const double step = count > 1 ? (last - first) / (count - 1) : 0;
  for (int i = 0; i < count; ++i) points.push_back(i * step + first);
  if (count > 1) points.back() = last;
  return points;
}

}  // namespace

Schedule shifted_schedule(NoiseGrid grid, int steps, double shift, int num_train_timesteps) {
  require(steps > 0 && shift > 0, "a schedule has steps and a positive shift");
  std::vector<double> levels;
  if (grid == NoiseGrid::kUniform) {
    levels = linspace(1, 0, steps + 1);
    levels.pop_back();
  } else {
    // diffusers spaces timesteps between the ends of its *shifted* training levels, which it computes in
    // float32, and shifts again.
    const auto train = static_cast<float>(num_train_timesteps);
    const double highest = shifted(1.0F, static_cast<float>(shift));
    const double lowest = shifted(1 / train, static_cast<float>(shift));
    levels = linspace(highest * num_train_timesteps, lowest * num_train_timesteps, steps);
    for (double& level : levels) level /= num_train_timesteps;
  }
  std::vector<float> sigmas;
  for (const double level : levels) sigmas.push_back(static_cast<float>(shifted(level, shift)));
  return from_sigmas(std::move(sigmas), num_train_timesteps);
}

}  // namespace harness
