#pragma once

#include <functional>
#include <memory>

#include "models/parity/parity.h"

namespace harness {

/// The recorded reference computations that trainers/ can repeat.
const ParityKinds& trainer_parity_kinds();

/// The network of a case of kind "lora" and its output on the case's inputs. The case must outlive it.
struct VelocityNetwork {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor()> sample;

  /// Throws UnknownCase at a family that this build does not have.
  static VelocityNetwork load(const ParityCase& c, torch::ScalarType dtype = torch::kFloat32);
};

}  // namespace harness
