#include "models/nn/recompute.h"

#include "models/nn/parameters.h"

namespace harness {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  static variable_list forward(AutogradContext* context, std::shared_ptr<TensorFunction> run,
                               std::int64_t inputs, at::TensorList tensors) {
    auto outputs = (*run)({tensors.begin(), tensors.begin() + inputs});
    context->save_for_backward(tensors.vec());
    context->saved_data["inputs"] = inputs;
    context->saved_data["run"] = c10::IValue::make_capsule(c10::make_intrusive<Held>(std::move(run)));
    return outputs;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto inputs = context->saved_data["inputs"].toInt();
    const auto held = context->saved_data["run"].toCapsule();
    const auto& run = *static_cast<const Held&>(*held).function;
    const torch::AutoGradMode with_gradient(true);
    // An input that wants no gradient must not make the blocks compute one.
    std::vector<Tensor> again, wanted, of, with;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const bool is_wanted = context->needs_input_grad(i);
      auto x = saved[i];
      if (i < static_cast<std::size_t>(inputs)) {
        x = x.detach().requires_grad_(is_wanted);
        again.push_back(x);
      }
      if (!is_wanted) continue;
      wanted.push_back(x);
      places.push_back(i);
    }
    const auto outputs = run(again);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !grads[i].defined()) continue;
      of.push_back(outputs[i]);
      with.push_back(grads[i]);
    }
    constexpr std::size_t kNoTensors = 2;  // `run` and `inputs`
    variable_list gradients(kNoTensors + saved.size());
    auto found = torch::autograd::grad(of, wanted, with, std::nullopt, false, true);
    for (std::size_t i = 0; i < found.size(); ++i) gradients[kNoTensors + places[i]] = std::move(found[i]);
    return gradients;
  }

 private:
  struct Held : torch::CustomClassHolder {
    explicit Held(std::shared_ptr<TensorFunction> f) : function(std::move(f)) {}
    std::shared_ptr<TensorFunction> function;
  };
};

}  // namespace

std::vector<Tensor> recomputed(TensorFunction run, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& weights) {
  std::vector<Tensor> tensors = inputs;
  for (const auto& w : weights) {
    if (w.requires_grad()) tensors.push_back(w);
  }
  return RecomputeFunction::apply(std::make_shared<TensorFunction>(std::move(run)),
                                  static_cast<std::int64_t>(inputs.size()), at::TensorList(tensors));
}

std::vector<Tensor> trained_tensors(const torch::nn::Module& block) {
  auto tensors = block.parameters();
  for (const auto& module : block.modules()) {
    const auto* dense = dynamic_cast<const DenseImpl*>(module.get());
    if (dense == nullptr || !dense->low_rank) continue;
    tensors.push_back(dense->low_rank->a);
    tensors.push_back(dense->low_rank->b);
  }
  return tensors;
}

}  // namespace harness
