#pragma once

#include <c10/core/Device.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace harness {

/// A place among the things that a GPU's stream does one after the other.
class StreamMark {
 public:
  StreamMark() = default;
  virtual ~StreamMark() = default;
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;

  virtual bool is_reached() const = 0;
  virtual void wait() const = 0;
  /// Once both are reached.
  virtual double seconds_since(const StreamMark& earlier) const = 0;
};

/// How long a GPU has had work: from the beginning to the end of each piece of work on its stream, as events
/// there tell, so without the time in which nothing was sent to it. Time within a piece in which it waits for
/// the host counts. Nothing is counted on a CPU. Safe to use from several threads.
class BusyTime {
 public:
  using MakeMark = std::function<std::unique_ptr<StreamMark>()>;

  /// Of the device's present stream.
  explicit BusyTime(c10::Device device);
  /// make_mark: at the stream's present end; null: nothing is counted.
  explicit BusyTime(MakeMark make_mark) : make_mark_(std::move(make_mark)) {}

  /// What is sent while one lives is a piece; pieces within others, or beside them, are one with them.
  class Piece {
   public:
    explicit Piece(BusyTime& of) : of_(of) { of_.begin(); }
    ~Piece() { of_.end(); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    BusyTime& of_;
  };

  /// Of all pieces that have ended, for which it waits.
  double seconds();

 private:
  using Mark = std::unique_ptr<StreamMark>;
  struct Ended {
    Mark begin, end;
  };

  void begin();
  void end() noexcept;
  void count_first();

  MakeMark make_mark_;
  std::mutex mutex_;
  int open_ = 0;             ///< pieces
  Mark begin_;               ///< of the open ones
  std::deque<Ended> ended_;  ///< not counted yet, in order
  double seconds_ = 0;
};

}  // namespace harness
