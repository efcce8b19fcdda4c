#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/store/journal_history.h"
#include "results/store/store.h"

namespace harness {

struct CutJournal {
  std::vector<Json> records;
  std::string digest;     ///< of the experiment
  std::string finished;   ///< UTC: when it was recorded first, whatever asked for it again
  std::string began;      ///< UTC: when the first of its runs was planned
  std::int64_t time = 0;  ///< `finished` in whole seconds since 1970

  /// The file: the lines of core/EVENTS.md.
  std::string text() const;
};

/// What a workspace's journal holds of an experiment and of its runs: the runs are whole, with whatever other
/// tables evaluated on them, so that a second evaluation on the test split cannot be left out. Evaluations
/// that are not among `done` are left out. The records are free of where and as which number the experiment
/// was made: folders are those of the archive, the experiment is number 1, times are those of the records.
/// Throws Error if the journal does not hold it.
CutJournal cut_journal(const std::vector<Json>& journal, Store& store, std::int64_t experiment,
                       const std::set<std::string>& done);

/// A record of an experiment, or of what belongs to one, under another number.
void renumber(Json& record, std::int64_t number);

/// The folders in a record of a run, an evaluation or a job become those of `workspace` (empty: relative).
void place_in(Json& record, const std::filesystem::path& workspace);

}  // namespace harness
