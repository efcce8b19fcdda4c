#include "harness/show/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/event_log.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/read/known_runs.h"
#include "harness/spec/table_spec.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "harness/workspace/workspace.h"
#include "results/store/journal.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// One start of a job until its end or its last event.
struct Session {
  double begin = 0, end = 0;          ///< seconds since 1970, first and last event
  std::string ending;                 ///< "done", "failed: ...", "running" or "interrupted"
  std::int64_t update = 0, from = 0;  ///< the last update reached, and the one it went on from
  Json start = Json::object();        ///< its job_started
};

/// The starts of the job whose log is in `folder`, in order. Throws Error for a damaged log.
std::vector<Session> sessions_of(const fs::path& folder) {
  const auto log = folder / kEventLog;
  std::vector<Session> sessions;
  for (const auto& event : Events(log)) {
    const auto type = event.value("type", std::string());
    const double time = event.value("time", 0.0);
    if (type == "job_started")
      sessions.push_back({.begin = time, .end = time, .ending = "interrupted", .start = event});
    if (sessions.empty()) continue;
    auto& session = sessions.back();
    session.end = std::max(session.end, time);
    if (type == "resumed") session.from = event.value("resumed_from", std::int64_t{0});
    if (type == "update") session.update = event.value("update_index", std::int64_t{0});
    if (type == "job_completed") session.ending = "done";
    if (type == "job_failed") session.ending = "failed: " + event.value("what", std::string());
  }
  if (!sessions.empty() && sessions.back().ending == "interrupted" && event_log_is_held(log))
    sessions.back().ending = "running";
  return sessions;
}

struct JobFolder {
  std::string split;  ///< empty: the training
  std::int64_t step = 0;
  fs::path folder;
};

std::vector<JobFolder> job_folders(Store& store, const StoredRun& run, const fs::path& folder) {
  std::vector<JobFolder> jobs = {{"", 0, folder}};
  for (const auto& evaluation : store.evaluations(run.id))
    jobs.push_back({evaluation.split, evaluation.step, folder / fs::path(evaluation.folder).filename()});
  return jobs;
}

Json session_json(const JobFolder& job, const Session& session) {
  return {{"job", job.split.empty() ? "training" : fmt::format("{} at {}", job.split, job.step)},
          {"started", utc_text(session.begin)},
          {"last_event", utc_text(session.end)},
          {"ending", session.ending},
          {"update", session.update},
          {"from", session.from}};
}

/// Wall time of training and evaluation, and every start that did not end well.
void add_times(Json& report, const std::vector<JobFolder>& jobs) {
  struct Phase {
    double seconds = 0;
    std::size_t starts = 0, jobs = 0;
  };
  std::map<std::string, Phase> phases;
  Json interruptions = Json::array();
  double begin = 0, end = 0;
  for (const auto& job : jobs) {
    const auto sessions = sessions_of(job.folder);
    if (sessions.empty()) continue;
    auto& phase = phases[job.split.empty() ? "training" : "evaluation on " + job.split];
    phase.starts += sessions.size();
    ++phase.jobs;
    for (const auto& session : sessions) {
      phase.seconds += session.end - session.begin;
      begin = begin == 0 ? session.begin : std::min(begin, session.begin);
      end = std::max(end, session.end);
      if (session.ending != "done" && session.ending != "running")
        interruptions.push_back(session_json(job, session));
    }
    if (job.split.empty() || !report.contains("machine")) {
      const Json& start = sessions.back().start;
      report["machine"] = {{"host", start.value("host", "")},
                           {"cpu", start.value("cpu", start.value("gpu", ""))},
                           {"threads", start.value("threads", 0)},
                           {"pid", start.value("pid", 0)}};
      if (report.at("build").is_null()) report["build"] = start.value("build", "");
    }
  }
  report["started"] = begin == 0 ? Json() : Json(utc_text(begin));
  report["last_event"] = end == 0 ? Json() : Json(utc_text(end));
  report["wall_time"] = Json::object();
  for (const auto& [name, phase] : phases)
    report["wall_time"][name] = {{"seconds", phase.seconds}, {"starts", phase.starts}, {"jobs", phase.jobs}};
  report["interruptions"] = std::move(interruptions);
}

/// Which of the kinds of `runs show` a file is, by its place in the run's folder.
std::string kind_of(const fs::path& relative) {
  const auto first = relative.begin()->string();
  if (first == "checkpoints") return "checkpoints";
  if (first == "resume") return "resume points";
  if (relative.extension() == ".log") return "logs";
  return relative.extension() == ".png" ? "images" : "other";
}

