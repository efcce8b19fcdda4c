#include "worker/reporter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>

#include "core/files.h"
#include "core/host.h"
#include "core/source_sums/source_sums.h"
#include "core/text.h"
#include "models/nn/device.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr int kHeartbeatMilliseconds = 2000;
constexpr double kSyncSeconds = 5;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Json finite_or_null(Json value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return nullptr;
  if (value.is_structured()) {
    for (auto& child : value) child = finite_or_null(std::move(child));
  }
  return value;
}

double peak_rss_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

volatile std::sig_atomic_t terminated = 0;

/// Batch systems send it some time before SIGKILL.
void stop_on_sigterm() {
  struct sigaction action {};
  action.sa_handler = [](int) { terminated = 1; };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
}

/// The worker of a killed orchestrator ends after its shard or epoch, and then unlocks the log.
std::filesystem::path wait_until_free(const std::filesystem::path& log) {
  constexpr auto kTimeout = std::chrono::seconds(20);
  const auto start = std::chrono::steady_clock::now();
  while (event_log_is_held(log) && std::chrono::steady_clock::now() - start < kTimeout) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return log;
}

}  // namespace

Reporter::Reporter(const WorkerJob& job, bool is_root)
    : folder_(job.folder),
      has_orchestrator_(is_root && !is_set("HARNESS_DETACHED")),
      started_(now_seconds()) {
  stop_on_sigterm();
  if (!is_root) return;
  const auto log = job.folder / kEventLog;
  if (is_set("HARNESS_TAKE_OVER")) {
    log_.emplace(log, EventLogWriter::Opening::kTakeOver);
  } else {
    log_.emplace(wait_until_free(log));
  }
  event({{"type", "job_started"},
         {"id", job.id},
         {"kind", job.get<std::string>("kind")},
         {"pid", ::getpid()},
         {"host", host_name()},
         {"build", worker_build()},
         {"sources", sources_sha256()},
         {job.device_field(), device_identity(job.device)},
         {"threads", job.threads}});
  if (!has_orchestrator_) return;
  if (::pipe2(end_pipe_, O_CLOEXEC) != 0)
    throw Error("cannot make a pipe", "harness-worker", "", Status::kFailed);
  watcher_ = std::thread([this] { watch(); });
}

Reporter::~Reporter() {
  if (!has_orchestrator_) return;
  ::close(end_pipe_[1]);
  watcher_.join();
  ::close(end_pipe_[0]);
}

void Reporter::event(Json event) {
  if (!log_) return;
  const std::lock_guard lock(mutex_);
  log_->append(finite_or_null(std::move(event)));
  // Readers on other machines see synced events only.
  if (has_orchestrator_ || now_seconds() - synced_ < kSyncSeconds) return;
  log_->sync();
  synced_ = now_seconds();
}

void Reporter::wake() {
  send("wake\n");
}

void Reporter::progress(double done, double total, const std::string& unit, double images,
                        const std::string& text) {
  if (!work_started_) work_started_ = now_seconds();
  const Json value =
      finite_or_null({{"done", done}, {"total", total}, {"unit", unit}, {"images", images}, {"text", text}});
  send("progress " + value.dump() + "\n");
}

void Reporter::completed(Json summary) {
  if (log_) log_->sync_others();
  Json done = {{"type", "job_completed"},
               {"wall_seconds", now_seconds() - started_},
               {"peak_rss_mb", peak_rss_mb()},
               {"summary", std::move(summary)}};
  if (work_started_) done["start_seconds"] = *work_started_ - started_;
  event(std::move(done));
  if (log_) log_->sync();
  wake();
}

void Reporter::failed(const std::string& what, const std::string& where, const std::string& hint) {
  event({{"type", "job_failed"}, {"what", what}, {"where", where}, {"hint", hint}});
  wake();
}

void Reporter::expect_no_stop() const {
  if (should_stop()) throw Error("was asked to stop", "harness-worker", "", Status::kInterrupted);
}

bool Reporter::should_stop() const {
  return stop_ || terminated != 0 || is_superseded() || is_cancelled();
}

/// By the marker of a cancellation before there was a process to signal.
bool Reporter::is_cancelled() const {
  if (!log_ || has_orchestrator_) return false;
  const auto job = environment("SLURM_JOB_ID");
  const auto marker = folder_ / kStopMarker;
  std::error_code absent;
  return !job.empty() && fs::exists(marker, absent) && trim(read_file(marker)) == job;
}

bool Reporter::is_superseded() const {
  return log_ && log_->is_superseded();
}

void Reporter::send(const std::string& line) {
  if (!has_orchestrator_) return;
  // A closed pipe only means that the orchestrator has ended; the log is the record.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) stop_ = true;
}

void Reporter::watch() {
  std::array<pollfd, 2> files{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{end_pipe_[0], POLLIN, 0}};
  std::array<char, 256> bytes;
  while (true) {
    const int ready = ::poll(files.data(), files.size(), kHeartbeatMilliseconds);
    if (ready == 0) send("alive\n");
    if (ready <= 0) continue;
    if (files[1].revents != 0) return;
    if (::read(STDIN_FILENO, bytes.data(), bytes.size()) > 0) continue;
    stop_ = true;
    files[0].fd = -1;  // poll ignores it from now on
  }
}

}  // namespace harness
