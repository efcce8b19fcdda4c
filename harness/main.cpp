#include <cstdlib>

#include "harness/cli/cli.h"

int main(int argc, char** argv) {
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);  // GPUs have nvidia-smi's numbers, in workers as well
  return harness::run_cli(argc, argv);
}
