#include "results/paper/paper_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>

#include "core/files.h"
#include "core/text.h"
#include "results/paper/paper_formula.h"

namespace harness {
namespace {

const std::vector<std::string> kTables = {
    "sd35-ocr",           "sd35-ocr-val",       "sd35-pickscore",  "flux",
    "tiny-sd3-zclip",     "sd35-pickscore-val", "tiny-sd3-stress", "operating-points",
    "lambdanorm-nu-sweep"};

PrintedNumber figure_of(const PaperValue& value) {
  return {value.value, value.printed, printed_rounding(value.printed)};
}

/// A number of which the files keep no text; `decimals`: as printed.
PrintedNumber figure_of(double value, int decimals) {
  return figure_of({.value = value, .printed = fmt::format("{:.{}f}", value, decimals)});
}

// Addresses of figures, as the relations give them (results/paper/README.md)
// ---------------------------------------------------------------------------------------------------------

using Words = std::vector<std::string>;

PrintedNumber cell(const PaperRow& row, const std::string& column, const std::string& address) {
  if (column == "checkpoint" && row.checkpoint) return figure_of(*row.checkpoint, 0);
  const auto found = row.values.find(column);
  if (found == row.values.end()) throw Error(fmt::format("{} has no {}", row.method, column), address);
  return figure_of(found->second);
}

/// TABLE BASELINE>METHOD METRIC [TASK] FIELD:DECIMALS
PrintedNumber compared(const PaperTable& table, const Words& words, const std::string& address) {
  const auto sides = split(words[1], '>'), field = split(words.back(), ':');
  const auto* c = table.comparison(sides[0], sides[1], words[2], words.size() == 5 ? words[3] : "");
  if (c == nullptr || field.size() != 2) throw Error("there is no such comparison", address);
  const std::map<std::string, std::optional<double>> values = {{"delta", c->delta},
                                                               {"t", c->t},
                                                               {"relative_percent", c->relative_percent},
                                                               {"n", c->n},
                                                               {"wins", c->wins}};
  const auto found = values.find(field[0]);
  if (found != values.end() && found->second) return figure_of(*found->second, std::stoi(field[1]));
  if (!c->ci || (field[0] != "low" && field[0] != "high")) throw Error("is not printed", address);
  return figure_of(field[0] == "low" ? c->ci->low : c->ci->high, std::stoi(field[1]));
}

/// TABLE METHOD COLUMN [TASK or CHECKPOINT]: of the selected row without one. A * for the method or behind
/// the column: of all rows that are left.
PrintedNumbers cells(const PaperTable& table, const Words& words, const std::string& address) {
  const auto which = words.size() == 4 ? words[3] : "";
  PrintedNumbers figures;
  if (words[1] == "*" || which == "*") {
    for (const auto& row : table.rows) {
      if (words[1] == "*" || row.method == words[1]) figures.push_back(cell(row, words[2], address));
    }
  } else {
    const bool counts = !which.empty() && which.find_first_not_of("0123456789") == std::string::npos;
    const auto* row = counts ? table.row(words[1], {}, std::stoi(which)) : table.row(words[1], which);
    if (row != nullptr) figures.push_back(cell(*row, words[2], address));
  }
  if (figures.empty()) throw Error("there is no such row", address);
  return figures;
}

template <class Item>
const Item& item_of(const std::map<std::string, Item>& items, const std::string& name, const char* problem,
                    const char* where) {
  const auto found = items.find(name);
  if (found == items.end()) throw Error(fmt::format("{} \"{}\"", problem, name), where);
  return found->second;
}

/// Also "text NAME" for a figure of the running text, and "TABLE n" for the prompts of a table.
PrintedNumbers figures_at(const PaperFigures& paper, const std::string& address) {
  const auto words = split(address, ' ');
  if (words.size() == 2 && words[0] == "text")
    return {figure_of(item_of(paper.stated, words[1], "holds no figure", "paper/stated/figures.json"))};
  const auto& table = item_of(paper.tables, words[0], "there is no table", "paper/");
  if (words.size() == 2 && words[1] == "n") return {figure_of(static_cast<double>(table.n.value_or(0)), 0)};
  if (words.size() < 3 || words.size() > 5) throw Error("is no address of a figure", address);
  if (words[1].find('>') != std::string::npos) return {compared(table, words, address)};
  return cells(table, words, address);
}

// ---------------------------------------------------------------------------------------------------------

NamedFigures named_figures(Fields& group, const PaperFigures& paper) {
  NamedFigures figures;
  Fields addresses = group.object("figures");
  for (const auto& name : addresses.keys()) {
    figures[name] = figures_at(paper, addresses.required<std::string>(name));
  }
  for (const auto& line : group.optional<std::vector<std::string>>("let", {})) {
    const auto equals = line.find(" = ");
    if (equals == std::string::npos) throw Error("is no NAME = FORMULA", group.where() + ": let: " + line);
    figures[line.substr(0, equals)] = evaluate(line.substr(equals + 3), figures);
  }
  return figures;
}

/// What relates no figures ("holds" is missing) cannot be computed. Two texts of "computed" are for where it
/// holds and where not.
PaperFinding finding_of(Fields relation, const NamedFigures& figures) {
  PaperFinding finding{.name = relation.required<std::string>("name"),
                       .printed = fill_in(relation.required<std::string>("printed"), figures),
                       .computed = {},
                       .verdict = PaperVerdict::kNotComputable,
                       .message = fill_in(relation.required<std::string>("message"), figures)};
  if (relation.has("holds")) {
    const bool holds = std::ranges::all_of(evaluate(relation.required<std::string>("holds"), figures),
                                           [](const PrintedNumber& row) { return row.value == 1; });
    const bool of_two = relation.get("computed").is_array();
    const auto texts = of_two ? relation.required<std::vector<std::string>>("computed")
                              : std::vector(2, relation.required<std::string>("computed"));
    finding.computed = fill_in(texts.at(holds ? 0 : 1), figures);
    finding.verdict = holds ? PaperVerdict::kConsistent : PaperVerdict::kDoesNotAddUp;
  }
  relation.finish();
  return finding;
}

/// The group with $NAME replaced by each value that "for" gives it.
std::vector<Json> repeated(const Json& group) {
  std::vector<Json> groups;
  for (const auto& values : group.value("for", Json::array({Json::object()}))) {
    auto text = group.dump();
    for (const auto& [name, value] : values.items())
      boost::replace_all(text, "$" + name, value.get<std::string>());
    groups.push_back(parse_json(text, "paper/stated/relations.json"));
  }
  return groups;
}

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

std::vector<PaperFinding> audit_paper(const PaperFigures& figures) {
  const auto file = find_data_file("paper/stated/relations.json");
  const Json document = read_json(file);
  Fields fields(document, file.string());
  std::vector<PaperFinding> findings;
  for (const auto& written : fields.get("groups")) {
    for (const auto& repeat : repeated(written)) {
      Fields group(repeat, file.string() + ": groups");
      const auto named = named_figures(group, figures);
      for (const auto& relation : group.get("findings"))
        findings.push_back(finding_of(Fields(relation, group.where() + ": findings"), named));
      group.mark("for");
      group.finish();
    }
  }
  fields.finish();
  return findings;
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
