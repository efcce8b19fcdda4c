#include "core/processes/rank_place.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "core/host.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr const char* kWhere = "processes of a run";

std::int64_t number_of(const Environment& environment, const std::string& name, std::int64_t least,
                       std::int64_t most) {
  const auto text = environment(name);
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < least || *number > most) {
    const auto problem = text.empty() ? fmt::format("{} is not set", name)
                                      : fmt::format("{} is {}, not a number from {} to {}", name,
                                                    in_quotes(text), least, most);
    throw Error(problem, kWhere,
                "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together, as torchrun does, or none");
  }
  return *number;
}

/// The variables by which a launcher numbers its processes.
struct Launcher {
  const char *rank, *size, *local_rank;
};

constexpr Launcher kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Launcher kOthers[] = {
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}};

constexpr int kMostRanks = 4096;

RankPlace place_by(const Launcher& launcher, const Environment& environment) {
  const auto size = number_of(environment, launcher.size, 1, kMostRanks);
  RankPlace place{.rank = static_cast<int>(number_of(environment, launcher.rank, 0, kMostRanks)),
                  .size = static_cast<int>(size)};
  if (place.rank >= place.size) {
    throw Error(fmt::format("{} is {} and {} is {}", launcher.rank, place.rank, launcher.size, place.size),
                kWhere, "ranks count from 0 to the number of processes - 1");
  }
  place.local_rank = environment(launcher.local_rank).empty()
                         ? place.rank
                         : static_cast<int>(number_of(environment, launcher.local_rank, 0, kMostRanks));
  return place;
}

/// The default rendezvous of a Slurm step: its first node, at a port of the step's own.
void meet_at_step(const Environment& environment, RankPlace& place) {
  constexpr std::int64_t kFirstPort = 15000, kPorts = 20000, kStepsApart = 97, kMany = 1LL << 40;
  const auto nodes = environment("SLURM_STEP_NODELIST");
  if (nodes.empty()) return;
  const bool on_one = environment("SLURM_STEP_NUM_NODES") == "1";
  place.host = on_one ? "127.0.0.1" : first_host(nodes);
  const auto step = number_of(environment, "SLURM_JOB_ID", 0, kMany) +
                    kStepsApart * number_of(environment, "SLURM_STEP_ID", 0, kMany);
  place.port = static_cast<std::uint16_t>(kFirstPort + step % kPorts);
}

}  // namespace

std::string first_host(const std::string& nodes) {
  const auto bracket = nodes.find('['), comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const auto close = nodes.find(']', bracket);
  if (close == std::string::npos) return nodes.substr(0, bracket);
  const auto inside = nodes.substr(bracket + 1, close - bracket - 1);
  const auto after = nodes.substr(close + 1);
  return nodes.substr(0, bracket) + inside.substr(0, inside.find_first_of("-,")) +
         after.substr(0, after.find(','));
}

RankPlace rank_place(const Environment& environment) {
  const auto is_set = [&](const char* name) { return !environment(name).empty(); };
  RankPlace place;
  if (is_set(kTorchrun.rank) || is_set(kTorchrun.size)) {
    place = place_by(kTorchrun, environment);
  } else {
    for (const auto& launcher : kOthers) {
      if (is_set(launcher.rank) && is_set(launcher.size)) {
        place = place_by(launcher, environment);
        break;
      }
    }
    if (place.size > 1) meet_at_step(environment, place);
  }
  if (place.size == 1) return place;
  if (is_set("MASTER_ADDR")) place.host = environment("MASTER_ADDR");
  if (place.host.empty()) {
    throw Error(fmt::format("there are {} of them, and MASTER_ADDR is not set", place.size), kWhere,
                "set MASTER_ADDR to the machine of rank 0 and MASTER_PORT to a free port there");
  }
  if (is_set("MASTER_PORT") || place.port == 0)
    place.port = static_cast<std::uint16_t>(number_of(environment, "MASTER_PORT", 1, 65535));
  place.launcher_hosts = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  place.attempt = environment("TORCHELASTIC_RESTART_COUNT");
  return place;
}

RankPlace rank_place() {
  return rank_place([](const std::string& name) { return environment(name.c_str()); });
}

}  // namespace harness
