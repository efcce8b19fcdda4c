// aa-splits: what the rules of results/STATISTICS.md say of training runs of one method, cut at random into
// two arms. Whatever they call better is false. Prints Markdown.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/command_line/command_line.h"
#include "core/error.h"
#include "results/table/table.h"
#include "results/table/table_judgement.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

struct Options {
  std::string db = "runs/results.sqlite", table, split = "test";
  std::vector<std::string> rows;
  std::vector<std::string> metrics = {"ocr_reward", "cer_paper", "exact_match", "substring_match", "cer"};
  std::vector<std::size_t> sizes = {1, 2, 3, 5, 8};
  int splits = 20;  ///< of each size
};

using Values = std::map<std::int64_t, std::optional<double>>;  // by prompt
using Run = std::map<std::string, Values>;  // the selected checkpoint of a training, by metric

/// Every row but the baseline is a method of v_paired, and the baseline stands beside it.
std::vector<Run> runs_of(const Options& options) {
  SQLite::Database db(options.db, SQLite::OPEN_READONLY);
  std::map<std::pair<std::string, std::int64_t>, Run> found;
  for (const auto& metric : options.metrics) {
    SQLite::Statement query(
        db,
        "SELECT seed, prompt_id, baseline, method, baseline_value, method_value FROM v_paired WHERE table_id "
        "= ? AND split = ? AND metric = ?");
    query.bind(1, options.table);
    query.bind(2, options.split);
    query.bind(3, metric);
    while (query.executeStep()) {
      for (const int side : {0, 1}) {
        const auto row = query.getColumn(2 + side).getString();
        if (std::ranges::find(options.rows, row) == options.rows.end()) continue;
        auto& values = found[{row, query.getColumn(0).getInt64()}][metric];
        const auto value = query.getColumn(4 + side);
        values[query.getColumn(1).getInt64()] =
            value.isNull() ? std::nullopt : std::optional(value.getDouble());
      }
    }
  }
  std::vector<Run> runs;
  for (auto& [key, run] : found) {
    for (const auto& metric : options.metrics) {
      if (!run.contains(metric))
        throw Error(fmt::format("{} of seed {} has no {}", key.first, key.second, metric), options.db);
    }
    runs.push_back(std::move(run));
  }
  if (runs.size() < 2) {
    throw Error(
        fmt::format("table {} has fewer than two runs of {} on the {} split", options.table,
                    fmt::join(options.rows, ", "), options.split),
        options.db,
        "`harness query \"SELECT DISTINCT table_id, baseline, method FROM v_paired\"` shows what there is");
  }
  return runs;
}

/// The first `size` runs against the next: a table of one pair of rows, the i-th runs being pair i.
std::vector<Comparison> table_of(const std::vector<const Run*>& runs, std::size_t size,
                                 const Options& options) {
  std::vector<PairedMetric> parts;
  TableModel table;
  auto& comparisons = table.comparisons;
  for (const auto& metric : options.metrics) {
    auto& part = parts.emplace_back();
    for (std::size_t i = 0; i < size; ++i) {
      const auto& second = runs[size + i]->at(metric);
      for (const auto& [prompt, value] : runs[i]->at(metric)) {
        const auto other = second.find(prompt);
        part.pairs.push_back({.baseline = value,
                              .method = other == second.end() ? std::nullopt : other->second,
                              .cluster = prompt,
                              .seed = static_cast<std::int64_t>(i)});
      }
    }
    comparisons.push_back({.metric = metric,
                           .baseline = "first half",
                           .method = "second half",
                           .restates = metric == "cer_paper" ? "ocr_reward" : ""});
  }
  auto results = compare_paired(parts);
  for (std::size_t i = 0; i < comparisons.size(); ++i) comparisons[i].values = std::move(results[i]);
  ask_all({}, table);
  judge_comparisons(table);
  return std::move(comparisons);
}

/// Which of them the rule over prompts alone called resolved: the bootstrap's interval excludes 0, and so
/// does the test over prompts, by Holm's adjustment.
std::vector<bool> called_over_prompts(const std::vector<Comparison>& comparisons) {
  std::vector<TableQuestion> questions;
  for (const auto& c : comparisons) questions.push_back(question_of(c, Claim::kCheckpoints));
  const Family family(std::move(questions));
  std::vector<bool> called;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const auto interval = interval_of(comparisons[i].values, Claim::kCheckpoints);
    called.push_back(interval && interval->excludes_zero() && family.at(i).p.value_or(1) < 0.05);
  }
  return called;
}

struct Count {
  int comparisons = 0, better = 0, over_prompts = 0;
  int tables = 0, tables_better = 0, tables_over_prompts = 0;
};

void add(const std::vector<Comparison>& comparisons, Count& count) {
  const auto over_prompts = called_over_prompts(comparisons);
  const auto resolved = [](const Comparison& c) { return c.judgement.resolved(); };
  const auto better = static_cast<int>(std::ranges::count_if(comparisons, resolved));
  const auto old = static_cast<int>(std::ranges::count(over_prompts, true));
  count.comparisons += static_cast<int>(comparisons.size());
  count.better += better;
  count.over_prompts += old;
  ++count.tables;
  count.tables_better += better > 0 ? 1 : 0;
  count.tables_over_prompts += old > 0 ? 1 : 0;
}

Count count_of(const std::vector<Run>& runs, std::size_t size, const Options& options) {
  std::vector<const Run*> order;
  for (const auto& run : runs) order.push_back(&run);
  std::mt19937_64 bits(20260501 + size);
  Count count;
  for (int i = 0; i < options.splits; ++i) {
    // Fisher-Yates by hand: the order of std::shuffle is the library's choice.
    for (std::size_t k = order.size() - 1; k > 0; --k) std::swap(order[k], order[bits() % (k + 1)]);
    add(table_of(order, size, options), count);
  }
  return count;
}

int run(const Options& options) {
  require_range(options.splits, 1, 1000000, "--splits");
  const auto runs = runs_of(options);
  fmt::print(
      "{} training runs of one method, {} random splits of each size, {} metrics a table.\n\n"
      "| runs of an arm | comparisons | called better or worse | tables with one | by prompts alone | tables "
      "with one |\n|---|---|---|---|---|---|\n",
      runs.size(), options.splits, options.metrics.size());
  for (const auto size : options.sizes) {
    if (size == 0 || 2 * size > runs.size()) continue;
    const auto count = count_of(runs, size, options);
    fmt::print("| {} | {} | {} | {} of {} | {} | {} of {} |\n", size, count.comparisons, count.better,
               count.tables_better, count.tables, count.over_prompts, count.tables_over_prompts,
               count.tables);
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{
      "aa-splits", "Verdicts on training runs of one method, cut at random into two arms; prints Markdown"};
  program.add("table", &o.table, "Table whose rows are one method, such as aa-seeds", {.required = true});
  program.add("rows", &o.rows, "Its rows, which count as runs of one method", {.required = true});
  program.add("--db", &o.db, "Results database");
  program.add("--metric", &o.metrics, "Metrics of a table (default: those of the OCR tables)");
  program.add("--size", &o.sizes,
              "Runs of an arm; those that do not fit are left out (default: 1, 2, 3, 5 and 8)");
  program.add("--splits", &o.splits, "Tables of each size");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
