#include "models/graphs/graphed_network.h"

#include <algorithm>
#include <utility>

#include "core/streams.h"
#include "models/graphs/stream_graph.h"
#include "models/nn/kernel_device.h"
#include "models/nn/parameters.h"
#include "models/nn/recompute.h"

namespace harness {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

/// Each keeps memory for its activations.
constexpr std::size_t kMostPasses = 4;

bool wants_gradient(const Tensor& tensor) {
  return tensor.requires_grad();
}

/// What a kernel is launched with besides addresses, of each adapted layer: nothing where this thread leaves
/// the adapter out (WithoutLowRank).
std::vector<double> adapter_constants(const torch::nn::Module& network) {
  std::vector<double> constants;
  for (const auto& module : network.modules()) {
    const auto* dense = dynamic_cast<const DenseImpl*>(module.get());
    if (dense == nullptr || !dense->low_rank) continue;
    const auto* update = dense->as_adapted().update;
    if (update == nullptr) return {};
    constants.push_back(update->scale);
    constants.push_back(static_cast<double>(update->products));
  }
  return constants;
}

}  // namespace

/// What a recorded pass holds for.
struct GraphedNetwork::Key {
  struct Weight {
    const void* at = nullptr;
    std::int64_t size = 0;
    bool wants_gradient = false;

    bool operator==(const Weight&) const = default;
  };

  std::vector<std::vector<std::int64_t>> shapes;  ///< of the inputs, each with its type
  std::vector<Weight> weights;
  std::vector<double> adapter;  ///< adapter_constants
  bool with_gradient = false;

  bool operator==(const Key&) const = default;
};

struct GraphedNetwork::Pass {
  Key key;
  int calls = 0;            ///< so far
  bool is_refused = false;  ///< it could not be recorded
  std::vector<Tensor> inputs = {};
  Tensor output = {};
  std::unique_ptr<StreamGraph> forward = {}, backward = {};

  // Of a pass with gradient.
  std::vector<Tensor> trained = {};
  std::vector<bool> has_gradient = {};  ///< by trained tensor
  Tensor output_gradient = {};
  Tensor gradients = {};           ///< of those that have one, one after the other
  std::weak_ptr<void> lease = {};  ///< alive while a result waits for its gradient

  Tensor live = {};  ///< the output with its gradient's graph, while recording

  bool with_gradient() const { return !trained.empty(); }

  void compute(const Forward& of) {
    live = of(inputs);
    output = live.detach();
  }
  variable_list gradients_of_live() const {
    return torch::autograd::grad({live}, trained, {output_gradient}, std::nullopt, false, true);
  }
  void compute_gradients() {
    variable_list flat;
    for (const auto& gradient : gradients_of_live()) {
      if (gradient.defined()) flat.push_back(gradient.reshape({-1}).to(torch::kFloat32));
    }
    gradients = torch::cat(flat);
  }

  void take(const std::vector<Tensor>& from) {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].copy_(from[i], true);
  }
};

/// A pass' result, whose gradient is the recorded one.
class GraphedNetwork::PassFunction : public torch::autograd::Function<PassFunction> {
 public:
  static Tensor forward(AutogradContext* context, std::shared_ptr<Pass> pass, at::TensorList /*trained*/) {
    pass->forward->launch();
    auto lease = std::make_shared<int>();
    pass->lease = lease;
    auto output = pass->output.clone();
    context->saved_data["held"] =
        c10::IValue::make_capsule(c10::make_intrusive<Held>(std::move(pass), std::move(lease)));
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto capsule = context->saved_data["held"].toCapsule();
    auto& held = static_cast<Held&>(*capsule);
    TORCH_CHECK(held.lease, "the activations of a recorded pass serve one gradient");
    auto& pass = *held.pass;
    pass.output_gradient.copy_(grads[0]);
    pass.backward->launch();
    const auto gradients = pass.gradients.clone();
    held.lease.reset();
    variable_list out(1);  // of the pass itself
    std::int64_t at = 0;
    for (std::size_t i = 0; i < pass.trained.size(); ++i) {
      out.emplace_back();
      if (!pass.has_gradient[i]) continue;
      const auto& of = pass.trained[i];
      out.back() = gradients.narrow(0, at, of.numel()).view(of.sizes());
      at += of.numel();
    }
    return out;
  }

 private:
  struct Held : torch::CustomClassHolder {
    Held(std::shared_ptr<Pass> p, std::shared_ptr<void> l) : pass(std::move(p)), lease(std::move(l)) {}
    std::shared_ptr<Pass> pass;
    std::shared_ptr<void> lease;
  };
};

