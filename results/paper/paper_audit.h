#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

enum class PaperVerdict {
  kConsistent,  ///< within the rounding of what is printed
  kDoesNotAddUp,
  kNotComputable  ///< what it would be computed from is not printed
};

/// A printed figure beside what other printed figures give for it.
struct PaperFinding {
  std::string name, printed, computed;  ///< computed is empty where it is not computable
  PaperVerdict verdict = PaperVerdict::kConsistent;
  std::string message;  ///< what was computed, and what the difference means
};

/// Every figure of the paper that other printed figures determine, from paper/findings.json of the data
/// folders (find_data_file), which scripts/check-paper computes. Throws Error at the first field that does
/// not fit.
std::vector<PaperFinding> audit_paper();
std::vector<PaperFinding> read_paper_findings(const std::filesystem::path& file);

/// {"rules": [{"name", "passed", "message", "verdict", "printed", "computed"}]}; what cannot be computed has
/// not failed.
Json paper_audit_json(const std::vector<PaperFinding>& findings);

/// A table for people, and the counts of the verdicts.
std::string paper_audit_text(const std::vector<PaperFinding>& findings);

}  // namespace harness
