#include "core/descriptor.h"

#include <sys/file.h>

#include <cerrno>

namespace harness {
namespace {

LockState try_lock(int file, int kind) {
  int result = 0;
  do result = ::flock(file, kind | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return LockState::kTaken;
  return errno == EWOULDBLOCK ? LockState::kHeld : LockState::kUnavailable;
}

}  // namespace

LockState try_lock(int file) {
  return try_lock(file, LOCK_EX);
}

bool is_locked(int file) {
  return try_lock(file, LOCK_SH) == LockState::kHeld;
}

}  // namespace harness
