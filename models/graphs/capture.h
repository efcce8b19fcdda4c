#pragma once

namespace harness::kernels {

// A stream's work as a CUDA graph, by the CUDA runtime alone. Each returns a text of its own where it failed,
// else null. Streams are cudaStream_t.

/// From here on what is sent to the stream, by any thread, is recorded and not run.
const char* begin_capture(void* stream);

/// Ends that: `graph` can then be launched. Null where nothing could be made of it.
const char* end_capture(void* stream, void** graph);

/// Runs it after the work queued on the stream.
const char* launch_graph(void* graph, void* stream);

void free_graph(void* graph);

}  // namespace harness::kernels
