#include "trainers/ranks/ranks.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/host.h"
#include "core/processes/port.h"
#include "torch/csrc/distributed/c10d/PrefixStore.hpp"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"
#include "trainers/ranks/gloo.h"
#include "trainers/ranks/nccl.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr const char* kFailure = "failure";                   ///< key: why the first process that failed did
constexpr const char* kLeft = "left";                         ///< key: how many guests have gone
constexpr milliseconds kFarewell{3000};                       ///< that the host waits for its guests
constexpr milliseconds kExchange = std::chrono::minutes(60);  ///< for a process that is at work and slow
constexpr milliseconds kGpuExchange = std::chrono::minutes(20);  ///< NCCL does not see that one has ended

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void fail_to_meet(const RankPlace& place, const std::string& what, const std::string& hint) {
  throw Error(fmt::format("rank {} of {} {}", place.rank, place.size, what),
              fmt::format("{}:{}", place.host, place.port), hint, Status::kFailed);
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const RankPlace& place, std::chrono::seconds wait) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.is_root() && !place.launcher_hosts;
  options.waitWorkers = false;
  options.timeout = wait;
  // c10d would try for longer than asked.
  if (!options.isServer && !answers(place.host, place.port, wait)) {
    fail_to_meet(
        place, fmt::format("did not find the others' meeting place within {} s", wait.count()),
        "see whether rank 0 has started, and whether MASTER_ADDR and MASTER_PORT are the same for all");
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  } catch (const std::exception& error) {
    fail_to_meet(place, "cannot open the processes' meeting place: " + first_line(error.what()),
                 "another program may hold the port: set MASTER_PORT to a free one");
  }
}

}  // namespace

struct Ranks::Meeting {
  c10::intrusive_ptr<c10d::TCPStore> place;
  c10::intrusive_ptr<c10d::Store> store;  ///< the job's part of it
  c10::intrusive_ptr<c10d::Backend> group;
  c10::intrusive_ptr<c10d::Backend> gpus;  ///< once tensors of GPUs have been exchanged
  bool are_gpus_known = false;
  bool is_host = false;
};

Ranks::Ranks() = default;

Ranks::Ranks(const RankPlace& place, const std::string& name, std::chrono::seconds wait)
    : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  FLAGS_caffe2_log_level = 3;  // what c10d logs beside is in the errors that it throws
  meeting_ = std::make_unique<Meeting>();
  meeting_->is_host = place.is_root() && !place.launcher_hosts;
  meeting_->place = open_store(place, wait);
  meeting_->store =
      c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/{}/", name, place.attempt), meeting_->place);
  try {
    meeting_->group = open_gloo(meeting_->store, place.host, rank_, size_, wait);
    meeting_->group->setTimeout(kExchange);
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("not all {} processes of the run came within {} s: {}", size_, wait.count(),
                    first_line(error.what())),
        fmt::format("rank {} of {}", rank_, size_),
        "start all of them, with the same WORLD_SIZE and each with its own RANK; HARNESS_RANK_TIMEOUT_S is how "
        "long they wait for one another",
        Status::kFailed);
  }
}

