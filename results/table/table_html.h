#pragma once

#include <string>
#include <vector>

#include "results/table/table_view.h"

namespace harness {

/// Heading and subtitle, then what stands above a table: that the scale shows nothing about the methods, and
/// alarms.
std::string heading_html(const TableView& view);
std::string warning_html(const TableView& view);    ///< empty where the scale shows something
std::string signature_html(const TableView& view);  ///< empty where there is none

/// A table as HTML, or one of each of its sheets, in a box that scrolls sideways where the window is narrow.
std::string view_table_html(const ViewTable& table);

/// `attributes` of the list, with a blank before them.
std::string list_html(const std::vector<std::string>& items, const char* attributes);

/// The panel below a table, without a heading; empty where there is none.
std::string guardrail_panel_html(const TableView& view);

}  // namespace harness
