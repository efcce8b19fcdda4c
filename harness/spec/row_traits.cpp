#include "harness/spec/row_traits.h"

namespace harness {

const RowTraits& row_traits(const std::string& method) {
  static const RowTraits start{.is_start = true}, trained{.trains = true, .takes_a_worker = true},
      adapter{.takes_a_worker = true, .given = "imported", .option = "--adapter"},
      images{.draws = false, .given = "images", .option = "--images"};
  if (method == kBaseMethod) return start;
  if (method == kOutsideMethod) return adapter;
  return method == kImagesMethod ? images : trained;
}

}  // namespace harness
