#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "results/paper/paper.h"

namespace harness {

enum class PaperVerdict {
  kConsistent,  ///< within the rounding of what is printed
  kDoesNotAddUp,
  kNotComputable  ///< what it would be computed from is not printed
};

/// A printed figure beside what other printed figures give for it.
struct PaperFinding {
  std::string name, printed, computed;
  PaperVerdict verdict = PaperVerdict::kConsistent;
  std::string message;  ///< what was computed, and what the difference means
};

/// The printed figures: the tables by id, and numbers of the running text by name (results/paper/README.md).
struct PaperFigures {
  std::map<std::string, PaperTable> tables;
  std::map<std::string, PaperValue> stated;
};

/// Reads every table and the stated figures from the paper/ data folder (find_data_file).
PaperFigures load_paper_figures();

/// Half of a unit of the last printed digit: 0.00005 for "0.5632", 0.005e-3 for "6.80e-3".
double printed_rounding(std::string_view printed);

/// Every figure of the paper that other printed figures determine, computed from the figures given alone
/// (paper_relations.cpp).
std::vector<PaperFinding> audit_paper(const PaperFigures& figures = load_paper_figures());

/// {"rules": [{"name", "passed", "message", "verdict", "printed", "computed"}]}; what cannot be computed has
/// not failed.
Json paper_audit_json(const std::vector<PaperFinding>& findings);

/// A table for people, and the counts of the verdicts.
std::string paper_audit_text(const std::vector<PaperFinding>& findings);

}  // namespace harness
