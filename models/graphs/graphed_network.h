#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// A network's forward pass. On a GPU, in builds with kernels, what is called a second time with inputs of
/// the same shapes and weights at the same places is recorded, and launched as one graph (StreamGraph) from
/// then on, and so is its gradient: the same kernels, so the same bits, without the host's time for each of
/// them. Where it cannot be recorded, it warns once.
class GraphedNetwork {
 public:
  using Forward = std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)>;

  /// forward: a function of its inputs and the network's weights alone, which does not wait for the GPU.
  GraphedNetwork(std::shared_ptr<torch::nn::Module> network, Forward forward);
  ~GraphedNetwork();

  /// forward(inputs), with gradient by the network's weights and its adapter's. Called kernel by kernel where
  /// an input wants a gradient, and while an earlier result of the same graph waits for its own.
  torch::Tensor operator()(const std::vector<torch::Tensor>& inputs);

  /// Passes that were recorded so far.
  int recorded() const { return recorded_; }

 private:
  struct Key;
  struct Pass;
  class PassFunction;

  Key key_of(const std::vector<torch::Tensor>& inputs, const std::vector<torch::Tensor>& weights) const;
  std::shared_ptr<Pass> pass_of(Key key);
  void record(Pass& pass, const std::vector<torch::Tensor>& inputs, std::vector<torch::Tensor> trained) const;

  std::shared_ptr<torch::nn::Module> network_;
  Forward forward_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Pass>> passes_;  ///< the last used first
  int recorded_ = 0;
  bool has_warned_ = false;
};

}  // namespace harness
