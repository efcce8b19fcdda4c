#include "trainers/methods/reward_unit.h"

namespace harness {

Setting unit_setting() {
  return {.name = "unit",
          .default_value = "epoch-1",
          .choices = {"epoch-1", "none"},
          .help =
              "of the advantages; epoch-1: the standard deviation of all rewards of the first epoch, so "
              "that learning rates mean what they mean for normalised advantages; none: as the scorer "
              "gives them"};
}

bool takes_unit(Settings& settings) {
  return settings.choice("unit") == "epoch-1";
}

}  // namespace harness
