#pragma once

#include <gtest/gtest.h>

#include "core/error.h"

namespace harness {

/// The Error that `body` throws; a failed test and an empty Error if it throws none.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error";
  return Error("none");
}

}  // namespace harness
