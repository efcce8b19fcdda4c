#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/processes/rank_place.h"
#include "models/nn/torch.h"

namespace c10d {
class Backend;
}

namespace harness {

/// The processes (ranks) that share one job. They exchange bytes and add nothing on the way, so that what is
/// made of them is the same whatever their number, network or library. Every call is made by all of them, in
/// the same order and from one thread; each throws Error (status 1) with the reason where another one has
/// ended.
class Ranks {
 public:
  /// One process, which exchanges nothing.
  Ranks();

  /// Meets the others of `place`. name: the job's, so that processes of another job are not taken for ours;
  /// wait: for one that does not come. Throws Error: a port that is taken, a process that never came.
  Ranks(const RankPlace& place, const std::string& name, std::chrono::seconds wait);
  /// The one that keeps the meeting place leaves last.
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

  /// [size, ...]: each process' tensor, of the same shape and type everywhere, on the device of `own`. Over
  /// NCCL between GPUs that nobody shares, where all processes have its module; else through the CPU.
  torch::Tensor gather(const torch::Tensor& own) const;
  /// Each process' text, of any length.
  std::vector<std::string> gather(const std::string& own) const;
  /// The root's text; those of the others are not looked at.
  std::string of_root(const std::string& own) const;
  bool of_root(bool own) const;
  /// Whether it is true of one of them.
  bool any(bool own) const;

  /// Leaves to the others why this process ends, before it does.
  void tell_failure(const std::string& reason) const noexcept;

  /// How long to wait for others: $HARNESS_RANK_TIMEOUT_S, 120 unless it is set.
  static std::chrono::seconds patience();

 private:
  struct Meeting;
  /// The group of all processes' GPUs, if they can have one.
  c10d::Backend* group_of_gpus(int gpu) const;
  [[noreturn]] void fail(const std::string& what) const;

  int rank_ = 0, size_ = 1;
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace harness
