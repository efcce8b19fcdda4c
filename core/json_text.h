#pragma once

#include <string>

#include "core/json.h"

namespace harness {

/// A value of a file from outside as a message shows it: numbers, true, false and null as they are, strings
/// as in_quotes shows them, lists and objects as JSON, all on one line of printable characters; cut if long.
std::string json_text(const Json& value);

}  // namespace harness
