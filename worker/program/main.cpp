#include "worker/program/program.h"

int main(int count, char** words) {
  harness::run_program(count, words);
}
