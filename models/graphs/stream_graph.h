#pragma once

#include <functional>
#include <memory>

#include "models/nn/torch.h"

namespace harness {

/// Work on a GPU that is recorded once and then launched as one: what costs the host tens of microseconds a
/// kernel costs it one launch. It reads and writes the memory that it was recorded with; what it allocates
/// is in memory of its own for as long as this lives. Works in builds with kernels (gpu::has_kernels).
class StreamGraph {
 public:
  /// Records what `work` does on the device's present stream, by whichever thread, without running it. It may
  /// not wait for the GPU. Throws Error where the driver cannot, and what `work` throws.
  StreamGraph(torch::Device device, const std::function<void()>& work);
  ~StreamGraph();
  StreamGraph(const StreamGraph&) = delete;
  StreamGraph& operator=(const StreamGraph&) = delete;

  /// Runs it after the work queued on the device's present stream.
  void launch() const;

 private:
  struct Recorded;
  std::unique_ptr<Recorded> recorded_;
};

/// While one lives the thread's work on a device is on a stream beside the usual one, with nothing left to do
/// on either at both ends: only such a stream can be recorded.
class BesideTheStream {
 public:
  explicit BesideTheStream(torch::Device device);
  ~BesideTheStream();
  BesideTheStream(const BesideTheStream&) = delete;
  BesideTheStream& operator=(const BesideTheStream&) = delete;

 private:
  torch::Device device_;
  std::unique_ptr<c10::StreamGuard> guard_;
};

/// Gives the memory that nothing uses back to the device.
void empty_cache(torch::Device device);

}  // namespace harness
