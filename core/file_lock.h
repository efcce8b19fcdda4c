#pragma once

namespace harness {

/// kUnavailable: the file system has no such locks (flock fails with ENOSYS, ENOTSUP, ENOLCK and the like).
enum class LockState { kTaken, kHeld, kUnavailable };

/// flock(2) without waiting. kHeld: another open file has it, of this process or another one.
LockState try_lock(int file);

/// Whether another open file has it; false where there are no locks.
bool is_locked(int file);

}  // namespace harness
