#pragma once

#include "models/nn/torch.h"

namespace harness {

/// While it lives, LibTorch computes with one thread: sums of float32 depend on how many there are.
class OneThread {
 public:
  OneThread() : before_(torch::get_num_threads()) {
    if (before_ != 1) torch::set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) torch::set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace harness
