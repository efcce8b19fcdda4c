#include <cstdlib>

// An NVIDIA driver's library whose answers the environment sets.

namespace {

int number(const char* name, int usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : usual;
}

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return 0;
}

int cuInit(unsigned /*flags*/) {
  return number("FAKE_CUDA_INIT", 0);
}

int cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_COUNT", 1);
  return 0;
}

int cuGetErrorString(int /*error*/, const char** text) {
  *text = "system has unsupported display driver / cuda driver combination";
  return 0;
}
}