GraphedNetwork::GraphedNetwork(std::shared_ptr<torch::nn::Module> network, Forward forward)
    : network_(std::move(network)), forward_(std::move(forward)) {}

GraphedNetwork::~GraphedNetwork() = default;

Tensor GraphedNetwork::operator()(const std::vector<Tensor>& given) {
  if constexpr (!kKernelsAreBuilt) return forward_(given);
  const bool with_gradient = torch::GradMode::is_enabled();
  if (!is_of_kernels(given.front()) || (with_gradient && std::ranges::any_of(given, wants_gradient)))
    return forward_(given);
  std::vector<Tensor> inputs;  // laid out alike in every call: another layout may take another kernel
  for (const auto& input : given) inputs.push_back(input.contiguous());
  const std::lock_guard lock(mutex_);
  auto weights = trained_tensors(*network_);
  const auto pass = pass_of(key_of(inputs, weights));
  ++pass->calls;
  if (pass->is_refused) return forward_(inputs);
  if (pass->calls == 1) {
    auto output = forward_(inputs);
    pass->key = key_of(inputs, trained_tensors(*network_));  // a first use may move weights (LayerGroup)
    return output;
  }
  if (!pass->forward) {
    std::erase_if(weights, [](const Tensor& weight) { return !weight.requires_grad(); });
    try {
      record(*pass, inputs, with_gradient ? std::move(weights) : std::vector<Tensor>());
    } catch (const std::exception& error) {
      *pass = Pass{.key = std::move(pass->key), .is_refused = true};
      if (!std::exchange(has_warned_, true))
        tell("warning: the network's work is sent to the GPU kernel by kernel, which is slower: {}\n",
             error.what());
    }
    if (pass->is_refused) return forward_(inputs);
    ++recorded_;
  }
  if (!pass->lease.expired()) return forward_(inputs);
  pass->take(inputs);
  if (pass->with_gradient()) return PassFunction::apply(pass, at::TensorList(pass->trained));
  pass->forward->launch();
  return pass->output.clone();
}

GraphedNetwork::Key GraphedNetwork::key_of(const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& weights) const {
  Key key{.shapes = {},
          .weights = {},
          .adapter = adapter_constants(*network_),
          .with_gradient = torch::GradMode::is_enabled()};
  for (const auto& input : inputs) {
    key.shapes.push_back(input.sizes().vec());
    key.shapes.back().push_back(static_cast<std::int64_t>(input.scalar_type()));
  }
  for (const auto& weight : weights)
    key.weights.push_back({weight.const_data_ptr(), weight.numel(), weight.requires_grad()});
  return key;
}

std::shared_ptr<GraphedNetwork::Pass> GraphedNetwork::pass_of(Key key) {
  const auto found = std::ranges::find_if(passes_, [&](const auto& pass) { return pass->key == key; });
  if (found != passes_.end()) {
    passes_.splice(passes_.begin(), passes_, found);
    return passes_.front();
  }
  // Activations with a gradient are large: those of one shape at a time.
  if (key.with_gradient)
    std::erase_if(passes_, [](const auto& pass) { return pass->key.with_gradient && pass->lease.expired(); });
  if (passes_.size() == kMostPasses) passes_.pop_back();
  passes_.push_front(std::make_shared<Pass>(Pass{.key = std::move(key)}));
  return passes_.front();
}

void GraphedNetwork::record(Pass& pass, const std::vector<Tensor>& inputs,
                            std::vector<Tensor> trained) const {
  const auto device = inputs.front().device();
  for (const auto& input : inputs) pass.inputs.push_back(input.detach().clone());
  pass.trained = std::move(trained);
  const BesideTheStream beside(device);
  // Once as it will be recorded: libraries make their plans and workspaces now.
  pass.compute(forward_);
  if (!pass.live.requires_grad()) pass.trained.clear();
  if (pass.with_gradient()) {
    pass.output_gradient = torch::zeros_like(pass.output);
    for (const auto& gradient : pass.gradients_of_live()) pass.has_gradient.push_back(gradient.defined());
  }
  pass.live.reset();
  empty_cache(device);
  auto forward = std::make_unique<StreamGraph>(device, [this, &pass] { pass.compute(forward_); });
  if (pass.with_gradient())
    pass.backward = std::make_unique<StreamGraph>(device, [&pass] { pass.compute_gradients(); });
  pass.live.reset();
  pass.forward = std::move(forward);
}

}  // namespace harness
