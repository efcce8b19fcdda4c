#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "trainers/loop/train.h"

namespace harness {

/// Wall-clock seconds of one epoch.
struct EpochSeconds {
  double sampling = 0;  ///< with decoding
  double training = 0;
  double whole() const { return sampling + training; }
};

/// A training run with random rewards and no scorer, timed by epoch. The first epoch warms up and is not
/// among the results.
struct TimedRun {
  std::string method;
  TrainSettings settings;  ///< `updates` and `trained_steps` are set here
  int epochs = 4, threads = 2;
};
std::vector<EpochSeconds> time_epochs(const TimedRun& run, Backbone& model);

/// What table tiny-sd3-zclip trains with.
TrainSettings tiny_sd3_settings();

}  // namespace harness
