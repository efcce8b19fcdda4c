#include "worker/out_of_memory.h"

#include <fmt/format.h>

#include <new>
#include <string_view>

#include "models/nn/torch.h"

namespace harness {

std::optional<Error> out_of_memory_error(const std::exception& error, const std::string& device) {
  const std::string_view message = error.what();
  const auto has = [message](const char* text) { return message.find(text) != std::string_view::npos; };
  // LibTorch's allocator, CUDA before it has one, cuBLAS, and cuDNN without room for any plan.
  const bool on_gpu = device != "cpu" && (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                                          has("out of memory") || has("CUBLAS_STATUS_ALLOC_FAILED") ||
                                          has("unable to find an engine to execute this computation"));
  const bool on_cpu = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                      has("can't allocate memory") || has("out of memory");
  if (!on_gpu && !on_cpu) return std::nullopt;
  return Error(
      fmt::format("{} is out of memory ({})", on_gpu ? device : "this machine",
                  message.substr(0, message.find('\n'))),
      "harness-worker",
      fmt::format(
          "free memory ({} shows what uses it) or use fewer --jobs, then repeat the command: completed "
          "work is kept. Or start runs that need less: --set gradient_checkpointing=true for a "
          "training, smaller shards (shard_prompts, eval_shard)",
          on_gpu ? "nvidia-smi" : "top"),
      Status::kFailed);
}

}  // namespace harness
