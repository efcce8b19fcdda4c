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
    std::vector<Tensor> again;
    for (std::int64_t i = 0; i < inputs; ++i) {
      const auto& x = saved[static_cast<std::size_t>(i)];
      again.push_back(x.detach().requires_grad_(x.is_floating_point()));
    }
    const auto outputs = run(again);
    std::vector<Tensor> wanted = again, of, with;
    for (std::size_t i = static_cast<std::size_t>(inputs); i < saved.size(); ++i) wanted.push_back(saved[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !grads[i].defined()) continue;
      of.push_back(outputs[i]);
      with.push_back(grads[i]);
    }
    variable_list gradients(2);  // of `run` and `inputs`
    for (auto& g : torch::autograd::grad(of, wanted, with, std::nullopt, false, true))
      gradients.push_back(std::move(g));
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
