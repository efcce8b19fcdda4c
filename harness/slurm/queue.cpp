#include "harness/slurm/queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "harness/slurm/batch_script.h"
#include "harness/slurm/command.h"

namespace harness {
namespace {

constexpr std::int64_t kUsualSeconds = 10;

/// Jobs that have ended are told until Slurm forgets them (MinJobAge).
std::vector<std::string> squeue_words() {
  return {"squeue", "--me", "--noheader", "--states=all", "--format=%i|%j|%T|%N|%r"};
}

std::string text_of(int file) {
  std::string text;
  std::array<char, 1 << 16> bytes;
  for (off_t at = 0;;) {
    const auto got = ::pread(file, bytes.data(), bytes.size(), at);
    if (got <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

/// The newest job has the greatest number.
bool is_newer(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

}  // namespace

bool QueuedJob::is_alive() const {
  constexpr std::array<std::string_view, 12> kAlive = {
      "PENDING",      "RUNNING",      "CONFIGURING", "SUSPENDED", "REQUEUED", "REQUEUE_FED",
      "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED",     "SIGNALING", "RESIZING", "RESV_DEL_HOLD"};
  return std::ranges::find(kAlive, state) != kAlive.end();
}

bool QueuedJob::waits_in_vain() const {
  constexpr std::array<std::string_view, 9> kReasons = {
      "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit",
      "BadConstraints",  "InvalidAccount",     "InvalidQOS",
      "JobHeldUser",     "JobHeldAdmin",       "DependencyNeverSatisfied"};
  return is_waiting() && std::ranges::find(kReasons, reason) != kReasons.end();
}

std::string QueuedJob::text() const {
  if (is_waiting())
    return reason == "None" ? fmt::format("queued ({})", id) : fmt::format("queued ({}: {})", id, reason);
  if (state == "RUNNING") return fmt::format("{} on {}", id, nodes);
  return fmt::format("{} {}", id, state);
}

SlurmQueue::SlurmQueue()
    : interval_(environment_number("HARNESS_SQUEUE_S", 1, "seconds").value_or(kUsualSeconds)) {}

void SlurmQueue::read() {
  squeue_.reset();
  asked_ = Clock::now();
  take(run_slurm(squeue_words()));
  if (trouble_.empty()) return;
  throw Error("Slurm does not answer: " + trouble_, "squeue", "see whether `squeue` works here, then repeat",
              Status::kFailed);
}

void SlurmQueue::poll() {
  constexpr auto kPatience = std::chrono::seconds(60);
  if (squeue_) {
    if (!squeue_->has_ended()) {
      if (Clock::now() - asked_ < kPatience) return;
      squeue_->kill();
    }
    const auto status = squeue_->wait();
    squeue_.reset();
    take({.status = status, .out = text_of(answer_.get()), .err = text_of(message_.get())});
  }
  if (Clock::now() - asked_ < interval_) return;
  asked_ = Clock::now();
  answer_ = memory_file("");
  message_ = memory_file("");
  squeue_ = std::make_unique<Process>(
      slurm_words(squeue_words()),
      ProcessOptions{.out = answer_.get(), .err = message_.get(), .own_group = true});
}

void SlurmQueue::take(const Finished& answer) {
  trouble_ = answer.status.ok() ? "" : said_by_slurm(answer.err);
  if (!answer.status.ok()) {
    if (trouble_.empty()) trouble_ = "squeue ended with " + answer.status.text();
    return;
  }
  jobs_.clear();
  for (const auto& line : split(answer.out, '\n')) {
    const auto words = split(line, '|');
    if (words.size() < 5) continue;
    jobs_[words[0]] = {
        .id = words[0], .name = words[1], .state = words[2], .nodes = words[3], .reason = words[4]};
  }
  ++answers_;
}

const QueuedJob* SlurmQueue::find(const std::string& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<QueuedJob> SlurmQueue::living(const std::string& name) const {
  std::vector<QueuedJob> found;
  for (const auto& [id, job] : jobs_) {
    if (job.name == name && job.is_alive()) found.push_back(job);
  }
  return found;
}

bool SlurmQueue::has_ours() const {
  return std::ranges::any_of(jobs_, [](const auto& known) {
    const auto& job = known.second;
    return job.name.starts_with(kJobNames) && (job.is_alive() || job.state == "COMPLETING");
  });
}

const QueuedJob* SlurmQueue::find_living(const std::string& name) const {
  const QueuedJob* newest = nullptr;
  for (const auto& [id, job] : jobs_) {
    if (job.name != name || !job.is_alive()) continue;
    if (newest == nullptr || is_newer(id, newest->id)) newest = &job;
  }
  return newest;
}

}  // namespace harness
