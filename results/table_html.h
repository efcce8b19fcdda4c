#pragma once

#include <string>

#include "results/table_view.h"

namespace harness {

/// A table as HTML, in a box of its own that scrolls sideways where the window is narrow.
std::string view_table_html(const ViewTable& table);

}  // namespace harness
