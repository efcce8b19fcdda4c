#include "trainers/ranks/nccl.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace {

std::filesystem::path module_file() {
  return executable_folder() / "libharness-nccl.so";
}

}  // namespace

bool has_nccl() {
  return std::filesystem::exists(module_file());
}

c10::intrusive_ptr<c10d::Backend> open_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds wait) {
  const auto file = module_file();
  auto* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* open = module == nullptr ? nullptr : ::dlsym(module, "harness_open_nccl");
  if (open == nullptr) {
    throw Error(std::string("cannot be loaded: ") + ::dlerror(), file.string(),
                "remove it to exchange over Gloo, or build again where the GPU is", Status::kFailed);
  }
  return c10::intrusive_ptr<c10d::Backend>::reclaim(
      reinterpret_cast<decltype(&harness_open_nccl)>(open)(store, rank, size, wait));
}

}  // namespace harness
