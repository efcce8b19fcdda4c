#include "models/gpu/busy_time.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace harness {
namespace {

/// An event of LibTorch's.
class EventMark : public StreamMark {
 public:
  explicit EventMark(c10::Device device) : event_(device.type(), c10::EventFlag::BACKEND_DEFAULT) {
    event_.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  }

  bool is_reached() const override { return event_.query(); }
  void wait() const override { event_.synchronize(); }
  double seconds_since(const StreamMark& earlier) const override {
    constexpr double kMillisecond = 1e-3;
    return kMillisecond * dynamic_cast<const EventMark&>(earlier).event_.elapsedTime(event_);
  }

 private:
  c10::Event event_;
};

BusyTime::MakeMark marks_of(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  const c10::Device there(device.type(), std::max<c10::DeviceIndex>(device.index(), 0));
  return [there] { return std::make_unique<EventMark>(there); };
}

}  // namespace

BusyTime::BusyTime(c10::Device device) : BusyTime(marks_of(device)) {}

void BusyTime::begin() {
  if (!make_mark_) return;
  const std::lock_guard lock(mutex_);
  while (!ended_.empty() && ended_.front().end->is_reached()) count_first();
  if (open_ == 0) begin_ = make_mark_();
  ++open_;
}

void BusyTime::end() noexcept {
  if (!make_mark_) return;
  const std::lock_guard lock(mutex_);
  if (--open_ > 0) return;
  try {
    ended_.push_back({.begin = std::move(begin_), .end = make_mark_()});
  } catch (const std::exception&) {  // a failed device reports it in its next call
  }
}

double BusyTime::seconds() {
  const std::lock_guard lock(mutex_);
  while (!ended_.empty()) {
    ended_.front().end->wait();
    count_first();
  }
  return seconds_;
}

void BusyTime::count_first() {
  const auto& [begin, end] = ended_.front();
  seconds_ += end->seconds_since(*begin);
  ended_.pop_front();
}

}  // namespace harness
