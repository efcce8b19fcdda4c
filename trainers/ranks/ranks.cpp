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

constexpr const char* kFailure = "failure";       ///< key: the first failure
constexpr const char* kLeft = "left";             ///< key: how many guests have left
constexpr std::chrono::seconds kHostTimeout{60};  ///< of its connection to its own store
constexpr milliseconds kLeaveTimeout{3000};       ///< of the host, for its guests
constexpr milliseconds kExchangeTimeout = std::chrono::minutes(60);
constexpr milliseconds kGpuExchangeTimeout =
    std::chrono::minutes(20);  ///< NCCL does not notice ended processes

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void fail_rendezvous(const RankPlace& place, const std::string& what, const std::string& hint) {
  throw Error(fmt::format("rank {} of {} {}", place.rank, place.size, what),
              fmt::format("{}:{}", place.host, place.port), hint, Status::kFailed);
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const RankPlace& place, std::chrono::seconds wait) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.is_root() && !place.launcher_hosts;
  options.waitWorkers = false;
  // The host's own connection to its store needs no other rank: it is slow only on a busy machine.
  options.timeout = options.isServer ? std::max<std::chrono::seconds>(wait, kHostTimeout) : wait;
  // c10d would retry beyond the timeout.
  if (!options.isServer && !answers(place.host, place.port, wait)) {
    fail_rendezvous(
        place, fmt::format("found no rendezvous within {} s", wait.count()),
        "check that rank 0 has started, and that MASTER_ADDR and MASTER_PORT are the same for all");
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  } catch (const std::exception& error) {
    fail_rendezvous(place, "cannot open the rendezvous: " + first_line(error.what()),
                    "another program may hold the port: set MASTER_PORT to a free one");
  }
}

}  // namespace

struct Ranks::Rendezvous {
  c10::intrusive_ptr<c10d::TCPStore> place;
  c10::intrusive_ptr<c10d::Store> store;  ///< keys of this job
  c10::intrusive_ptr<c10d::Backend> group;
  c10::intrusive_ptr<c10d::Backend> gpus;  ///< opened at the first exchange of GPU tensors
  bool are_gpus_known = false;
  bool is_host = false;
};

Ranks::Ranks() = default;

Ranks::Ranks(const RankPlace& place, const std::string& name, std::chrono::seconds wait)
    : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  FLAGS_caffe2_log_level = 3;  // the errors that c10d throws contain what it logs
  rendezvous_ = std::make_unique<Rendezvous>();
  rendezvous_->is_host = place.is_root() && !place.launcher_hosts;
  rendezvous_->place = open_store(place, wait);
  rendezvous_->store =
      c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/{}/", name, place.attempt), rendezvous_->place);
  try {
    rendezvous_->group = open_gloo(rendezvous_->store, place.host, rank_, size_, wait);
    rendezvous_->group->setTimeout(kExchangeTimeout);
  } catch (const std::exception& error) {
    if (const auto failure = published_failure(); !failure.empty()) fail(failure);  // after it had joined
    throw Error(
        fmt::format("not all {} processes of the run joined within {} s: {}", size_, wait.count(),
                    first_line(error.what())),
        fmt::format("rank {} of {}", rank_, size_),
        "start all of them, with the same WORLD_SIZE and each with its own RANK; HARNESS_RANK_TIMEOUT_S sets the "
        "timeout",
        Status::kFailed);
  }
}

