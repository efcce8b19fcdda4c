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

/// kUnavailable: the file system has no such locks (flock fails with ENOSYS, ENOTSUP, ENOLCK and the like).
enum class LockState { kTaken, kHeld, kUnavailable };

/// flock(2) without waiting. kHeld: another open file has it, of this process or another one.
LockState try_lock(int file);

/// Whether another open file has it; false where there are no locks.
bool is_locked(int file);

}  // namespace harness
