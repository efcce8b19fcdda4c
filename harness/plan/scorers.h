#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/spec/registry.h"

namespace harness {

/// harness-scorer next to this program, or $HARNESS_SCORER.
std::filesystem::path scorer_path();

/// Every character that transcripts of a profile of harness-scorer can hold.
std::string readable_characters(const std::string& profile);

/// File that marks a folder of --scorers as an external scorer's own.
inline constexpr const char* kExternalScorerFile = "scorer.json";

/// Where the models of scorers are: for each evaluator whose files come from outside, DIR/NAME of --scorers
/// DIR, else scorers/NAME of the data folders ($HARNESS_PATH, share/harness, the source tree).
class ScorerFolders {
 public:
  /// `chosen`: --scorers, or empty. Throws Error (status 2) if it is not a folder, or if a folder in it is
  /// neither named after such an evaluator (with the nearest name) nor an external scorer's.
  ScorerFolders(const Registry& registry, const std::string& chosen);

  /// The folder of an evaluator; nothing if there is none.
  std::optional<std::filesystem::path> find(const std::string& evaluator) const;

  /// What was looked for: "DIR/pickscore", or "scorers/pickscore (give --scorers DIR)".
  std::string looked_for(const std::string& evaluator) const;

 private:
  std::string chosen_;
  std::map<std::string, std::filesystem::path> found_;
};

/// Why a metric of a backbone's images cannot be computed here, for the table's footnote; nothing if
/// it can.
std::optional<std::string> reason_not_to_run(const Registry& registry, const ScorerFolders& folders,
                                             const std::string& metric, const std::string& backbone);

/// {evaluator: what identities hold of it} of those that give `metrics` of a backbone's images; of one with a
/// folder {"name", "version", "profile", "files": {name: SHA-256}}. Throws Error (status 2) naming a folder.
Json scorer_identities(const Registry& registry, const ScorerFolders& folders,
                       const std::vector<std::string>& metrics, const std::string& backbone);

/// The same of the evaluator that a task's training reward comes from.
Json reward_identities(const Registry& registry, const ScorerFolders& folders, const std::string& task,
                       const std::string& backbone);

/// SHA-256 of each file of a model folder that a scorer may read, by its name: weights (whole or in shards),
/// configurations and tokenizer. The headers of the weights are checked on the way. Throws Error (status 2).
std::map<std::string, std::string> scorer_files(const std::filesystem::path& folder,
                                                const std::vector<std::string>& parts = {});

/// Absolute folders of the evaluators among `identities` that have one, by name.
std::map<std::string, std::string> folders_of(const Json& identities, const ScorerFolders& folders);

}  // namespace harness
