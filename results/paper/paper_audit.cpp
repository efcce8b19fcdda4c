#include "results/paper/paper_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/files.h"

namespace harness {
namespace {

constexpr std::string_view kVerdicts[] = {"consistent", "does not add up",
                                          "not computable"};  // in the order of PaperVerdict

PaperFinding read_finding(Fields fields) {
  PaperFinding finding;
  finding.name = fields.required<std::string>("name");
  finding.printed = fields.required<std::string>("printed");
  finding.computed = fields.optional<std::string>("computed", "");
  finding.message = fields.required<std::string>("message");
  const auto verdict = fields.required<std::string>("verdict");
  const auto known = std::ranges::find(kVerdicts, verdict);
  if (known == std::end(kVerdicts))
    fields.fail("verdict", fmt::format("is none of: {}", fmt::join(kVerdicts, ", ")));
  finding.verdict = static_cast<PaperVerdict>(known - std::begin(kVerdicts));
  fields.finish();
  return finding;
}

}  // namespace

std::vector<PaperFinding> read_paper_findings(const std::filesystem::path& file) {
  try {
    const Json document = read_json(file);
    Fields fields(document, file.string());
    const auto& list = fields.get("findings");
    if (!list.is_array()) fields.fail("findings", "is not a list");
    std::vector<PaperFinding> findings;
    for (const auto& finding : list) {
      findings.push_back(
          read_finding(Fields(finding, fmt::format("{}: findings[{}]", file.string(), findings.size()))));
    }
    fields.finish();
    return findings;
  } catch (const Error& error) {
    throw Error(error.problem(), error.where(), "write it again: scripts/check-paper");
  }
}

std::vector<PaperFinding> audit_paper() {
  return read_paper_findings(find_data_file("paper/findings.json"));
}

Json paper_audit_json(const std::vector<PaperFinding>& findings) {
  Json rules = Json::array();
  for (const auto& f : findings) {
    rules.push_back({{"name", f.name},
                     {"passed", f.verdict != PaperVerdict::kDoesNotAddUp},
                     {"message", f.message},
                     {"verdict", kVerdicts[static_cast<int>(f.verdict)]},
                     {"printed", f.printed},
                     {"computed", f.computed.empty() ? Json() : Json(f.computed)}});
  }
  return {{"rules", std::move(rules)}};
}

std::string paper_audit_text(const std::vector<PaperFinding>& findings) {
  const auto count = [&](PaperVerdict verdict) {
    return std::ranges::count(findings, verdict, &PaperFinding::verdict);
  };
  std::string text;
  for (const auto verdict :
       {PaperVerdict::kDoesNotAddUp, PaperVerdict::kNotComputable, PaperVerdict::kConsistent}) {
    if (count(verdict) == 0) continue;
    text += fmt::format("{} ({})\n", kVerdicts[static_cast<int>(verdict)], count(verdict));
    for (const auto& f : findings) {
      if (f.verdict != verdict) continue;
      text += fmt::format("  {}\n      printed  {}\n", f.name, f.printed);
      if (!f.computed.empty()) text += fmt::format("      computed {}\n", f.computed);
      text += fmt::format("      {}\n", f.message);
    }
    text += "\n";
  }
  return text + fmt::format("{} figures: {} consistent, {} do not add up, {} not computable\n",
                            findings.size(), count(PaperVerdict::kConsistent),
                            count(PaperVerdict::kDoesNotAddUp), count(PaperVerdict::kNotComputable));
}

}  // namespace harness
