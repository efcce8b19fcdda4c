#pragma once

#include <boost/describe/class.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace harness {

/// What a training measured of its cost up to a checkpoint, without evaluations; nothing where its log lacks
/// it. Each is a field of `spent` in the event log and in the journal, a column of `checkpoints` (a migration
/// adds it) and of view v_budgets.
struct TrainingCosts {
  std::optional<double> seconds = {};           ///< wall time
  std::optional<double> scorer_seconds = {};    ///< of it, waiting for scorers
  std::optional<double> core_seconds = {};      ///< CPU time of all threads; on a GPU time of the device
  std::optional<double> gpu_busy_seconds = {};  ///< of it, with work of the training
  std::optional<std::int64_t> peak_bytes = {};
  std::optional<double> weight_copies = {};  ///< of the trained weights, in addition to their average
};
BOOST_DESCRIBE_STRUCT(TrainingCosts, (),
                      (seconds, scorer_seconds, core_seconds, gpu_busy_seconds, peak_bytes, weight_copies))
/// Those that logs of earlier versions lack.
inline constexpr std::string_view kLaterCosts[] = {"gpu_busy_seconds"};

/// How tables show a cost, and `query budgets`. `name`, `title` and `help` are the table column's.
struct CostColumn {
  std::string_view name, title, help;
  int decimals = 0;
  std::string_view field;          ///< column of v_budgets
  double unit = 1;                 ///< the field's value that a table shows as 1
  std::string_view query = field;  ///< its column in `query budgets`
};
inline constexpr CostColumn kCostColumns[] = {
    {"seconds", "Seconds",
     "wall time of training up to the checkpoint on the machine that trained it, without evaluations", 1,
     "seconds"},
    {"scorer_seconds", "Scorer seconds", "of it, waiting for scorers", 1, "scorer_seconds"},
    {"core_seconds", "Core seconds", "CPU time of all threads of the training; on a GPU, time of the device",
     1, "core_seconds"},
    {"gpu_idle", "GPU idle (%)",
     "share of the GPUs' time in which they ran no network, gradient or optimiser of the training, by events on "
     "their streams; scorers on the same GPU count as idle",
     1, "gpu_idle", 0.01},
    {"peak_memory", "Peak memory (GB)", "most memory that the training had in use", 2, "peak_bytes", 1e9,
     "peak_bytes / 1e9 AS peak_memory_gb"},
    {"weight_copies", "Weight copies",
     "copies of the trained weights that the training keeps beside them and their average", 0,
     "weight_copies"}};

}  // namespace harness
