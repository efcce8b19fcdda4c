#pragma once

#include <unistd.h>

#include <utility>

namespace harness {

/// A file descriptor that closes itself; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    const int file = other.release();
    close();
    file_ = file;
    return *this;
  }

  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }
  void close() {
    if (file_ >= 0) ::close(release());
  }

 private:
  int file_;
};

}  // namespace harness