Json sizes_on_disk(const fs::path& folder) {
  std::map<std::string, std::uintmax_t> bytes;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const auto size = at->file_size(gone);
    if (!gone) bytes[kind_of(at->path().lexically_relative(folder))] += size;
  }
  return bytes;
}

/// A row per evaluation, one for a checkpoint without any, with the mean of every metric.
Json checkpoints_of(Store& store, const std::string& run) {
  constexpr auto kSql = R"sql(
    SELECT c.step, c.path, c.lambda_late, c.clip_fraction, e.split, e.state, e.n, m.name, avg(m.value),
           count(*) - count(m.value),
           EXISTS (SELECT 1 FROM v_selections WHERE checkpoint_id = c.id),
           (SELECT value FROM train_stats AS s
            WHERE s.run_id = c.run_id AND s.update_index = c.step AND s.name = 'ema_lag'),
           (SELECT value FROM train_stats AS s
            WHERE s.run_id = c.run_id AND s.update_index = c.step AND s.name = 'ema_start_share'),
           e.id, (SELECT group_concat(table_id || ' (' || scale || ')', ', ')
                  FROM (SELECT * FROM table_evaluations WHERE evaluation_id = e.id ORDER BY table_id, scale))
    FROM checkpoints AS c
    LEFT JOIN evaluations AS e ON e.checkpoint_id = c.id
    LEFT JOIN metrics AS m ON m.evaluation_id = e.id
    WHERE c.run_id = ?1
    GROUP BY c.id, e.id, m.name
    ORDER BY c.step, e.split DESC, e.id, m.name)sql";
  using Text = std::optional<std::string>;
  using Real = std::optional<double>;
  using Whole = std::optional<std::int64_t>;
  Json rows = Json::array();
  for (const auto& [step, path, lambda_late, clip_fraction, split, state, n, metric, mean, missing, selected,
                    ema_lag, ema_start_share, evaluation, tables] :
       rows_of<std::int64_t, Text, Real, Real, Text, Text, Whole, Text, Real, std::int64_t, bool, Real, Real,
               Text, Text>(store, kSql, run)) {
    if (rows.empty() || rows.back().at("step") != step ||
        rows.back().at("evaluation") != or_null(evaluation)) {
      rows.push_back({{"step", step},
                      {"path", path.value_or("")},
                      {"lambda_late", or_null(lambda_late)},
                      {"clip_fraction", or_null(clip_fraction)},
                      {"ema_lag", or_null(ema_lag)},
                      {"ema_start_share", or_null(ema_start_share)},
                      {"evaluation", or_null(evaluation)},
                      {"tables", or_null(tables)},
                      {"split", or_null(split)},
                      {"state", or_null(state)},
                      {"n", or_null(n)},
                      {"selected", selected},
                      {"n_missing", 0},
                      {"metrics", Json::object()}});
    }
    if (!metric) continue;
    rows.back()["metrics"][*metric] = or_null(mean);
    rows.back()["n_missing"] = std::max(rows.back().at("n_missing").get<std::int64_t>(), missing);
  }
  return rows;
}

std::vector<Json> tables_of(Store& store, const std::string& run) {
  std::vector<Json> tables;
  for (const auto& [table, scale, arm] : rows_of<std::string, std::string, std::string>(
           store, "SELECT table_id, scale, arm FROM table_runs WHERE run_id = ?1", run))
    tables.push_back({{"table", table}, {"scale", scale}, {"row", arm}});
  return tables;
}

std::string text_of(const Json& report, const char* key) {
  const auto found = report.find(key);
  return found == report.end() || found->is_null() ? std::string() : found->get<std::string>();
}

void print_field(const std::string& name, const std::string& text) {
  if (!text.empty()) put("  {:<12} {}\n", name, text);
}

