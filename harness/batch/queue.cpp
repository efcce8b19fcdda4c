#include "harness/batch/queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/host.h"

namespace harness {
namespace {

constexpr std::int64_t kUsualSeconds = 10;

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

BatchQueue::BatchQueue(const Batch& batch)
    : batch_(batch),
      interval_(environment_number("HARNESS_SQUEUE_S", 1, "seconds").value_or(kUsualSeconds)) {}

void BatchQueue::read() {
  question_.reset();
  asked_ = Clock::now();
  take(batch_.run(batch_.queue_command()));
  if (trouble_.empty()) return;
  throw Error(fmt::format("{} does not answer: {}", batch_.names.name, trouble_), batch_.names.list,
              fmt::format("see whether `{}` works here, then repeat", batch_.names.list), Status::kFailed);
}

void BatchQueue::read_patiently() {
  for (const auto until = Clock::now() + kBatchPatience;;) {
    try {
      return read();
    } catch (const Error& error) {
      if (error.status() != Status::kFailed || Clock::now() > until) throw;
    }
    std::this_thread::sleep_for(interval_);
  }
}

void BatchQueue::poll() {
  constexpr auto kPatience = std::chrono::seconds(60);
  if (question_) {
    if (!question_->has_ended()) {
      if (Clock::now() - asked_ < kPatience) return;
      question_->kill();
    }
    const auto status = question_->wait();
    question_.reset();
    take({.status = status, .out = text_of(answer_.get()), .err = text_of(message_.get())});
  }
  if (Clock::now() - asked_ < interval_) return;
  asked_ = Clock::now();
  answer_ = memory_file("");
  message_ = memory_file("");
  question_ = std::make_unique<Process>(
      batch_.words(batch_.queue_command()),
      ProcessOptions{.out = answer_.get(), .err = message_.get(), .own_group = true});
}

void BatchQueue::take(const Finished& answer) {
  trouble_ = answer.status.ok() ? "" : batch_.error_text(answer.err);
  if (!answer.status.ok()) {
    if (trouble_.empty()) trouble_ = batch_.names.list + " ended with " + answer.status.text();
    return;
  }
  jobs_.clear();
  for (auto& job : batch_.parse_queue(answer.out)) jobs_[job.id] = std::move(job);
  ++answers_;
}

const QueuedJob* BatchQueue::find(const std::string& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<QueuedJob> BatchQueue::living(const std::string& name) const {
  std::vector<QueuedJob> found;
  for (const auto& [id, job] : jobs_) {
    if (job.name == name && job.is_alive()) found.push_back(job);
  }
  return found;
}

bool BatchQueue::has_ours() const {
  return std::ranges::any_of(jobs_, [](const auto& known) {
    const auto& job = known.second;
    return job.name.starts_with(kJobNames) && !job.has_ended();
  });
}

const QueuedJob* BatchQueue::find_living(const std::string& name) const {
  const QueuedJob* newest = nullptr;
  for (const auto& [id, job] : jobs_) {
    if (job.name != name || !job.is_alive()) continue;
    if (newest == nullptr || is_newer(id, newest->id)) newest = &job;
  }
  return newest;
}

BatchQueue& BatchQueues::of(const Batch& batch) {
  const auto [known, is_new] = read_.try_emplace(&batch, batch);
  if (is_new) known->second.read();
  return known->second;
}

}  // namespace harness
