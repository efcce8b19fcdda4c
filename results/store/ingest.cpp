#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/event_log.h"
#include "results/store/columns.h"
#include "results/store/store_impl.h"

namespace harness {
namespace {

/// A number, or nothing where the event has null.
std::optional<double> number_or_null(const Json& value, const Fields& event, std::string_view key) {
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  throw Error(fmt::format("{} must be a number or null", key), event.where(), {}, Status::kFailed);
}

std::optional<std::string> text_or_null(Fields& event, const std::string& key) {
  return event.get(key).is_null() ? std::nullopt : std::optional(event.required<std::string>(key));
}

std::optional<std::string> text_if_any(Fields& event, const std::string& key) {
  return event.has(key) ? std::optional(event.required<std::string>(key)) : std::nullopt;
}

const Json& object_field(Fields& event, const std::string& key) {
  const Json& value = event.get(key);
  if (!value.is_object())
    throw Error(fmt::format("{} must be an object", key), event.where(), {}, Status::kFailed);
  return value;
}

Json picked(Fields& event, std::initializer_list<const char*> keys) {
  Json fields;
  for (const auto* key : keys) fields[key] = event.get(key);
  return fields;
}

/// Brings the events of one job into the tables, inside a transaction of the caller.
class Ingestion {
 public:
  Ingestion(Store::Impl& store, const JobRecord& job, std::string log, IngestReport& report)
      : store_(store), sql_(store.sql), job_(job), log_(std::move(log)), report_(report) {}

  void take(const Json& event) {
    Fields fields(event, log_);
    const auto type = fields.required<std::string>("type");
    // The two frequent ones first.
    if (type == "sample") return sample(fields);
    if (type == "update") return update(fields);
    if (type == "checkpoint") return checkpoint(fields);
    if (type == "note") return note(fields);
    if (type == "not_run") return not_run(fields);
    if (type == "job_started") return job_started(fields);
    if (type == "effective_settings") return effective_settings(fields);
    if (type == "resumed") return resumed(fields);
    if (type == "job_completed") return job_completed(fields);
    if (type == "job_failed") return job_failed(fields);
    refuse(fmt::format("unknown event \"{}\"", type), fields,
           "the log was written by another version of this program");
  }

 private:
  void job_started(Fields& event) {
    const auto id = event.required<std::string>("id");
    if (id != job_.id) {
      refuse(fmt::format("is the log of job {}, not of job {}", id, job_.id), event,
             "move the folder away, or repeat with --fresh");
    }
    put_state(event, JobState::kRunning, std::nullopt);
    if (!job_.evaluation_id) {
      sql_.run("UPDATE runs SET build = ?2 WHERE id = ?1", job_.run_id, event.required<std::string>("build"));
    }
    auto detail = picked(event, {"pid", "host", "build", "threads"});
    const auto* device = event.has("gpu") ? "gpu" : "cpu";  // device_identity
    detail[device] = event.get(device);
    if (event.has("sources")) detail["sources"] = event.required<std::string>("sources");
    put_event(event, "info", "started", std::move(detail));
  }

  void update(Fields& event) {
    TrainStat stat{.run_id = job_.run_id,
                   .update_index = event.required<std::int64_t>("update_index"),
                   .fresh = event.required<bool>("fresh"),
                   .on_policy = event.required<bool>("on_policy")};
    const auto put = [&](const std::string& name, const Json& value) {
      stat.name = name;
      stat.value = number_or_null(value, event, name);
      put_stat(stat);
    };
    for (const auto& [name, value] : object_field(event, "stats").items()) put(name, value);
    for (const auto& [name, values] : object_field(event, "per_step").items()) {
      if (!values.is_array()) refuse(fmt::format("per_step.{} must be a list", name), event);
      for (std::size_t k = 0; k < values.size(); ++k) {
        stat.timestep = static_cast<std::int64_t>(k);
        put(name, values[k]);
      }
    }
  }

  void checkpoint(Fields& event) {
    const auto number = [&](const char* key) { return number_or_null(event.get(key), event, key); };
    CheckpointRecord record{.run_id = job_.run_id,
                            .step = event.required<std::int64_t>("step"),
                            .path = event.required<std::string>("path"),
                            .sha256 = event.required<std::string>("sha256"),
                            .lambda_late = number("lambda_late"),
                            .lambda_late_last = number("lambda_late_last"),
                            .clip_fraction = number("clip_fraction")};
    if (event.has("spent"))
      read_costs(Fields(object_field(event, "spent"), event.where() + ": spent"), record.costs);
    store_.put_checkpoint(record);
  }

  /// An unmeasured cost is null.
  static void read_costs(Fields spent, TrainingCosts& costs) {
    for_each_field(costs, [&]<class T>(const char* name, std::optional<T>& cost) {
      if (std::ranges::count(kLaterCosts, name) > 0 && !spent.has(name)) return;
      const auto number = number_or_null(spent.get(name), spent, name);
      if (!number) return;
      if constexpr (std::is_integral_v<T>)
        cost = std::llround(*number);
      else
        cost = number;
    });
  }

