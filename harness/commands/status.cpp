#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/show/run_status.h"
#include "harness/terminal/ctrl_c.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "harness/terminal/redraw.h"
#include "harness/terminal/width.h"
#include "results/store/journal.h"

namespace harness {
namespace {

struct Options {
  WorkspaceChoice place;
  std::optional<double> watch;  ///< seconds
  bool all = false, json = false;
};

/// How much detail each layout shows: the first one that fits is taken.
struct Layout {
  std::vector<std::string> columns;
  bool in_full = true;  ///< "update 12 of 80", not "12/80"
};

const std::vector<Layout> kLayouts = {
    {{"table", "run", "method", "seed", "doing", "progress", "reward", "images/s", "ETA"}},
    {{"table", "method", "seed", "doing", "progress", "reward", "images/s", "ETA"}},
    {{"table", "method", "seed", "doing", "progress", "reward", "images/s", "ETA"}, false},
    {{"method", "seed", "doing", "progress", "reward", "images/s", "ETA"}, false},
    {{"method", "seed", "doing", "progress", "reward", "ETA"}, false},
    {{"method", "seed", "doing", "progress", "ETA"}, false},
    {{"method", "seed", "doing", "progress"}, false},
    {{"method", "seed", "doing"}, false}};

bool is_number_column(const std::string& column) {
  return column == "seed" || column == "reward" || column == "images/s" || column == "ETA";
}

/// "evaluate checkpoint 40 on validation", "evaluate 40"; "" where there is nothing to say.
std::string part_text(const RunStatus& run, bool in_full) {
  if (run.part != RunPart::kEvaluate) return run_part_name(run.part);
  const bool is_start = row_traits(run.method).is_start;
  const auto what = is_start ? std::string("base") : fmt::format("{}", run.checkpoint.value_or(0));
  if (!in_full) return "evaluate " + what;
  return fmt::format("evaluate {}{} on validation", is_start ? "" : "checkpoint ", what);
}

std::string doing_text(const RunStatus& run, bool in_full) {
  if (run.state == RunState::kRunning) {
    const auto doing = part_text(run, in_full);
    return in_full && !run.queue.empty() ? fmt::format("{} ({})", doing, run.queue) : doing;
  }
  // If a process is active there, the checkpoint is selected in a moment.
  if (run.state == RunState::kWaiting && run.part == RunPart::kSelect) return run_part_name(run.part);
  const auto part = part_text(run, in_full);
  if (run.state == RunState::kWaiting && !run.queue.empty())
    return in_full && !part.empty() ? fmt::format("{}, {}", part, run.queue) : run.queue;
  const bool shows_part = in_full && !part.empty() && run.state != RunState::kDone;
  return run_state_name(run.state) + (shows_part ? ": " + part : "");
}

std::string progress_text(const RunStatus& run, bool in_full) {
  const bool is_evaluation = run.part == RunPart::kEvaluate || run.part == RunPart::kTest;
  const auto done = is_evaluation ? run.images : run.update,
             total = is_evaluation ? run.images_total : run.updates;
  if (!done && !total) return {};
  if (!is_evaluation && !done && run.state == RunState::kWaiting) return {};
  const auto count = done.value_or(0);
  const auto noun = is_evaluation ? "image" : "update";
  if (!total) return in_full ? fmt::format("{} {}", noun, count) : fmt::format("{}", count);
  return in_full ? fmt::format("{} {} of {}", noun, count, *total) : fmt::format("{}/{}", count, *total);
}

std::string rate_text(const RunStatus& run) {
  if (!run.images_per_second) return {};
  return *run.images_per_second < 1 ? fmt::format("{:.2f}", *run.images_per_second)
                                    : fmt::format("{:.1f}", *run.images_per_second);
}

std::string cell(const RunStatus& run, const std::string& column, bool in_full) {
  if (column == "table") return run.table;
  if (column == "run") return run.id;
  if (column == "method") return run.row;
  if (column == "seed") return fmt::format("{}", run.seed);
  if (column == "doing") return doing_text(run, in_full);
  if (column == "progress") return progress_text(run, in_full);
  if (column == "reward") return run.reward ? fmt::format("{:.3f}", *run.reward) : "";
  if (column == "images/s") return rate_text(run);
  return run.eta_seconds ? duration_text(*run.eta_seconds) : "";
}

/// The runs as lines under a head, each column as wide as it needs to be.
std::vector<std::string> lines_of(const std::vector<RunStatus>& runs, const Layout& layout) {
  std::vector<std::vector<std::string>> rows = {layout.columns};
  for (const auto& run : runs) {
    auto& row = rows.emplace_back();
    for (const auto& column : layout.columns) row.push_back(cell(run, column, layout.in_full));
  }
  std::vector<std::string> lines(rows.size());
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    int width = 0;
    for (const auto& row : rows) width = std::max(width, display_width(row[i]));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const bool right = is_number_column(layout.columns[i]);
      lines[k] += (i == 0 ? "" : "  ") + padded(rows[k][i], width, right);
    }
  }
  for (auto& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

bool fits(const std::vector<std::string>& lines, int columns) {
  return std::ranges::all_of(lines, [&](const std::string& line) { return display_width(line) <= columns; });
}

std::vector<std::string> run_lines(const std::vector<RunStatus>& runs, int columns) {
  std::set<std::string> tables;
  for (const auto& run : runs) tables.insert(run.table);
  std::vector<std::string> lines;
  for (auto layout : kLayouts) {
    if (tables.size() < 2) std::erase(layout.columns, "table");
    lines = lines_of(runs, layout);
    if (fits(lines, columns)) break;
  }
  return lines;
}

/// "sd35-ocr (glyph, default)"
template <class Experiment>
std::string setting_of(const Experiment& experiment) {
  return fmt::format("{} ({}, {})", experiment.table, experiment.backbone, experiment.scale);
}

bool has_batch_jobs(const WorkspaceStatus& status) {
  return !status.continuation.empty() ||
         std::ranges::any_of(status.runs, [](const RunStatus& run) { return !run.queue.empty(); });
}

/// Started by hand, or left by a command that was killed.
bool has_workers(const WorkspaceStatus& status) {
  return std::ranges::any_of(status.runs,
                             [](const RunStatus& run) { return run.state == RunState::kRunning; });
}

std::string holder_text(const WorkspaceStatus& status) {
  if (!status.holder && has_batch_jobs(status)) return "with " + status.batch;
  if (!status.holder) return has_workers(status) ? "workers without a command" : "not running";
  return *status.holder > 0 ? fmt::format("running, pid {}", *status.holder) : "running on another machine";
}

/// Of the setting the table alone where all of it does not fit.
std::string experiment_line(const ExperimentStatus& experiment, const WorkspaceStatus& status, int columns) {
  const bool is_done = experiment.jobs_done == experiment.jobs;
  std::string eta;
  if (status.holder && !is_done)
    eta = ", ETA " + (experiment.eta_seconds ? duration_text(*experiment.eta_seconds) : "unknown");
  const auto state = fmt::format(": {} of {} jobs done{}; {}", experiment.jobs_done, experiment.jobs, eta,
                                 holder_text(status));
  const auto whole = setting_of(experiment) + state;
  return display_width(whole) <= columns ? whole : experiment.table + state;
}

std::string finished_line(const FinishedExperiment& last) {
  return fmt::format("experiment {}: {}, finished {}", last.number, setting_of(last),
                     readable_time(last.finished));
}

std::string idle_line(const WorkspaceStatus& status) {
  if (!status.last) return "nothing is running; no experiment is finished yet";
  return fmt::format("nothing is running; last finished: experiment {}, {} done", status.last->number,
                     counted(std::ssize(status.last->runs), "run"));
}

bool is_running(const WorkspaceStatus& status) {
  return status.holder || has_batch_jobs(status) || has_workers(status);
}

/// Lines below the runs.
std::vector<std::string> last_lines(const WorkspaceStatus& status, const std::string& options) {
  std::vector<std::string> lines;
  for (const auto& run : status.runs) {
    if (!run.failure.empty())
      lines.push_back(fmt::format("{}, seed {}, failed: {}", run.row, run.seed, printable_line(run.failure)));
  }
  if (!status.continuation.empty())
    lines.push_back(
        fmt::format("detached: {}'s job {} continues the table", status.batch, status.continuation));
  for (const auto& note : status.notes) lines.push_back("note: " + printable_line(note));
  if (status.holder && status.under_way.empty())
    lines.push_back(fmt::format("harness is {}; no run of its own is under way", holder_text(status)));
  if (is_running(status)) return lines;
  if (status.under_way.empty()) {
    lines.push_back(idle_line(status));
  } else {
    lines.push_back(fmt::format("repeat the `harness reproduce` command to go on where it stopped{}",
                                options.empty() ? "" : fmt::format(" (with{})", options)));
  }
  return lines;
}

std::string block_of(const WorkspaceStatus& status, const std::string& options) {
  const auto columns = is_terminal(stdout) ? terminal_columns(stdout) - 1 : std::numeric_limits<int>::max();
  std::vector<std::string> lines;
  for (const auto& experiment : status.under_way)
    lines.push_back(experiment_line(experiment, status, columns));
  if (status.under_way.empty() && status.last) lines.push_back(finished_line(*status.last));
  if (!status.runs.empty()) {
    const auto runs = run_lines(status.runs, columns);
    lines.insert(lines.end(), runs.begin(), runs.end());
  }
  const auto last = last_lines(status, options);
  lines.insert(lines.end(), last.begin(), last.end());
  return join(lines, "\n") + "\n";
}

int watch(const Workspace& workspace, StatusScope scope, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kAnswersLast{10};
  const CtrlC ctrl_c;
  Redraw redraw;
  std::optional<QueueAnswers> queue;
  for (Clock::time_point asked{};;) {
    if (!queue || Clock::now() - asked > kAnswersLast) {
      queue.emplace();
      asked = Clock::now();
    }
    const auto status = read_status(workspace, scope, *queue);
    redraw.show(block_of(status, workspace.options));
    if (!is_running(status) || !is_output_wanted() || ctrl_c.comes_within(seconds)) return 0;
  }
}

int show(const Options& options) {
  if (options.watch && options.json)
    throw Error("is one document, and --watch repeats", "--json", "leave one of the two out");
  if (options.watch && !(*options.watch >= 0.1 && *options.watch <= 86400))
    throw Error("must be 0.1 to 86400 seconds", "--watch");
  const auto workspace = find_workspace(options.place);
  const auto scope = options.all ? StatusScope::kAll : StatusScope::kCurrent;
  if (options.watch) return watch(workspace, scope, *options.watch);
  QueueAnswers queue;
  const auto status = read_status(workspace, scope, queue);
  Json runs = Json::array();
  for (const auto& run : status.runs) runs.push_back(run_status_json(run));
  if (options.json) {
    for (const auto& note : status.notes) tell("note: {}\n", note);
  }
  return print_answer(options.json, runs, [&] { put("{}", block_of(status, workspace.options)); });
}

Command make_status() {
  auto o = std::make_shared<Options>();
  Command command{"status", "Show how far the runs of a workspace are, from any terminal", R"(
One line per run: what it does, how far it is, the reward of its last update, images per second, and the time left
of what it does; above them the time left of the whole experiment. Shown are the runs of the experiment under way,
or of the last one. Only reads logs, and disturbs nobody.
Examples:
  harness status
  harness status --watch
  harness status --out runs --json)"};
  command.add("--watch", &o->watch, "repeat every so many seconds until nothing runs; Ctrl-C ends it",
              {.may_be_bare = true, .default_text = "2", .value = "SECONDS"});
  command.add("--all", &o->all, "show all runs of the workspace");
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, show);
}

const bool kRegistered = register_command(CommandGroup::kRun, 40, make_status);

}  // namespace
}  // namespace harness
