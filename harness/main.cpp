#include "harness/cli/cli.h"

int main(int argc, char** argv) {
  return harness::run_cli(argc, argv);
}
