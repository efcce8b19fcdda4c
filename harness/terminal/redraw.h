#pragma once

#include <string>

namespace harness {

/// A block of lines on standard output that is shown again and again: on a terminal each in place of the one
/// before, elsewhere one below the other with a blank line between them.
class Redraw {
 public:
  /// Whole lines. On a terminal as many as fit, each cut to its width. Throws as finish_output does.
  void show(const std::string& block);

 private:
  void replace(const std::string& block);

  int shown_ = 0;  ///< lines of the block that is there
};

}  // namespace harness