  void sample(Fields& event) {
    static const auto kSample = insert_sql<SampleRow>("samples") + R"sql(
      ON CONFLICT (evaluation_id, prompt_id, sample) DO UPDATE SET
        seed = excluded.seed, path = excluded.path, sha256 = excluded.sha256,
        transcript = excluded.transcript, transcript_raw = excluded.transcript_raw,
        judgement = excluded.judgement)sql";
    const SampleRow sample{.evaluation_id = evaluation_id(event),
                           .prompt_id = prompt_id(event.required<std::int64_t>("position"), event),
                           .sample = event.required<std::int64_t>("sample"),
                           .seed = event.required<std::int64_t>("seed"),
                           .path = event.required<std::string>("path"),
                           .sha256 = event.required<std::string>("sha256"),
                           .transcript = text_or_null(event, "transcript"),
                           .transcript_raw = text_or_null(event, "transcript_raw"),
                           .judgement = text_if_any(event, "judgement")};
    put_record(sql_, kSample, sample);
    put_metrics(event, sample);
    put_detections(event, sample);
  }

  void not_run(Fields& event) {
    store_.put_not_run(evaluation_id(event), event.required<std::string>("metric"),
                       event.required<std::string>("reason"));
  }

  void note(Fields& event) {
    report_.notes.push_back({event.required<std::string>("level"), event.required<std::string>("message")});
    put_event(event, report_.notes.back().level, report_.notes.back().message, Json::object());
  }

  /// What the settings came to: those that the identity leaves out, and of the method derived values like the
  /// clip radius and tau. Only the worker knows.
  void effective_settings(Fields& event) {
    const Json loop = event.has("settings") ? object_field(event, "settings") : Json::object();
    sql_.run(
        "UPDATE runs SET effective_settings = "
        "json_set(json_patch(effective_settings, ?3), '$.method_settings', json(?2)) WHERE id = ?1",
        job_.run_id, canonical_json(object_field(event, "method_settings")), canonical_json(loop));
  }

  void resumed(Fields& event) {
    const auto update = event.required<std::int64_t>("resumed_from");
    if (update == 0) return;
    put_event(event, "info", fmt::format("went on from update {}", update), {{"resumed_from", update}});
  }

  void job_completed(Fields& event) {
    // N is exact: a finished evaluation has every image, and each of its metrics a row for every image.
    const auto held = job_.evaluation_id ? store_.held_instead(*job_.evaluation_id, false) : std::nullopt;
    if (held)
      throw Error("marks the evaluation as complete, but holds " + *held, log_, "repeat the run with --fresh",
                  Status::kFailed);
    put_state(event, JobState::kDone, std::nullopt);
    auto detail = picked(event, {"wall_seconds", "peak_rss_mb", "summary"});
    if (event.has("start_seconds")) detail["start_seconds"] = event.required<double>("start_seconds");
    put_event(event, "info", "completed", std::move(detail));
  }

  void job_failed(Fields& event) {
    const Error error(event.required<std::string>("what"), event.optional<std::string>("where", ""),
                      event.optional<std::string>("hint", ""));
    put_state(event, JobState::kFailed, error.what());
    put_event(event, "error", error.what(),
              {{"what", error.problem()}, {"where", error.where()}, {"hint", error.hint()}});
  }

  void put_stat(const TrainStat& stat) {
    static const auto kStat = insert_sql<TrainStat>("train_stats") + R"sql(
      ON CONFLICT (run_id, update_index, name, ifnull(timestep, -1)) DO UPDATE SET
        value = excluded.value, fresh = excluded.fresh, on_policy = excluded.on_policy)sql";
    put_record(sql_, kStat, stat);
  }