std::string tables_text(const Json& report) {
  std::vector<std::string> parts;
  for (const auto& table : report.at("tables")) {
    const auto row = table.at("row").get<std::string>();
    parts.push_back(fmt::format("{} (scale {}{})", table.at("table").get<std::string>(),
                                table.at("scale").get<std::string>(),
                                row.empty() || row == report.at("method") ? "" : ", row " + row));
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string experiments_text(const Json& report) {
  std::vector<std::string> parts;
  for (const auto& e : report.at("experiments"))
    parts.push_back(fmt::format("{} ({})", e.at("experiment").get<int>(), e.at("table").get<std::string>()));
  return parts.empty() ? "none finished" : join(parts, ", ");
}

std::string machine_text(const Json& report) {
  if (!report.contains("machine")) return {};
  const auto& machine = report.at("machine");
  const auto device = text_of(report, "device"), precision = text_of(report, "precision");
  return fmt::format("{}, {}, {} threads{}", text_of(machine, "host"), text_of(machine, "cpu"),
                     machine.at("threads").get<int>(),
                     device.empty() ? "" : fmt::format("; {} {}", device, precision));
}

void print_facts(const Json& report) {
  const auto state = text_of(report, "state"), failure = text_of(report, "failure");
  put("run {}: {} on {}, task {}, seed {}\n", text_of(report, "name"), text_of(report, "method"),
      text_of(report, "backbone"), text_of(report, "task"), report.at("seed").get<std::int64_t>());
  print_field("state", state == "failed" && !failure.empty() ? "failed: " + failure : state);
  print_field("planned", readable_time(text_of(report, "created")));
  print_field("started", readable_time(text_of(report, "started")));
  print_field(row_traits(text_of(report, "method")).is_taken_in() ? "taken in" : "trained",
              readable_time(text_of(report, "finished")));
  print_field("last event", readable_time(text_of(report, "last_event")));
  print_field("folder",
              text_of(report, "folder") + (report.at("folder_exists").get<bool>() ? "" : " (missing)"));
  print_field("tables", tables_text(report));
  print_field("experiments", experiments_text(report));
  print_field("machine", machine_text(report));
  const auto build = text_of(report, "build").substr(0, 12);
  print_field("build", build.empty() ? build
                                     : fmt::format("{} (numerics {})", build,
                                                   report.at("numerics_version").get<int>()));
  print_field("weights", text_of(report, "weights_sha256").substr(0, 12));
}

std::string value_text(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "lr=5e-05, updates=80", broken into lines.
void print_settings(std::string title, const Json& settings) {
  std::string line;
  constexpr std::size_t kWidth = 90;
  const auto flush = [&] {
    print_field(std::exchange(title, ""), line);
    line.clear();
  };
  for (const auto& [name, value] : settings.items()) {
    if (value.is_object() || value.is_null()) continue;
    const auto part = fmt::format("{}={}", name, value_text(value));
    if (!line.empty() && line.size() + part.size() + 2 > kWidth) flush();
    line += (line.empty() ? "" : ", ") + part;
  }
  flush();
}

void print_times(const Json& report) {
  if (report.at("wall_time").empty()) return;
  put("wall time\n");
  for (const auto& [phase, time] : report.at("wall_time").items()) {
    const auto jobs = time.at("jobs").get<int>(), starts = time.at("starts").get<int>();
    std::string detail;
    if (jobs > 1) detail += fmt::format(", {} evaluations", jobs);
    if (starts > jobs) detail += fmt::format(", {} starts", starts);
    put("  {:<26} {}{}{}\n", phase, duration_text(time.at("seconds").get<double>()),
        phase == "training" ? "" : " (sampling and scoring)", detail);
  }
}

void print_sizes(const Json& report) {
  if (report.at("bytes").empty()) return;
  std::vector<std::string> parts;
  double total = 0;
  for (const char* kind : {"checkpoints", "resume points", "images", "logs", "other"}) {
    if (!report.at("bytes").contains(kind)) continue;
    const auto bytes = report.at("bytes").at(kind).get<double>();
    total += bytes;
    parts.push_back(fmt::format("{} {}", kind, size_text(bytes)));
  }
  put("on disk        {}: {}\n", size_text(total), join(parts, ", "));
}

/// What a training has spent by its last checkpoint; null where its log lacks it.
Json spent_by(Store& store, const std::string& run) {
  const auto budgets = store.budgets(run);
  if (budgets.empty() || !budgets.back().images) return {};
  const auto& last = budgets.back();
  return {{"updates", last.updates},
          {"images", or_null(last.images)},
          {"nfe_total", or_null(last.nfe_total)},
          {"seconds", or_null(last.costs.seconds)},
          {"scorer_seconds", or_null(last.costs.scorer_seconds)},
          {"core_seconds", or_null(last.costs.core_seconds)},
          {"gpu_idle", or_null(last.gpu_idle)},
          {"peak_bytes", or_null(last.costs.peak_bytes)}};
}

void print_spent(const Json& spent) {
  if (spent.is_null()) return;
  std::vector<std::string> parts;
  const auto add = [&](const char* key, const auto& text) {
    if (const auto& value = spent.at(key); !value.is_null()) parts.push_back(text(value.get<double>()));
  };
  add("images", [](double n) { return fmt::format("{:.0f} images", n); });
  add("nfe_total", [](double n) { return fmt::format("NFE total {:.0f}", n); });
  add("scorer_seconds", [](double s) { return duration_text(s) + " waiting for rewards"; });
  add("gpu_idle", [](double share) { return fmt::format("GPU idle {:.1f} %", 100 * share); });
  add("peak_bytes", [](double bytes) { return size_text(bytes) + " of memory"; });
  put("training spent {}\n", join(parts, ", "));
}

Json number_cell(const Json& value, const char* format) {
  return value.is_number() ? Json(fmt::format(fmt::runtime(format), value.get<double>())) : Json();
}

Json percent_cell(const Json& share) {
  return share.is_number() ? Json(fmt::format("{:.1f} %", share.get<double>() * 100)) : Json();
}

/// "average lags": lag of the averaged weights in updates; "start in it": the base model's share.
void print_checkpoints(const Json& report) {
  std::vector<Json> rows;
  std::vector<std::string> columns = {"checkpoint", "split", "n", "lambda_late", "clipped"};
  const auto has_lag = [](const Json& checkpoint) { return checkpoint.at("ema_lag").is_number(); };
  if (std::ranges::any_of(report.at("checkpoints"), has_lag)) {
    columns.push_back("average lags");
    columns.push_back("start in it");
  }
  std::set<std::string> tables;
  for (const auto& checkpoint : report.at("checkpoints")) tables.insert(text_of(checkpoint, "tables"));
  tables.erase("");
  if (tables.size() > 1) columns.insert(columns.begin() + 2, "for table");
  for (const auto& checkpoint : report.at("checkpoints")) {
    const bool selected = checkpoint.at("selected");
    Json row = {
        {"checkpoint", fmt::format("{}{}", checkpoint.at("step").get<int>(), selected ? " selected" : "")},
        {"split", checkpoint.at("split")},
        {"for table", checkpoint.at("tables")},
        {"n", checkpoint.at("n")},
        {"lambda_late", number_cell(checkpoint.at("lambda_late"), "{:.4g}")},
        {"clipped", number_cell(checkpoint.at("clip_fraction"), "{:.3g}")},
        {"average lags", number_cell(checkpoint.at("ema_lag"), "{:.1f}")},
        {"start in it", percent_cell(checkpoint.at("ema_start_share"))}};
    if (!checkpoint.at("state").is_null() && checkpoint.at("state") != "done")
      row["n"] = checkpoint.at("state");
    for (const auto& [metric, value] : checkpoint.at("metrics").items()) {
      if (std::ranges::find(columns, metric) == columns.end()) columns.push_back(metric);
      row[metric] = number_cell(value, "{:.4f}");
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return;
  put("\n");
  print_rows(rows, columns);
}

void print_interruptions(const Json& report) {
  if (report.at("interruptions").empty()) return;
  put("\ninterruptions\n");
  for (const auto& stop : report.at("interruptions")) {
    const auto update = stop.at("update").get<std::int64_t>();
    put("  {}  {}: {}{}\n", readable_time(text_of(stop, "last_event")), text_of(stop, "job"),
        text_of(stop, "ending"), update > 0 ? fmt::format(" after update {}", update) : "");
  }
}

}  // namespace

Json run_report(Store& store, const StoredRun& run, const std::string& state) {
  const auto folder = folder_of(store, run);
  const auto status = store.job_state(run.id);
  Json report = {{"name", run.id},
                 {"method", run.method},
                 {"backbone", run.backbone},
                 {"task", run.task},
                 {"seed", run.seed},
                 {"state", state},
                 {"failure", or_null(status ? status->failure : std::nullopt)},
                 {"created", run.created},
                 {"finished", or_null(run.finished)},
                 {"folder", folder.string()},
                 {"folder_exists", fs::is_directory(folder)},
                 {"tables", tables_of(store, run.id)},
                 {"experiments", experiments_with(store, run.id)},
                 {"build", or_null(run.build)},
                 {"numerics_version", run.numerics_version},
                 {"precision", run.config.value("precision", "")},
                 {"device", run.config.value("device", "")},
                 {"weights_sha256", run.weights_sha256},
                 {"requested_settings", run.requested_settings},
                 {"settings", run.effective_settings},
                 {"spent", spent_by(store, run.id)},
                 {"bytes", sizes_on_disk(folder)},
                 {"checkpoints", checkpoints_of(store, run.id)}};
  add_times(report, job_folders(store, run, folder));
  return report;
}

void print_run_report(const Json& report) {
  print_facts(report);
  print_settings("asked for", report.at("requested_settings"));
  print_settings("method", report.at("settings").value("method_settings", Json::object()));
  print_settings("settings", report.at("settings"));
  print_times(report);
  print_spent(report.at("spent"));
  print_sizes(report);
  print_checkpoints(report);
  print_interruptions(report);
}

}  // namespace harness