Ranks::~Ranks() {
  if (!rendezvous_) return;
  if (rendezvous_->gpus) rendezvous_->gpus->shutdown();
  rendezvous_->gpus.reset();
  rendezvous_->group.reset();
  try {
    if (!rendezvous_->is_host) {
      rendezvous_->store->add(kLeft, 1);
    } else {
      const auto until = std::chrono::steady_clock::now() + kLeaveTimeout;
      while (rendezvous_->store->add(kLeft, 0) < size_ - 1 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(milliseconds(2));
    }
  } catch (const std::exception&) {
    // The host has left first.
  }
}

Ranks::Part Ranks::part_of(std::size_t count, int rank) const {
  const auto each = count / static_cast<std::size_t>(size_);
  TORCH_CHECK(each * static_cast<std::size_t>(size_) == count, "the processes must share equally");
  return {.first = each * static_cast<std::size_t>(rank), .last = each * static_cast<std::size_t>(rank + 1)};
}

c10d::Backend* Ranks::group_of_gpus(int gpu) const {
  if (!std::exchange(rendezvous_->are_gpus_known, true)) {
    const auto own = fmt::format("{} {} {}", host_name(), environment("CUDA_VISIBLE_DEVICES"), gpu);
    const auto all = gather(has_nccl() ? own : std::string());
    const std::set<std::string> different(all.begin(), all.end());
    const bool can = static_cast<int>(different.size()) == size_ && !different.contains("");
    if (can)
      rendezvous_->gpus = open_nccl(c10::make_intrusive<c10d::PrefixStore>("nccl", rendezvous_->store), rank_,
                                    size_, kGpuExchangeTimeout);
  }
  return rendezvous_->gpus.get();
}

torch::Tensor Ranks::gather(const torch::Tensor& own) const {
  if (!rendezvous_) return own.unsqueeze(0);
  const torch::NoGradGuard no_grad;
  auto* gpus = own.is_cuda() ? group_of_gpus(own.get_device()) : nullptr;
  const auto mine = (gpus != nullptr ? own.detach() : own.detach().to(torch::kCPU)).contiguous().view({-1});
  auto all = torch::empty({size_ * mine.numel()}, mine.options());
  try {
    auto into = all, from = mine;  // c10d takes references that it may change
    (gpus != nullptr ? gpus : rendezvous_->group.get())->_allgather_base(into, from)->wait();
  } catch (const std::exception& error) {
    fail_exchange(first_line(error.what()));
  }
  auto sizes = own.sizes().vec();
  sizes.insert(sizes.begin(), size_);
  return all.view(sizes).to(own.device());
}

std::vector<Json> Ranks::gather_json(const Json& own) const {
  if (!rendezvous_) return std::vector<Json>(1, own);
  const auto bytes = Json::to_msgpack(own);
  std::vector<Json> all;
  for (const auto& text : gather(std::string(bytes.begin(), bytes.end())))
    all.push_back(Json::from_msgpack(text));
  return all;
}

std::vector<std::string> Ranks::gather(const std::string& own) const {
  if (!rendezvous_) return {own};
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

void Ranks::report_failure(const std::string& reason) const noexcept {
  if (!rendezvous_) return;
  try {
    rendezvous_->store->compareSet(kFailure, {}, bytes_of(fmt::format("rank {}: {}", rank_, reason)));
  } catch (const std::exception&) {
    // The host has left: the others notice that themselves.
  }
}

std::string Ranks::published_failure() const {
  constexpr int kPolls = 20;  // a process that was killed publishes nothing
  try {
    for (int poll = 0; poll < kPolls && !rendezvous_->store->check({kFailure}); ++poll)
      std::this_thread::sleep_for(milliseconds(10));
    if (!rendezvous_->store->check({kFailure})) return {};
    const auto published = rendezvous_->store->get(kFailure);
    return {published.begin(), published.end()};
  } catch (const std::exception&) {
    return "rank 0 has ended";
  }
}

void Ranks::fail_exchange(const std::string& what) const {
  if (const auto failure = published_failure(); !failure.empty()) fail(failure);
  // Without the source location at the start of Gloo's messages.
  const auto shown = what.starts_with('[') ? what.substr(std::min(what.size(), what.find("] ") + 2)) : what;
  fail("it was killed, or its machine is lost (" + shown + ")");
}

void Ranks::fail(const std::string& reason) const {
  throw Error(
      "another process of the run has ended: " + reason, fmt::format("rank {} of {}", rank_, size_),
      "see worker.log, and worker.RANK.log of the others, in the run's folder; repeat the command to continue",
      Status::kFailed);
}

std::chrono::seconds Ranks::timeout() {
  constexpr std::int64_t kUsual = 120;
  return std::chrono::seconds(environment_number("HARNESS_RANK_TIMEOUT_S", 1, "seconds").value_or(kUsual));
}

}  // namespace harness
