#include <fmt/format.h>

#include <algorithm>

#include "results/report/report.h"
#include "results/statistics/bootstrap.h"
#include "results/table/table_html.h"

namespace harness {
namespace {

constexpr double kGigabyte = 1e9, kPercent = 0.01;
constexpr const char* kGpuIdle = "GPU idle (%)";

std::optional<double> in_units(std::optional<double> value, double unit) {
  return value ? std::optional(*value / unit) : std::nullopt;
}

struct CostColumn {
  const char* title;
  std::optional<double> (*of)(const Budget&);
  int decimals = 0;
};

constexpr CostColumn kColumns[] = {
    {"Images", [](const Budget& b) { return b.images; }},
    {"Network evaluations", [](const Budget& b) { return b.nfe_total; }},
    {"Updates", [](const Budget& b) { return std::optional(static_cast<double>(b.updates)); }},
    {"Seconds", [](const Budget& b) { return b.costs.seconds; }},
    {"Waiting for rewards (%)",
     [](const Budget& b) {
       return b.costs.seconds ? in_units(b.costs.scorer_seconds, *b.costs.seconds * kPercent)
                              : b.costs.seconds;
     },
     1},
    {kGpuIdle, [](const Budget& b) { return in_units(b.gpu_idle, kPercent); }, 1},
    {"Memory (GB)", [](const Budget& b) { return in_units(b.costs.peak_bytes, kGigabyte); }, 2}};

/// "30 (28 to 41)", or "30" where all are that.
std::string spread_text(std::vector<double> values, int decimals) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto text = [&](double value) { return fmt::format("{:.{}f}", value, decimals); };
  const auto middle = text(percentile(values, 0.5));
  const auto lowest = text(values.front()), highest = text(values.back());
  return lowest == highest ? middle : fmt::format("{} ({} to {})", middle, lowest, highest);
}

std::string cell_text(const ReportCost& cost, const CostColumn& column) {
  std::vector<double> values;
  for (const auto& run : cost.runs) {
    if (const auto value = column.of(run)) values.push_back(*value);
  }
  return spread_text(std::move(values), column.decimals);
}

}  // namespace

std::string report_cost_html(const Report& report) {
  ViewTable view{{{"Method", false}}, {}};
  for (const auto& column : kColumns) view.columns.push_back({column.title});
  for (const auto& cost : report.costs) {
    view.rows.push_back({RowKind::kOurs, {{cost.method}}});
    for (const auto& column : kColumns) view.rows.back().cells.push_back({cell_text(cost, column)});
  }
  if (view.rows.empty()) return {};
  const auto dropped = drop_blank_columns(view);
  std::vector<std::string> notes = {
      "Whole trainings, without the evaluations of their checkpoints: the median over a method's runs, in "
      "brackets the lowest and the highest.",
      "Network evaluations: forward + 3 backward (4 where activations are recomputed), in images.",
      "Seconds are of the machines that trained, with whatever else ran on them."};
  if (std::ranges::count(dropped, kGpuIdle) == 0) {
    notes.emplace_back(
        "GPU idle: the share of the GPUs' time in which they ran no network, gradient or optimiser of the "
        "training, by events on their streams; scorers on the same GPU count as idle.");
  }
  return view_table_html(view) + list_html(notes, " class=\"notes\"");
}

}  // namespace harness
