#include "evaluators/planned_files.h"

#include <vector>

#include "core/file_checksums.h"

namespace harness {
namespace fs = std::filesystem;

std::string planned_where(const ScorerSetup& setup) {
  return setup.where + ": identity.scorers." + setup.name;
}

std::string planned_profile(const ScorerSetup& setup) {
  return Fields(setup.identity, planned_where(setup)).required<std::string>("profile");
}

std::unique_ptr<Scorer> open_planned(const ScorerSetup& setup, const fs::path& folder, Json identity,
                                     const std::function<std::unique_ptr<Scorer>()>& open) {
  Fields fields(setup.identity, planned_where(setup));
  const auto& planned = fields.get("files");
  std::vector<fs::path> files;
  for (const auto& [file, _] : planned.items()) files.push_back(folder / file);
  const HeldFiles held(files);
  for (const auto& [file, _] : planned.items()) identity["files"][file] = remembered_sha256(folder / file);
  require_planned(setup, identity, folder.string());
  auto opened = open();
  held.expect_unchanged();
  return opened;
}

}  // namespace harness
