/// Trains a LoRA adapter on the transformer and inputs of a parity case and writes it for other libraries to
/// read (scripts/check-lora): train_adapter CASE OUT makes OUT/peft, OUT/diffusers and OUT/sample.safetensors
/// with the outputs "base" (without the adapter), "sample", "merged" and "sample_bf16" (a bfloat16 base).

#include <fmt/format.h>

#include "core/error.h"
#include "models/loading.h"
#include "models/nn/lora.h"
#include "models/parity/parity.h"
#include "trainers/optimisation/optimiser.h"

namespace harness {
namespace {

torch::Tensor sample(Sd3Transformer& model, const ParityCase& c, torch::ScalarType dtype) {
  const auto input = [&](const char* name) { return c.input(name).to(dtype); };
  return model->forward(input("hidden_states"), input("encoder_hidden_states"), input("pooled_projections"),
                        c.input("timestep"));
}

void train(Sd3Transformer& model, const LoraAdapter& adapter, const ParityCase& c) {
  const auto weights = adapter.parameters();
  std::vector<torch::Tensor> leaves;
  for (const auto& w : weights) leaves.push_back(w.tensor);
  AdamW optimiser(weights, {.lr = 0.05});
  for (int step = 0; step < 10; ++step) {
    const auto loss = (sample(model, c, torch::kFloat32) - c.input("probe") / 100).square().mean();
    fmt::print(stderr, "step {} loss {:.4f}\n", step, loss.item<double>());
    optimiser.step(torch::autograd::grad({loss}, leaves, {}, std::nullopt, false, true), 1.0);
  }
}

int run(const std::filesystem::path& folder, const std::filesystem::path& out) {
  const auto c = ParityCase::read(folder);
  TensorMap outputs;
  {
    auto model = load_sd3_transformer(c.model());
    outputs["base"] = sample(model, c, torch::kFloat32);
    const LoraConfig config{.rank = 5, .alpha = 8};
    LoraAdapter adapter(*model, config, "train_adapter");
    adapter.initialise(11);
    train(model, adapter, c);
    outputs["sample"] = sample(model, c, torch::kFloat32);
    adapter.merge();
    outputs["merged"] = sample(model, c, torch::kFloat32);
    save_lora(out / "peft", config, adapter.parameters(), LoraForm::kPeft);
    save_lora(out / "diffusers", config, adapter.parameters(), LoraForm::kDiffusers);
  }
  auto half = load_sd3_transformer(c.model(), {torch::kCPU, torch::kBFloat16});
  const auto adapter = load_lora(out / "peft", *half);
  outputs["sample_bf16"] = sample(half, c, torch::kBFloat16);
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
