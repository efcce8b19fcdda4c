// A recorded graph on the CPU: launching it does the work once more, into the memory that it was recorded
// with.
#include <c10/core/StreamGuard.h>

#include "models/graphs/stream_graph.h"
#include "models/nn/gpu_ops.h"
#include "tests/gpu_twin/kernels_twin.h"

namespace harness {
namespace {

GraphTwin twin;

}  // namespace

GraphTwin& graph_twin() {
  return twin;
}

struct StreamGraph::Recorded {
  std::function<void()> work;
  bool with_gradient = torch::GradMode::is_enabled();
};

StreamGraph::StreamGraph(torch::Device /*device*/, const std::function<void()>& work)
    : recorded_(new Recorded{.work = work}) {
  const gpu::Recording recording;
  if (twin.refuses) throw std::runtime_error("the twin records nothing");
  ++twin.recorded;
  work();
}
StreamGraph::~StreamGraph() = default;

void StreamGraph::launch() const {
  ++twin.launched;
  const gpu::Recording as_recorded;  // what it makes anew it makes at each launch
  const torch::AutoGradMode mode(recorded_->with_gradient);
  recorded_->work();
}

BesideTheStream::BesideTheStream(torch::Device device) : device_(device) {}
BesideTheStream::~BesideTheStream() = default;

void empty_cache(torch::Device /*device*/) {}

}  // namespace harness
