#pragma once

namespace harness {

/// Kernels that this process has run in plain C++.
int twin_calls();

/// What happened to recorded graphs in this process, and what shall.
struct GraphTwin {
  int recorded = 0, launched = 0;
  bool refuses = false;  ///< to record anything
};
GraphTwin& graph_twin();

}  // namespace harness
