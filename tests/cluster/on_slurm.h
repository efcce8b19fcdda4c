#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "core/processes/port.h"
#include "tests/chain.h"

// Tables on a real Slurm of two virtual nodes (tests/cluster/slurm).

namespace harness {

inline std::string what_is_missing_for_slurm() {
  if (::getuid() != 0) return "needs root";
  for (const char* program : {"slurmctld", "slurmd", "srun", "sbatch", "munged"}) {
    if (!has_program(program))
      return std::string("there is no ") + program + "; scripts/setup --tests installs it";
  }
  return "";
}

/// A Slurm of its own, until it goes; `missing` says why there is none.
class Slurm {
 public:
  Slurm() : missing(what_is_missing_for_slurm()) {
    if (!missing.empty()) return;
    const auto log = folder_.path() / "start.log";
    const auto started = shell(
        fmt::format("{} start {} {} >{} 2>&1 </dev/null", kScript, folder(), free_port(), log.string()));
    if (started.status != 0)
      missing = fmt::format("Slurm did not start: {}{}", read_file(log),
                            shell(fmt::format("tail -n 5 {}/log/*", folder())).out);
    ::setenv("SLURM_CONF", (folder_.path() / "slurm.conf").c_str(), 1);
    ::setenv("MASTER_ADDR", "127.0.0.1", 1);  // nobody knows the nodes' names
    ::setenv("HARNESS_SQUEUE_S", "1", 1);
  }
  ~Slurm() { shell(fmt::format("{} stop {}", kScript, folder())); }
  Slurm(const Slurm&) = delete;
  Slurm& operator=(const Slurm&) = delete;

  std::string missing;

 private:
  inline static const std::string kScript = (kTree / "tests/cluster/slurm").string();

  std::string folder() const { return folder_.path().string(); }

  const TemporaryFolder folder_;
};

class OnSlurm : public Chain {
 protected:
  static void SetUpTestSuite() { slurm_ = std::make_unique<Slurm>(); }
  static void TearDownTestSuite() { slurm_.reset(); }

  void SetUp() override {
    if (!slurm_->missing.empty()) GTEST_SKIP() << slurm_->missing;
    Chain::SetUp();
  }

 private:
  inline static std::unique_ptr<Slurm> slurm_;
};

}  // namespace harness