  void put_metrics(Fields& event, const SampleRow& of) {
    static const auto kMetric = insert_sql<MetricRow>("metrics") + R"sql(
      ON CONFLICT (evaluation_id, name, prompt_id, sample) DO UPDATE SET
        value = excluded.value, reason = excluded.reason)sql";
    const Json& reasons = object_field(event, "reasons");
    for (const auto& [name, json] : object_field(event, "metrics").items()) {
      MetricRow metric{.evaluation_id = of.evaluation_id,
                       .name = name,
                       .prompt_id = of.prompt_id,
                       .sample = of.sample,
                       .value = number_or_null(json, event, name)};
      if (!metric.value) {
        const auto found = reasons.find(name);
        if (found == reasons.end() || !found->is_string()) {
          refuse(fmt::format("metric {} is null without a reason", name), event);
        }
        metric.reason = found->get<std::string>();
      }
      put_record(sql_, kMetric, metric);
    }
  }

  /// Those of an earlier recording go.
  void put_detections(Fields& event, const SampleRow& of) {
    static const auto kDetection = insert_sql<DetectionRow>("detections");
    sql_.run("DELETE FROM detections WHERE evaluation_id = ?1 AND prompt_id = ?2 AND sample = ?3",
             of.evaluation_id, of.prompt_id, of.sample);
    const Json none = Json::array();
    const Json& list = event.has("detections") ? event.get("detections") : none;
    if (!list.is_array()) refuse("detections must be a list", event);
    for (std::size_t i = 0; i < list.size(); ++i) {
      Fields found(list[i], fmt::format("{}: detections[{}]", event.where(), i));
      const auto box = found.required<std::vector<double>>("box");
      if (box.size() != 4) refuse("box must be [x0, y0, x1, y1]", found);
      put_record(sql_, kDetection,
                 DetectionRow{.evaluation_id = of.evaluation_id,
                              .prompt_id = of.prompt_id,
                              .sample = of.sample,
                              .rank = static_cast<std::int64_t>(i),
                              .name = found.required<std::string>("name"),
                              .score = found.required<double>("score"),
                              .x0 = box[0],
                              .y0 = box[1],
                              .x1 = box[2],
                              .y1 = box[3],
                              .colour = text_if_any(found, "colour"),
                              .counted = found.required<bool>("counted")});
    }
  }

  void put_state(Fields& event, JobState state, const std::optional<std::string>& failure) {
    store_.put_job_state(job_.id, state, failure, utc_text(event.required<double>("time")));
  }

  void put_event(Fields& event, const std::string& level, const std::string& message, Json detail) {
    static const auto kEvent = insert_sql<EventRow>("events");
    put_record(sql_, kEvent,
               EventRow{.job_id = job_.id,
                        .time = event.required<double>("time"),
                        .type = event.required<std::string>("type"),
                        .level = level,
                        .message = message,
                        .detail = std::move(detail)});
  }

  const std::string& evaluation_id(const Fields& event) const {
    if (!job_.evaluation_id) refuse("a job other than an evaluation wrote a sample", event);
    return *job_.evaluation_id;
  }

  std::int64_t prompt_id(std::int64_t position, const Fields& event) {
    if (prompt_ids_.empty()) {
      Query prompts(sql_[R"sql(
        SELECT prompts.id FROM prompts
        JOIN evaluations ON evaluations.prompt_set_id = prompts.prompt_set_id
        WHERE evaluations.id = ?1 ORDER BY position)sql"],
                    evaluation_id(event));
      while (prompts.step()) prompt_ids_.push_back(prompts.integer(0));
    }
    if (position < 0 || position >= std::ssize(prompt_ids_)) {
      refuse(fmt::format("position {} is outside the prompt set ({} prompts)", position, prompt_ids_.size()),
             event);
    }
    return prompt_ids_[static_cast<std::size_t>(position)];
  }

  [[noreturn]] void refuse(const std::string& problem, const Fields& event,
                           const std::string& hint = {}) const {
    throw Error(problem, event.where(), hint, Status::kFailed);
  }

  Store::Impl& store_;
  StatementCache& sql_;
  const JobRecord& job_;
  std::string log_;
  IngestReport& report_;
  std::vector<std::int64_t> prompt_ids_;  ///< by position; read when first needed
};

constexpr const char* kReadAgainHint =
    "`harness db rebuild` reads what is there again and the command then goes on; to begin the run anew, "
    "repeat the command with --fresh, or remove the run with `harness runs rm`";

/// The log must begin with what was read of it before: `offset` bytes, whole lines.
void require_same_beginning(const std::filesystem::path& log, std::uint64_t offset) {
  if (offset == 0) return;
  std::error_code error;
  const auto size = std::filesystem::file_size(log, error);
  if (error || size < offset) {
    throw Error(
        error ? fmt::format("is gone, and {} bytes were read of it before", offset)
              : fmt::format("is shorter than what was read of it before ({} bytes of {})", size, offset),
        log.string(), kReadAgainHint, Status::kFailed);
  }
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset - 1));
  if (file.get() == '\n') return;
  throw Error(fmt::format("is another log than the one that {} bytes were read of before", offset),
              log.string(), kReadAgainHint, Status::kFailed);
}

}  // namespace

IngestReport Store::ingest(const JobRecord& job, const LogRange& range) {
  const auto log = (range.folder.empty() ? job.folder : range.folder) / kEventLog;
  constexpr std::uint64_t kBatch = 8u << 20;
  IngestReport report;
  for (bool more = true; more;) {
    more = impl_->write([&] {
      impl_->record_job(job);
      // Read under the write lock, so that two processes cannot bring in the same lines.
      report.job = *job_state(job.id);
      const auto offset = report.job.log_offset;
      require_same_beginning(log, offset);
      if (offset >= range.end) return false;
      const auto batch = read_events(log, offset, std::min(kBatch, range.end - offset));
      if (batch.events.empty()) return false;
      Ingestion ingestion(*impl_, job, log.string(), report);
      try {
        for (const auto& event : batch.events) ingestion.take(event);
      } catch (const SQLite::Exception& failure) {
        if ((failure.getErrorCode() & 0xff) != SQLITE_CONSTRAINT) throw;
        throw Error(failure.what(), log.string(), {}, Status::kFailed);  // the log's fault, not the DB's
      }
      impl_->sql.run("UPDATE jobs SET log_offset = ?2 WHERE id = ?1", job.id, batch.next_offset);
      return true;
    });
  }
  return report;
}

}  // namespace harness
