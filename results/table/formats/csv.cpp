#include <fmt/format.h>

#include <vector>

#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/table.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Shortest digits that give the same double again; empty for nothing.
template <class Number>
std::string number(const std::optional<Number>& value) {
  return value ? fmt::format("{}", *value) : "";
}

/// One line; the order of the members is that of kHeader.
struct Line {
  std::string record, baseline, method, seed, checkpoint, split, metric, n, n_missing, value, std, low, high,
      seeds_low, seeds_high, wins, ties, losses, p_value, test, p_holm, verdict, claim, runs, runs_low,
      runs_high, runs_p_value, validation_delta;
};

constexpr const char* kHeader =
    "record,baseline,method,seed,checkpoint,split,metric,n,n_missing,value,std,ci95_low,ci95_high,"
    "ci95_seeds_low,ci95_seeds_high,wins,ties,losses,p_value,test,p_holm,verdict,claim,runs,runs_ci95_low,"
    "runs_ci95_high,runs_p_value,validation_delta\n";

std::string text(const Line& line) {
  const std::vector<std::string> fields{
      line.record,     line.baseline,  line.method,       line.seed,
      line.checkpoint, line.split,     line.metric,       line.n,
      line.n_missing,  line.value,     line.std,          line.low,
      line.high,       line.seeds_low, line.seeds_high,   line.wins,
      line.ties,       line.losses,    line.p_value,      line.test,
      line.p_holm,     line.verdict,   line.claim,        line.runs,
      line.runs_low,   line.runs_high, line.runs_p_value, line.validation_delta};
  std::string out;
  for (const auto& field : fields) out.append(out.empty() ? "" : ",").append(csv_field(field));
  return out + "\n";
}

std::string row_lines(const TableRow& row, const char* record) {
  Line line;
  line.record = record;
  line.method = row.method;
  line.seed = number(row.seed);
  line.checkpoint = fmt::format("{}", row.checkpoint);
  line.split = row.split;
  std::string out;
  for (const auto& [metric, summary] : row.metrics) {
    line.metric = metric;
    line.n = fmt::format("{}", summary.n);
    line.n_missing = fmt::format("{}", summary.n_missing);
    line.value = number(summary.mean);
    line.std = number(summary.std);
    out += text(line);
  }
  line.n = line.n_missing = line.std = "";
  for (const auto& [name, value] : {std::pair{"lambda_late", row.lambda_late},
                                    {"clip_fraction", row.clip_fraction},
                                    {"tau", row.tau},
                                    {"damp_share", row.damp_share}}) {
    if (!value) continue;
    line.metric = name;
    line.value = number(value);
    out += text(line);
  }
  return out;
}

std::string paper_lines(const TableModel& model) {
  std::string out;
  std::vector<std::string> seen;
  for (const auto& row : model.rows) {
    if (!seen.empty() && seen.back() == row.method) continue;
    seen.push_back(row.method);
    for (const auto* paper : paper_rows_of(model, row.method)) {
      for (const auto& [metric, value] : paper_values(model, paper)) {
        Line line;
        line.record = "paper";
        line.method = row.method;
        line.checkpoint = number(paper->checkpoint);
        line.split = model.paper->split;
        line.metric = metric;
        line.n = number(model.paper->n);
        line.value = fmt::format("{}", value);
        out += text(line);
      }
    }
  }
  return out;
}

std::string comparison_line(const TableModel& model, const TableComparison& comparison) {
  const auto& values = comparison.values;
  Line line;
  line.record = "comparison";
  line.baseline = comparison.baseline;
  line.method = comparison.method;
  line.split = model.split;
  line.metric = comparison.metric;
  line.n = fmt::format("{}", values.n);
  line.n_missing = fmt::format("{}", values.n_missing);
  line.value = number(values.delta);
  if (values.ci) {
    line.low = fmt::format("{}", values.ci->low);
    line.high = fmt::format("{}", values.ci->high);
  }
  if (values.ci_seeds) {
    line.seeds_low = fmt::format("{}", values.ci_seeds->low);
    line.seeds_high = fmt::format("{}", values.ci_seeds->high);
  }
  line.wins = fmt::format("{}", values.wins);
  line.ties = fmt::format("{}", values.ties);
  line.losses = fmt::format("{}", values.losses);
  line.p_value = number(values.p_value);
  line.test = values.test;
  line.p_holm = number(comparison.adjusted_p);
  line.verdict = verdict_text(model, comparison);
  line.claim = claim_name(comparison.claim);
  line.validation_delta = number(comparison.validation_delta);
  if (const auto& crossed = values.crossed) {
    line.runs = fmt::format("{}", crossed->runs);
    if (crossed->ci) {
      line.runs_low = fmt::format("{}", crossed->ci->low);
      line.runs_high = fmt::format("{}", crossed->ci->high);
    }
    line.runs_p_value = number(crossed->p_value);
  }
  return text(line);
}

}  // namespace

std::string table_csv(const TableModel& model) {
  std::string out = kHeader;
  for (const auto& row : model.reference) out += row_lines(row, "reference");
  for (const auto& row : model.rows) out += row_lines(row, "method");
  out += paper_lines(model);
  for (const auto& comparison : model.comparisons) out += comparison_line(model, comparison);
  return out;
}

namespace {
const bool kRegistered =
    register_table_format({.name = "csv", .file = "table.csv", .place = 3, .render = table_csv});
}  // namespace

}  // namespace harness
