#pragma once

#include <cstdint>
#include <string>
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

/// Something that is not the same on the two sides and decides nothing.
struct SideDifference {
  std::string method;  ///< ComparedSide::name of the row that is compared with the baseline
  std::string what;    ///< "method setting clip"
  Json baseline_value, method_value;
};

/// Which seeds of two sides are pairs.
struct SidePairing {
  std::string method;
  std::vector<std::int64_t> seeds = {};  ///< that both have
  std::vector<std::int64_t> only_baseline = {}, only_method = {};
};

/// "eval_steps: 10 and 20", values that are long cut short.
std::string in_words(const SideDifference& difference);

/// {NAME: {"row", "experiment", "table", "signature", "db"}}
Json sides_json(const std::vector<ComparedSide>& sides);
/// [{"row", "what", "baseline", "method"}]
Json differences_json(const std::vector<SideDifference>& differences);
/// [{"row", "seeds", "seeds_only_baseline", "seeds_only_method"}]
Json pairings_json(const std::vector<SidePairing>& pairings);

/// On standard output: which seeds are compared, and what is not the same on both sides.
void print_pairing(const SidePairing& pairing, const std::string& baseline);
void print_side_differences(const std::vector<SideDifference>& differences, const std::string& baseline,
                            const std::string& method);

}  // namespace harness
