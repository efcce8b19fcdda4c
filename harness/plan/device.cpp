#include "harness/plan/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace fs = std::filesystem;

std::string device_name(const std::string& device) {
  if (device == "auto" || device == "cpu") return "cpu";
  if (device == "cuda") return "cuda:0";
  constexpr std::string_view kCuda = "cuda:";
  const bool is_cuda = device.starts_with(kCuda) && device.size() > kCuda.size() &&
                       device.find_first_not_of("0123456789", kCuda.size()) == std::string::npos;
  if (is_cuda) return device;
  const std::vector<std::string> known = {"auto", "cpu", "cuda:0"};
  const auto plain = utf32_to_utf8(to_lower(utf8_to_utf32(device)));
  constexpr std::array<std::string_view, 4> kGpu = {"gpu", "gpus", "nvidia", "cuda"};
  const bool means_gpu = std::ranges::count(kGpu, std::string_view(plain).substr(0, plain.find(':'))) > 0;
  throw Error(fmt::format("unknown device {}", in_quotes(device)), "--device",
              means_gpu ? "did you mean \"cuda\"? cuda:N is one GPU" : suggestion(device, known));
}

bool shows_nvidia_gpu() {
  constexpr std::string_view kPrefix = "nvidia";
  std::error_code unreadable;
  for (fs::directory_iterator at("/dev", unreadable), end; !unreadable && at != end;
       at.increment(unreadable)) {
    const auto name = at->path().filename().string();
    const bool is_gpu = name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
                        name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
    if (is_gpu) return true;
  }
  return false;
}

std::string choose_device(const std::string& device) {
  auto name = device_name(device);
  if (name != "cpu" && !shows_nvidia_gpu())
    throw Error("no NVIDIA GPU found: there is no device /dev/nvidia0, /dev/nvidia1, ...",
                "--device " + device,
                "install the driver, start a container with --gpus all, or leave --device out for the CPU");
  return name;
}

}  // namespace harness
