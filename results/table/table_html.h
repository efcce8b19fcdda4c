#pragma once

#include <string>

#include "results/table/table_view.h"

namespace harness {

/// That the scale shows nothing about the methods, as a paragraph of class "warning"; empty where it does.
std::string scale_warning_html(const TableModel& model);

/// A table as HTML, in a box of its own that scrolls sideways where the window is narrow.
/// Alarms as paragraphs of class "alarm"; empty where there are none.
std::string guardrail_alarms_html(const GuardrailView& guardrails);

/// The panel below a table, without a heading; empty where there is none.
std::string guardrail_panel_html(const GuardrailView& guardrails);

std::string view_table_html(const ViewTable& table);

}  // namespace harness
