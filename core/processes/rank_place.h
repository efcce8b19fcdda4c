#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace harness {

/// Which of the processes of a job this one is, and where they meet.
struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0;      ///< on its machine
  std::string host = {};   ///< of the process that the others meet at
  std::uint16_t port = 0;  ///< theirs alone
  /// The launcher (torchrun) keeps the rendezvous, so that rank 0 is a guest as the others are.
  bool launcher_hosts = false;
  std::string attempt = {};  ///< of the launcher: what an earlier one left at the rendezvous is not ours

  bool is_root() const { return rank == 0; }
};

/// A variable of the environment; empty: it is not set.
using Environment = std::function<std::string(const std::string& name)>;

/// As set by torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), or srun (SLURM_PROCID,
/// SLURM_STEP_NUM_TASKS), or mpirun (OMPI_COMM_WORLD_...); alone where none of them is set. srun's processes
/// meet on the first node of their step, at a port of the step's own, unless MASTER_ADDR or MASTER_PORT is
/// set. Throws Error where one of the variables is missing, not a number, or contradicts another.
RankPlace rank_place(const Environment& environment);
RankPlace rank_place();  ///< of this process

/// "n01" of Slurm's "n[01-04,7],login".
std::string first_host(const std::string& nodes);

}  // namespace harness
