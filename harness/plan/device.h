#pragma once

#include <string>

namespace harness {

/// As --device of a plan: every GPU that is visible, a job or rank on each. A worker takes that of its local
/// rank.
inline constexpr const char* kAllGpus = "cuda";

/// What one device is called: "cuda" is "cuda:0". Throws Error for an unknown one.
std::string device_name(const std::string& device);

/// Whether this machine shows an NVIDIA GPU: /dev/nvidia0, or one of another number, as a container may be
/// given.
bool shows_nvidia_gpu();

/// The device that --device means (device_name). Throws Error for an unknown or absent one.
std::string choose_device(const std::string& device);

}  // namespace harness
