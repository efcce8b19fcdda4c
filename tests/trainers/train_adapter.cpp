/// Trains a LoRA adapter on the transformer and inputs of a parity case and writes it for other libraries to
/// read (scripts/check-lora): train_adapter CASE OUT makes OUT/peft, OUT/diffusers and OUT/sample.safetensors
/// with the outputs "base" (without the adapter), "sample", "merged" and "sample_bf16" (a bfloat16 base).

#include <fmt/format.h>

#include "core/error.h"
#include "models/nn/lora.h"
#include "trainers/optimisation/optimiser.h"
#include "trainers/parity/parity.h"

namespace harness {
namespace {

void train(const VelocityNetwork& network, const LoraAdapter& adapter, const ParityCase& c) {
  const auto weights = adapter.parameters();
  std::vector<torch::Tensor> leaves;
  for (const auto& w : weights) leaves.push_back(w.tensor);
  AdamW optimiser(weights, {.lr = 0.05});
  for (int step = 0; step < 10; ++step) {
    const auto loss = (network.sample() - c.input("probe") / 100).square().mean();
    fmt::print(stderr, "step {} loss {:.4f}\n", step, loss.item<double>());
    optimiser.step(torch::autograd::grad({loss}, leaves, {}, std::nullopt, false, true), 1.0);
  }
}

int run(const std::filesystem::path& folder, const std::filesystem::path& out) {
  const auto c = ParityCase::read(folder);
  TensorMap outputs;
  {
    const auto network = VelocityNetwork::load(c);
    outputs["base"] = network.sample();
    LoraConfig config{.rank = 5, .alpha = 8};
    config.target_modules = LoraConfig::of_folder(folder / "adapter").value().target_modules;
    LoraAdapter adapter(*network.module, config, "train_adapter");
    adapter.initialise(11);
    train(network, adapter, c);
    outputs["sample"] = network.sample();
    adapter.merge();
    outputs["merged"] = network.sample();
    save_lora(out / "peft", config, adapter.parameters(), LoraForm::kPeft);
    save_lora(out / "diffusers", config, adapter.parameters(), LoraForm::kDiffusers);
  }
  const auto half = VelocityNetwork::load(c, torch::kBFloat16);
  const auto adapter = load_lora(out / "peft", *half.module);
  outputs["sample_bf16"] = half.sample();
  save_tensors(out / "sample.safetensors", outputs);
  return 0;
}

}  // namespace
}  // namespace harness

int main(int count, char** words) {
  try {
    if (count != 3) throw harness::Error("usage: train_adapter CASE OUT");
    return harness::run(words[1], words[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
