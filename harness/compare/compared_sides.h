#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace harness {

/// A row that is compared, and what it is a row of.
struct ComparedSide {
  std::string name;  ///< as comparisons call it: "dual", or across experiments "2:dual"
  std::string row;
  std::int64_t experiment = 0;  ///< reproductions.id
  std::string table, signature;
  std::string db;
};

/// What a difference between two sides leaves to be said.
enum class Bearing {
  kNone,         ///< all: it is named, and no more
  kCheckpoints,  ///< these checkpoints are on equal terms, their methods are not
  kRefused       ///< nothing: the numbers mean different things
};

/// Something that is not the same on the two sides.
struct SideDifference {
  std::string method;  ///< ComparedSide::name of the row that is compared with the baseline
  std::string what;    ///< "evaluation setting eval_steps"
  Json baseline_value, method_value;
  Bearing bearing = Bearing::kNone;
  std::vector<std::string> metrics = {};  ///< that it is a difference for; empty: all

  bool concerns(const std::string& other_method, const std::string& metric) const;
};

/// Which prompts and seeds of two sides are pairs.
struct SidePairing {
  std::string method;
  std::int64_t prompts = 0;  ///< that both have, and are compared
  std::int64_t only_baseline = 0, only_method = 0;
  std::int64_t same_noise = 0;           ///< of `prompts`: those at the same place of the same set
  std::vector<std::int64_t> seeds = {};  ///< that both have
  std::vector<std::int64_t> only_baseline_seeds = {}, only_method_seeds = {};
  /// Where they share none and are compared all the same: baseline's and method's, in order.
  std::vector<std::pair<std::int64_t, std::int64_t>> seeds_in_order = {};
};

/// The largest bearing of those that concern the metric of the method.
Bearing bearing_on(const std::vector<SideDifference>& differences, const std::string& method,
                   const std::string& metric);

/// "eval_steps: 10 and 20", values that are long cut short.
std::string in_words(const SideDifference& difference);

/// {NAME: {"row", "experiment", "table", "signature", "db"}}
Json sides_json(const std::vector<ComparedSide>& sides);
/// [{"method", "what", "baseline", "method_value", "metrics", "refused_without_anyway", "allows"}]
Json differences_json(const std::vector<SideDifference>& differences);
Json pairings_json(const std::vector<SidePairing>& pairings);

/// On standard output: how many prompts and seeds are compared, and what is not the same on both sides.
void print_pairing(const SidePairing& pairing, const std::string& baseline);
void print_side_differences(const std::vector<SideDifference>& differences, const std::string& baseline,
                            const std::string& method);

}  // namespace harness
