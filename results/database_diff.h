#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/store.h"

namespace harness {

/// How far each job's event log is in the DB: job id -> bytes.
std::map<std::string, std::uint64_t> log_ends(Store& store);

/// Rows that only one of two DBs holds, one line a table and side: how many, and the first. Rows are compared
/// by what they say: integer ids, which mean something in their own DB only, and `created` and `finished` of
/// runs, evaluations and selections are left out. `store` must be open for reading only; `other` is the file
/// that is called `name_of_other`. `runs`: only what belongs to these runs, of a DB that several workspaces
/// share.
std::vector<std::string> differences(Store& store, const std::filesystem::path& other,
                                     const std::string& name_of_other,
                                     const std::optional<std::set<std::string>>& runs = {});

}  // namespace harness