Ranks::~Ranks() {
  if (!meeting_) return;
  if (meeting_->gpus) meeting_->gpus->shutdown();
  meeting_->gpus.reset();
  meeting_->group.reset();
  try {
    if (!meeting_->is_host) {
      meeting_->store->add(kLeft, 1);
    } else {
      const auto until = std::chrono::steady_clock::now() + kFarewell;
      while (meeting_->store->add(kLeft, 0) < size_ - 1 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(milliseconds(2));
    }
  } catch (const std::exception&) {
    // The host has gone, and nobody waits for us.
  }
}

Ranks::Part Ranks::part_of(std::size_t count, int rank) const {
  const auto each = count / static_cast<std::size_t>(size_);
  TORCH_CHECK(each * static_cast<std::size_t>(size_) == count, "the processes must share equally");
  return {.first = each * static_cast<std::size_t>(rank), .last = each * static_cast<std::size_t>(rank + 1)};
}

c10d::Backend* Ranks::group_of_gpus(int gpu) const {
  if (!std::exchange(meeting_->are_gpus_known, true)) {
    const auto own = fmt::format("{} {} {}", host_name(), environment("CUDA_VISIBLE_DEVICES"), gpu);
    const auto all = gather(has_nccl() ? own : std::string());
    const std::set<std::string> different(all.begin(), all.end());
    const bool can = static_cast<int>(different.size()) == size_ && !different.contains("");
    if (can)
      meeting_->gpus = open_nccl(c10::make_intrusive<c10d::PrefixStore>("nccl", meeting_->store), rank_,
                                 size_, kGpuExchange);
  }
  return meeting_->gpus.get();
}

torch::Tensor Ranks::gather(const torch::Tensor& own) const {
  if (!meeting_) return own.unsqueeze(0);
  const torch::NoGradGuard no_grad;
  auto* gpus = own.is_cuda() ? group_of_gpus(own.get_device()) : nullptr;
  const auto mine = (gpus != nullptr ? own.detach() : own.detach().to(torch::kCPU)).contiguous().view({-1});
  auto all = torch::empty({size_ * mine.numel()}, mine.options());
  try {
    auto into = all, from = mine;  // c10d takes references that it may change
    (gpus != nullptr ? gpus : meeting_->group.get())->_allgather_base(into, from)->wait();
  } catch (const std::exception& error) {
    fail(first_line(error.what()));
  }
  auto sizes = own.sizes().vec();
  sizes.insert(sizes.begin(), size_);
  return all.view(sizes).to(own.device());
}

std::vector<std::string> Ranks::gather(const std::string& own) const {
  if (!meeting_) return {own};
  const auto lengths = gather(torch::tensor({static_cast<std::int64_t>(own.size())}));
  auto padded = torch::zeros({lengths.max().item<std::int64_t>()}, torch::kUInt8);
  std::copy(own.begin(), own.end(), padded.data_ptr<std::uint8_t>());
  std::vector<std::string> texts(static_cast<std::size_t>(size_));
  if (padded.numel() == 0) return texts;
  const auto all = gather(padded);
  for (std::int64_t i = 0; i < size_; ++i) {
    const auto row = all[i];
    texts[static_cast<std::size_t>(i)].assign(
        reinterpret_cast<const char*>(row.const_data_ptr<std::uint8_t>()),
        static_cast<std::size_t>(lengths[i].item<std::int64_t>()));
  }
  return texts;
}

std::string Ranks::of_root(const std::string& own) const {
  return gather(is_root() ? own : std::string()).front();
}

bool Ranks::of_root(bool own) const {
  return !of_root(own ? std::string("1") : std::string()).empty();
}

bool Ranks::any(bool own) const {
  const auto all = gather(std::string(own ? "1" : ""));
  return std::ranges::count(all, "1") > 0;
}

void Ranks::tell_failure(const std::string& reason) const noexcept {
  if (!meeting_) return;
  try {
    meeting_->store->compareSet(kFailure, {}, bytes_of(fmt::format("rank {}: {}", rank_, reason)));
  } catch (const std::exception&) {
    // The host has gone: the others notice that by themselves.
  }
}

void Ranks::fail(const std::string& what) const {
  // Without the place in c10d's sources that Gloo begins with.
  const auto shown = what.starts_with('[') ? what.substr(std::min(what.size(), what.find("] ") + 2)) : what;
  std::string reason = "it was killed, or its machine is lost (" + shown + ")";
  try {
    // One that was killed leaves none, and nobody else knows it first.
    constexpr int kLooks = 20;
    for (int look = 0; look < kLooks && !meeting_->store->check({kFailure}); ++look)
      std::this_thread::sleep_for(milliseconds(10));
    if (meeting_->store->check({kFailure})) {
      const auto told = meeting_->store->get(kFailure);
      reason.assign(told.begin(), told.end());
    }
  } catch (const std::exception&) {
    reason = "rank 0 has gone";
  }
  throw Error(
      "another process of the run has ended: " + reason, fmt::format("rank {} of {}", rank_, size_),
      "see worker.log, and worker.RANK.log of the others, in the run's folder; repeat the command to continue",
      Status::kFailed);
}

std::chrono::seconds Ranks::patience() {
  constexpr std::int64_t kUsual = 120;
  return std::chrono::seconds(environment_number("HARNESS_RANK_TIMEOUT_S", 1, "seconds").value_or(kUsual));
}

}  // namespace harness
