#pragma once

namespace harness {

/// Kernels that this process has run in plain C++.
int twin_calls();

}  // namespace harness
