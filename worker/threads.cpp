#include "worker/threads.h"

#include "models/nn/torch.h"

namespace harness {

void use_one_thread() {
  torch::set_num_threads(1);
}

}  // namespace harness
