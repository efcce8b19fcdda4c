#pragma once

namespace harness {

/// The program of this folder, and the descriptor at which it finds the socket of the process that started
/// it.
inline constexpr const char* kKeeperProgram = "harness-keeper";
inline constexpr int kKeeperSocket = 3;

}  // namespace harness
