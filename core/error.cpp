#include "core/error.h"

namespace harness {

Error::Error(std::string what, std::string where, std::string hint, Status status)
    : what_(std::move(what)), where_(std::move(where)), hint_(std::move(hint)), status_(status) {
  message_ = where_.empty() ? what_ : where_ + ": " + what_;
  if (!hint_.empty()) message_ += "; " + hint_;
}

}  // namespace harness
