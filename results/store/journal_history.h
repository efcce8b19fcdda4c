#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "results/store/journal.h"

namespace harness {

/// A record that still counts.
struct HistoryEntry {
  std::size_t place = 0;  ///< in the journal
  Json record;
  std::optional<std::string> experiment = {};  ///< digest of the experiment that it is or that it names
  bool is_named_later = false;  ///< of an experiment: something else was recorded of it, so it was committed
  std::int64_t number = 0;      ///< of an experiment: the one it was recorded with, or was given since
  std::int64_t highest = 0;     ///< number of any experiment so far
};

/// A journal with what does not count any more taken out: what a later `forget` took away is as if it had
/// never been, and so is an experiment whose process was killed before the DB committed it, which shows by
/// another one that got its number while nothing else had been recorded of it.
struct History {
  std::vector<HistoryEntry> entries;  ///< none of them says that numbers moved, or that a run was taken away
  std::vector<std::pair<std::size_t, std::string>> forgotten;  ///< place in the journal, and the run
  std::set<std::string> runs;                                  ///< that were recorded
  std::set<std::string> experiments;                           ///< likewise: their digests
  std::int64_t last_number = 0;                                ///< the greatest that any experiment ever had
  std::vector<std::string> orphans;  ///< records of experiments that the journal does not hold
};

/// A number may mean one experiment here and another there: one that was cut off leaves it to the next, and
/// records of type "number" of former versions moved it. A record that names an experiment means the last one
/// before it that had the number. Throws Error for a record that is not whole.
History history_of(const std::vector<Json>& records);

}  // namespace harness
