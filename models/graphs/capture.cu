#include <cuda_runtime.h>

#include "models/graphs/capture.h"

namespace harness::kernels {
namespace {

const char* failure_of(cudaError_t status) {
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

const char* begin_capture(void* stream) {
  // Relaxed: other threads may go on with what they do on other streams, allocations included.
  return failure_of(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeRelaxed));
}

const char* end_capture(void* stream, void** graph) {
  *graph = nullptr;
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t ready = nullptr;
  auto status = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &recorded);
  if (status == cudaSuccess) status = cudaGraphInstantiate(&ready, recorded, 0);
  if (recorded != nullptr) cudaGraphDestroy(recorded);
  if (status == cudaSuccess) *graph = ready;
  (void)cudaGetLastError();  // the failure is reported here, not by a later call
  return failure_of(status);
}

const char* launch_graph(void* graph, void* stream) {
  return failure_of(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void free_graph(void* graph) {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

}  // namespace harness::kernels
