#pragma once

#include <cstdint>
#include <initializer_list>

#include "models/nn/torch.h"

namespace harness {

/// A seed for one purpose: SplitMix64's finaliser over the parts.
std::uint64_t mixed_seed(std::initializer_list<std::uint64_t> parts);

/// A CPU generator of its own, independent of the global one.
torch::Generator seeded_generator(std::uint64_t seed);

/// LibTorch's default initialisation, from `seed` alone: weights of two and more dimensions and their biases
/// uniform within 1 / sqrt(fan in), other parameters as they are. Drawn in the order of their names.
void initialise_uniform(torch::nn::Module& module, std::uint64_t seed);

}  // namespace harness
