#include "trainers/loop/spending.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
namespace harness {
namespace {

double cpu_seconds() {
  std::timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Of the process, or of its allocations on its GPU.
double peak_bytes(torch::Device device) {
  if (!device.is_cpu()) {
    auto* allocator = c10::getDeviceAllocator(device.type());
    const auto stats = allocator->getDeviceStats(device.index() < 0 ? c10::DeviceIndex(0) : device.index());
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return static_cast<double>(stats.allocated_bytes[kAll].peak);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  constexpr double kKibibyte = 1024;
  return static_cast<double>(usage.ru_maxrss) * kKibibyte;
}

}  // namespace

Spending::Spending(const RunParts& parts, const EpochSource& source, const Objective& objective,
                   const Backbone* reference)
    : parts_(parts),
      source_(source),
      objective_(objective),
      reference_(reference),
      at_start_(parts.backbone.evaluations()),
      cpu_at_start_(cpu_seconds()),
      busy_at_start_(parts.backbone.busy_time().seconds()) {
  time_.weight_copies = static_cast<double>(parts.snapshots.count() + (reference != nullptr ? 1 : 0));
}

Spending::Numbers Spending::sum_over_processes(const Numbers& own) const {
  Numbers total(own.size());
  for (const auto& theirs : parts_.ranks.gather_json(own))
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += theirs.at(i).get<double>();
  return total;
}

std::map<std::string, double> Spending::counts() {
  const auto own = parts_.backbone.evaluations();
  const auto other = reference_ != nullptr ? reference_->evaluations() : Backbone::Evaluations{};
  counted_ =
      sum_over_processes({static_cast<double>(source_.images() + objective_.images()),
                          static_cast<double>(own.forward - at_start_.forward - left_out_ + other.forward),
                          static_cast<double>(own.backward - at_start_.backward)});
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < kCounts.size(); ++i) named[kCounts[i]] = counted_[i] += before_[i];
  return named;
}

SpentTime Spending::time() {
  const auto device = parts_.backbone.device();
  const double busy = parts_.backbone.busy_time().seconds() - busy_at_start_;  // waits for the device
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const auto sums =
      sum_over_processes({device.is_cpu() ? cpu_seconds() - cpu_at_start_ : wall, peak_bytes(device), busy});
  time_.seconds = time_before_.seconds + wall;
  time_.scorer_seconds = time_before_.scorer_seconds + source_.scorer_seconds();
  time_.core_seconds = time_before_.core_seconds + sums[0];
  if (!device.is_cpu()) time_.gpu_busy_seconds = time_before_.gpu_busy_seconds.value_or(0) + sums[2];
  time_.peak_bytes = std::max(time_before_.peak_bytes, sums[1]);
  return time_;
}

Json Spending::state() const {
  return {{"counts", counted_}, {"time", time_.to_json()}};
}

void Spending::restore(const Json& state, const std::string& where) {
  Fields fields(state, where);
  before_ = counted_ = fields.required<Numbers>("counts");
  time_before_ = SpentTime::from_json(fields.object("time"));
  if (before_.size() != kCounts.size()) throw Error("holds other counts than this program's", where);
  time_ = time_before_;
}

}  // namespace harness
