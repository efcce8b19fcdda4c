#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/processes/rank_place.h"
#include "models/nn/torch.h"

namespace c10d {
class Backend;
}

namespace harness {

/// The processes (ranks) of one job. They exchange bytes and reduce nothing on the way, so that results do
/// not depend on their number, network or library. Collective calls: all ranks make them in the same order,
/// each from one thread. They throw Error (status 1) with the reason if another rank has ended.
class Ranks {
 public:
  /// One process, which exchanges nothing.
  Ranks();

  /// Rendezvous at `place`. name: the job's, which keeps other jobs' processes out; wait: the timeout. Throws
  /// Error for a port in use and for a missing process.
  Ranks(const RankPlace& place, const std::string& name, std::chrono::seconds wait);
  /// The host of the rendezvous leaves last.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }  ///< writes what the job leaves

  /// The equal part of `count` things that is this process' own: [first, last). `size` must divide `count`.
  struct Part {
    std::size_t first, last;
    std::size_t count() const { return last - first; }
  };
  Part part_of(std::size_t count) const { return part_of(count, rank_); }
  Part part_of(std::size_t count, int rank) const;

  /// [size, ...]: each process' tensor, of equal shape and type, on the device of `own`. Over NCCL if each
  /// process has its module and a GPU of its own; else through the CPU.
  torch::Tensor gather(const torch::Tensor& own) const;
  /// Each process' text, of any length.
  std::vector<std::string> gather(const std::string& own) const;
  /// Each process' document; numbers keep their bits, NaN too.
  std::vector<Json> gather_json(const Json& own) const;
  /// Completes `items`, of which each process has set its part (part_of).
  template <class Item>
  void gather_parts(std::vector<Item>& items) const {
    if (size_ == 1) return;
    const auto own = part_of(items.size());
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(own.first);
    auto next = items.begin();
    for (const auto& theirs : gather_json(std::vector<Item>(first, first + std::ptrdiff_t(own.count()))))
      for (const auto& item : theirs) *next++ = item.template get<Item>();
  }
  /// The root's text; the others' are ignored.
  std::string of_root(const std::string& own) const;
  bool of_root(bool own) const;
  /// Whether `own` is true in any process.
  bool any(bool own) const;

  /// Publishes why this process fails, for the messages of the others.
  void report_failure(const std::string& reason) const noexcept;

  /// The rendezvous timeout: $HARNESS_RANK_TIMEOUT_S, default 120.
  static std::chrono::seconds timeout();

 private:
  struct Rendezvous;
  /// The process group of all GPUs, or null.
  c10d::Backend* group_of_gpus(int gpu) const;
  /// Why a process of the run has failed; empty: none has reported it.
  std::string published_failure() const;
  [[noreturn]] void fail_exchange(const std::string& what) const;
  [[noreturn]] void fail(const std::string& reason) const;

  int rank_ = 0, size_ = 1;
  std::unique_ptr<Rendezvous> rendezvous_;
};

}  // namespace harness
