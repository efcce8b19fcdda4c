#include "models/graphs/stream_graph.h"

#ifdef HARNESS_CUDA_KERNELS

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "core/error.h"
#include "models/graphs/capture.h"
#include "models/nn/gpu_ops.h"

namespace harness {
namespace {

const c10::impl::DeviceGuardImplInterface& gpus() {
  return *c10::impl::getDeviceGuardImpl(c10::kCUDA);
}

/// LibTorch's allocator. Only virtual functions of it are called: the program is not linked with its library.
c10::cuda::CUDACachingAllocator::CUDAAllocator& allocator() {
  return static_cast<c10::cuda::CUDACachingAllocator::CUDAAllocator&>(*c10::getDeviceAllocator(c10::kCUDA));
}

void check(const char* failure, const char* what) {
  if (failure == nullptr) return;
  throw Error(fmt::format("recorded work of the GPU could not be {}: {}", what, failure), "CUDA graph", "",
              Status::kFailed);
}

c10::Stream stream_of(torch::Device device) {
  return gpus().getStream(device);
}

torch::Device with_index(torch::Device device) {
  return {device.type(), std::max<c10::DeviceIndex>(device.index(), 0)};
}

/// One a device: libraries keep a workspace for each stream that they have seen.
c10::Stream side_stream(torch::Device device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, c10::Stream> streams;
  const std::lock_guard lock(mutex);
  const auto found = streams.find(device.index());
  if (found != streams.end()) return found->second;
  return streams.emplace(device.index(), gpus().getStreamFromGlobalPool(device)).first->second;
}

/// A pool of memory: LibTorch's own graphs count from 1 in the first number.
c10::MempoolId_t new_pool() {
  static std::atomic<unsigned long long> last = 1ULL << 40;
  return {0, ++last};
}

/// While one lives, what is allocated for a stream comes from a pool.
class FromPool {
 public:
  FromPool(torch::Device device, c10::MempoolId_t pool, void* stream) : device_(device), pool_(pool) {
    allocator().beginAllocateToPool(device.index(), pool,
                                    [stream](cudaStream_t of) { return static_cast<void*>(of) == stream; });
  }
  ~FromPool() { allocator().endAllocateToPool(device_.index(), pool_); }
  FromPool(const FromPool&) = delete;
  FromPool& operator=(const FromPool&) = delete;

 private:
  torch::Device device_;
  c10::MempoolId_t pool_;
};

}  // namespace

struct StreamGraph::Recorded {
  explicit Recorded(torch::Device of) : device(with_index(of)) {}
  ~Recorded() {
    if (graph != nullptr) kernels::free_graph(graph);
    if (has_memory) allocator().releasePool(device.index(), pool);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  torch::Device device;
  c10::MempoolId_t pool = new_pool();
  bool has_memory = false;
  void* graph = nullptr;
};

StreamGraph::StreamGraph(torch::Device device, const std::function<void()>& work)
    : recorded_(std::make_unique<Recorded>(device)) {
  auto& r = *recorded_;
  auto* const stream = stream_of(r.device).native_handle();
  const gpu::Recording recording;
  const FromPool from_pool(r.device, r.pool, stream);
  r.has_memory = true;
  check(kernels::begin_capture(stream), "begun");
  try {
    work();
  } catch (...) {
    kernels::end_capture(stream, &r.graph);  // what came of it goes with `recorded_`
    throw;
  }
  check(kernels::end_capture(stream, &r.graph), "made");
}

StreamGraph::~StreamGraph() = default;

void StreamGraph::launch() const {
  const c10::DeviceGuard guard(recorded_->device);
  check(kernels::launch_graph(recorded_->graph, stream_of(recorded_->device).native_handle()), "launched");
}

BesideTheStream::BesideTheStream(torch::Device device) : device_(with_index(device)) {
  gpus().synchronizeDevice(device_.index());
  guard_ = std::make_unique<c10::StreamGuard>(side_stream(device_));
}

BesideTheStream::~BesideTheStream() {
  try {
    gpus().synchronizeDevice(device_.index());
  } catch (const std::exception&) {  // the device's next call reports it again
  }
}

void empty_cache(torch::Device /*device*/) {
  allocator().emptyCache();
}

}  // namespace harness

#else

#include "core/require.h"

namespace harness {

struct StreamGraph::Recorded {};

StreamGraph::StreamGraph(torch::Device /*device*/, const std::function<void()>& /*work*/) {
  require(false, "this build records no work of a GPU");
}
StreamGraph::~StreamGraph() = default;
void StreamGraph::launch() const {}

BesideTheStream::BesideTheStream(torch::Device device) : device_(device) {}
BesideTheStream::~BesideTheStream() = default;

void empty_cache(torch::Device /*device*/) {}

}  // namespace harness

#endif
