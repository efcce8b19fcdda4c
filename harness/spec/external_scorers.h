#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evaluators/external_scorer.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"

namespace harness {

/// The folders in `scorers` (--scorers, or empty) that hold a scorer.json, by name.
std::vector<std::filesystem::path> external_scorer_folders(const std::filesystem::path& scorers);

/// Their scorers. Runs nothing. Throws Error for a scorer.json that will not do.
std::vector<ExternalScorerSpec> find_external_scorers(const std::filesystem::path& scorers);

/// Lets the registry know them: an evaluator each, with the checksums of its files as identity, and two tasks
/// a metric. Throws Error where two give a metric of the same name, or one a name that this build has.
void add_to_registry(const std::vector<ExternalScorerSpec>& scorers, Registry& registry);

/// A table with every metric of theirs that it did not name, as an optional one with a column; one of the
/// training as it is. `registry`: with them. Throws Error for a column that contradicts its scorer.json.
TableSpec with_external_metrics(TableSpec spec, const std::vector<ExternalScorerSpec>& scorers,
                                const Registry& registry);

/// Lets those that `identities` ({name: identity}) names score a test image: which metrics have no value of
/// it, with the reason. Throws Error (status 2) naming the first scorer that fails, or that gives none of a
/// metric that is `required`: better now than after hours of training.
std::map<std::string, std::string> try_external_scorers(const std::vector<ExternalScorerSpec>& scorers,
                                                        const Json& identities,
                                                        const std::set<std::string>& required);

}  // namespace harness
