#include "worker/memory_error.h"

#include <fmt/format.h>

#include <new>
#include <string_view>

#include "models/nn/torch.h"

namespace harness {

std::optional<Error> memory_error(const std::exception& error, const std::string& device) {
  const std::string_view said = error.what();
  const auto says = [said](const char* text) { return said.find(text) != std::string_view::npos; };
  // LibTorch's allocator, CUDA before it has one, cuBLAS, and cuDNN, of whose plans none has room to work.
  const bool on_gpu = device != "cpu" && (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                                          says("out of memory") || says("CUBLAS_STATUS_ALLOC_FAILED") ||
                                          says("unable to find an engine to execute this computation"));
  const bool on_cpu = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                      says("can't allocate memory") || says("out of memory");
  if (!on_gpu && !on_cpu) return std::nullopt;
  return Error(
      fmt::format("the memory of {} is full ({})", on_gpu ? device : "this machine",
                  said.substr(0, said.find('\n'))),
      "harness-worker",
      fmt::format(
          "see what else uses it ({}), or take fewer --jobs, and repeat the command: it goes on with what "
          "is recorded. Or start other runs that need less: --set gradient_checkpointing=true for a "
          "training, smaller shards (shard_prompts, eval_shard)",
          on_gpu ? "nvidia-smi" : "top"),
      Status::kFailed);
}

}  // namespace harness
