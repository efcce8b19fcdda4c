#include "results/paper/paper_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/files.h"

namespace harness {
namespace {

const std::vector<std::string> kTables = {
    "sd35-ocr",           "sd35-ocr-val",       "sd35-pickscore",  "flux",
    "tiny-sd3-zclip",     "sd35-pickscore-val", "tiny-sd3-stress", "operating-points",
    "lambdanorm-nu-sweep"};

constexpr const char* kVerdicts[] = {"consistent", "does not add up", "not computable"};  // of PaperVerdict

}  // namespace

PaperFigures load_paper_figures() {
  PaperFigures figures;
  for (const auto& id : kTables) figures.tables[id] = load_paper_table(id);
  const auto file = find_data_file("paper/stated/figures.json");
  const Json document = read_json(file);
  Fields fields(document, file.string());
  for (const auto& entry : fields.get("figures")) {
    Fields figure(entry, file.string() + ": figures");
    const auto name = figure.required<std::string>("name"), printed = figure.required<std::string>("printed");
    figure.required<std::string>("where");
    figure.finish();
    figures.stated[name] = {.value = std::stod(printed), .printed = printed};
  }
  fields.finish();
  return figures;
}

double printed_rounding(std::string_view printed) {
  const auto exponent_at = printed.find_first_of("eE");
  const auto digits = printed.substr(0, exponent_at);
  const int exponent =
      exponent_at == std::string_view::npos ? 0 : std::stoi(std::string(printed.substr(exponent_at + 1)));
  const auto point = digits.find('.');
  const auto decimals = point == std::string_view::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  return 0.5 * std::pow(10.0, exponent - decimals);
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
