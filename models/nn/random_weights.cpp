#include "models/nn/random_weights.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "models/nn/weights_io.h"

namespace harness {

std::uint64_t mixed_seed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (const auto part : parts) {
    state += part + 0x9E3779B97F4A7C15ULL;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBULL;
    state ^= state >> 31;
  }
  return state;
}

torch::Generator seeded_generator(std::uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

void initialise_uniform(torch::nn::Module& module, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto random = seeded_generator(seed);
  TensorMap weights;
  for (const auto& item : module.named_parameters()) weights[item.key()] = item.value();
  for (const auto& [name, w] : weights) {
    if (w.dim() < 2) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(w.numel() / w.size(0)));
    w.uniform_(-bound, bound, random);
    const auto bias = weights.find(name.substr(0, name.size() - 6) + "bias");
    if (bias != weights.end()) bias->second.uniform_(-bound, bound, random);
  }
}

}  // namespace harness
