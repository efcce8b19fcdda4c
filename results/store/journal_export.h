#pragma once

#include <set>
#include <string>

#include "results/store/store_impl.h"

namespace harness {

/// True if an experiment rests on `own` runs alone.
bool is_of(StatementCache& sql, std::int64_t experiment, const std::set<std::string>& own);

/// Appends everything that a DB holds of `own` runs, in an order in which every record finds what it rests
/// on.
void export_whole(Store& store, Store::Impl& impl, Journal& journal, const std::set<std::string>& own);

/// The same for a truncated journal: what it holds already is not recorded twice, and runs that only it
/// knows (`recorded`) were removed since.
void export_missing(Store& store, Store::Impl& impl, Journal& journal, const std::set<std::string>& own,
                    const std::set<std::string>& recorded);

}  // namespace harness
