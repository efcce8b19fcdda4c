#include "results/saved_params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "results/sql.h"

namespace harness {
namespace {

using Names = std::vector<std::string>;

constexpr auto kFirst = &std::pair<std::string, std::string>::first;

template <class... Values>
Names names_of(SQLite::Database& db, const char* sql, const Values&... values) {
  SQLite::Statement statement(db, sql);
  Query query(statement, values...);
  Names names;
  while (query.step()) names.push_back(query.text(0));
  return names;
}

bool holds(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string nearest_and_all(const std::string& word, const Names& known) {
  if (known.empty()) return "there is none";
  const auto all = "there are: " + join(known, ", ");
  const auto near = nearest(word, known);
  return near ? fmt::format("did you mean \"{}\"? {}", *near, all) : all;
}

bool is_whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && value >= 0;
}

// What there is
// ---------------------------------------------------------------------------------------------------------

constexpr auto kMethods = R"sql(
  SELECT 'base' UNION SELECT method FROM runs UNION SELECT arm FROM table_runs WHERE arm <> ''
  UNION SELECT arm FROM reproduction_runs)sql";
constexpr auto kMethodsOfExperiment =
    "SELECT DISTINCT arm FROM reproduction_runs WHERE reproduction_id = ?1 ORDER BY arm";
constexpr auto kTables = "SELECT table_id FROM table_runs UNION SELECT table_id FROM reproductions";
constexpr auto kPromptSets = "SELECT DISTINCT name FROM prompt_sets ORDER BY 1";
constexpr auto kSeeds = "SELECT DISTINCT seed FROM runs ORDER BY 1";
constexpr auto kSplits = "SELECT split FROM evaluations UNION SELECT split FROM comparisons";
constexpr auto kSplitsOfExperiment = R"sql(
  SELECT DISTINCT split FROM reproduction_evaluations JOIN evaluations ON evaluations.id = evaluation_id
  WHERE reproduction_id = ?1 ORDER BY 1)sql";

// From name to name along the primary key of `metrics`, which holds millions of rows.
constexpr auto kMetrics = R"sql(
  WITH RECURSIVE walk (evaluation, metric) AS (
    SELECT id, (SELECT min(name) FROM metrics WHERE evaluation_id = evaluations.id) FROM evaluations
    UNION ALL
    SELECT evaluation, (SELECT min(name) FROM metrics WHERE evaluation_id = evaluation AND name > metric)
    FROM walk WHERE metric IS NOT NULL
  )
  SELECT metric FROM walk WHERE metric IS NOT NULL UNION SELECT metric FROM comparisons)sql";
constexpr auto kMetricsOfExperiment = R"sql(
  WITH RECURSIVE walk (evaluation, metric) AS (
    SELECT evaluations.id, (SELECT min(name) FROM metrics AS m WHERE m.evaluation_id = evaluations.id)
    FROM reproduction_evaluations AS member JOIN evaluations ON evaluations.id = member.evaluation_id
    WHERE member.reproduction_id = ?1 AND evaluations.split = ?2
    UNION ALL
    SELECT evaluation, (SELECT min(name) FROM metrics WHERE evaluation_id = evaluation AND name > metric)
    FROM walk WHERE metric IS NOT NULL
  )
  SELECT DISTINCT metric FROM walk WHERE metric IS NOT NULL ORDER BY 1)sql";

// What a table calls ?2 where another metric stands in for it.
constexpr auto kStandIn = R"sql(
  SELECT json_extract(spec, '$.backbones."' || backbone || '".stands_in."' || ?2 || '"')
  FROM reproductions WHERE id = ?1)sql";
constexpr auto kSelectionMetric =
    "SELECT json_extract(spec, '$.selection.metric') FROM reproductions WHERE id = ?1";
constexpr auto kNotRun = R"sql(
  SELECT reason.value
  FROM reproduction_evaluations AS member
  JOIN evaluations ON evaluations.id = member.evaluation_id, json_each(evaluations.not_run) AS reason
  WHERE member.reproduction_id = ?1 AND reason.key = ?2 LIMIT 1)sql";

struct StoredExperiment {
  std::int64_t id = 0;
  std::string table, backbone, scale, prompts, seeds, finished;
};

/// The last one finished first.
std::vector<StoredExperiment> experiments_of(SQLite::Database& db) {
  SQLite::Statement statement(db, R"sql(
    SELECT id, table_id, backbone, scale, ifnull(json_extract(spec, '$.effective.prompt_set.name'), ''),
           trim(seeds, '[]'), finished
    FROM reproductions ORDER BY recency DESC)sql");
  Query row(statement);
  std::vector<StoredExperiment> all;
  while (row.step()) {
    all.push_back({.id = row.integer(0),
                   .table = row.text(1),
                   .backbone = row.text(2),
                   .scale = row.text(3),
                   .prompts = row.text(4),
                   .seeds = row.text(5),
                   .finished = row.text(6)});
  }
  return all;
}

/// As the other commands name the experiment that they take.
std::string in_words(const StoredExperiment& e) {
  return fmt::format("experiment {}: table {}, backbone {}, scale {}, prompts {}, seeds {}, finished {}",
                     e.id, e.table, e.backbone, e.scale, e.prompts, e.seeds, e.finished);
}

// ---------------------------------------------------------------------------------------------------------

class SavedValuesMaker {
 public:
  SavedValuesMaker(SQLite::Database& db, const SavedQuery& query)
      : db_(db), query_(query), where_(fmt::format("query {}", query.name)) {}

  SavedValues make(const QueryParams& given);

 private:
  void take(const QueryParams& given);
  void require_kind(const SavedParam& param) const;
  void require_stored(const SavedParam& param) const;
  void require_known(const SavedParam& param, const Names& known) const;
  Names stored(ParamKind kind) const;
  StoredExperiment chosen_experiment() const;
  bool fits(const StoredExperiment& experiment) const;
  [[noreturn]] void refuse_choice(const std::vector<StoredExperiment>& all) const;
  void fit_to(const StoredExperiment& experiment);
  void fit_split(const StoredExperiment& experiment, std::string& split) const;
  void fit_metric(const StoredExperiment& experiment, const std::string& split, std::string& metric) const;
  std::string selection_metric(const StoredExperiment& experiment, const Names& known) const;
  std::string place(const SavedParam& param) const { return fmt::format("{}, -p {}", where_, param.name); }
  const std::string& value(std::string_view name) const { return values_.at(std::string(name)); }
  SavedValues result() const;
  Names given_methods() const;

  SQLite::Database& db_;
  const SavedQuery& query_;
  std::string where_;
  std::map<std::string, std::string> values_;
  std::string experiment_;
};

void SavedValuesMaker::take(const QueryParams& given) {
  Names names;
  for (const auto& param : query_.params) names.emplace_back(param.name);
  for (const auto& [name, value] : given) {
    if (!holds(names, name))
      throw Error(fmt::format("there is no parameter \"{}\"", name), where_, nearest_and_all(name, names));
    if (!values_.emplace(name, value).second)
      throw Error(fmt::format("parameter \"{}\" is given twice", name), where_);
  }
  for (const auto& param : query_.params) {
    if (values_.contains(std::string(param.name))) continue;
    if (!param.fallback) {
      throw Error(fmt::format("needs a value for {} ({})", param.name, param.help), where_,
                  fmt::format("add -p {} VALUE", param.name));
    }
    values_.emplace(param.name, *param.fallback);
  }
}

void SavedValuesMaker::require_kind(const SavedParam& param) const {
  const auto& text = value(param.name);
  if (text.empty() && param.fallback == "") return;
  const bool counts = param.kind == ParamKind::kCount || param.kind == ParamKind::kSeed ||
                      param.kind == ParamKind::kExperiment;
  if (counts && !is_whole_number(text)) {
    throw Error(fmt::format("{} must be a whole number, not \"{}\"", param.name, text), place(param),
                std::string(param.help));
  }
  const Names choices(param.choices.begin(), param.choices.end());
  if (!choices.empty() && !holds(choices, text)) {
    throw Error(fmt::format("{} cannot be \"{}\"", param.name, text), place(param),
                nearest_and_all(text, choices));
  }
}

Names SavedValuesMaker::stored(ParamKind kind) const {
  switch (kind) {
    case ParamKind::kMethod:
      return names_of(db_, kMethods);
    case ParamKind::kMetric:
      return names_of(db_, kMetrics);
    case ParamKind::kTable:
      return names_of(db_, kTables);
    case ParamKind::kSplit:
      return names_of(db_, kSplits);
    case ParamKind::kPrompts:
      return names_of(db_, kPromptSets);
    case ParamKind::kSeed:
      return names_of(db_, kSeeds);
    case ParamKind::kExperiment:
      return names_of(db_, "SELECT id FROM reproductions ORDER BY id");
    default:
      return {};
  }
}

void SavedValuesMaker::require_known(const SavedParam& param, const Names& known) const {
  const auto& text = value(param.name);
  if (holds(known, text)) return;
  const bool of_methods = param.kind == ParamKind::kMethod;
  throw Error(fmt::format("unknown {} \"{}\"", of_methods ? "method" : param.name, text), place(param),
              nearest_and_all(text, known));
}

/// That the DB holds what a value names. An experiment's own metrics and splits are looked at once it is
/// chosen.
void SavedValuesMaker::require_stored(const SavedParam& param) const {
  const bool of_experiment = param.kind == ParamKind::kMetric || param.kind == ParamKind::kSplit;
  if (value(param.name).empty() || (query_.of_one_experiment && of_experiment)) return;
  if (param.kind == ParamKind::kText || param.kind == ParamKind::kCount) return;
  require_known(param, stored(param.kind));
}

Names SavedValuesMaker::given_methods() const {
  Names methods;
  for (const auto& param : query_.params) {
    if (param.kind == ParamKind::kMethod && !value(param.name).empty()) methods.push_back(value(param.name));
  }
  return methods;
}

bool SavedValuesMaker::fits(const StoredExperiment& experiment) const {
  for (const auto& param : query_.params) {
    const auto& text = value(param.name);
    if (text.empty()) continue;
    if (param.kind == ParamKind::kExperiment && text != std::to_string(experiment.id)) return false;
    if (param.kind == ParamKind::kTable && text != experiment.table) return false;
    if (param.kind == ParamKind::kPrompts && text != experiment.prompts) return false;
  }
  const auto known = names_of(db_, kMethodsOfExperiment, experiment.id);
  return std::ranges::all_of(given_methods(), [&](const auto& method) { return holds(known, method); }) &&
         !names_of(db_, kSplitsOfExperiment, experiment.id).empty();
}

void SavedValuesMaker::refuse_choice(const std::vector<StoredExperiment>& all) const {
  if (all.empty()) {
    throw Error(
        "looks at a completed experiment, and the database holds none", where_,
        "let `harness reproduce` go to its end; what was evaluated until then is in v_results and v_paired");
  }
  Names asked, there;
  for (const auto& param : query_.params) {
    const bool chooses = param.kind == ParamKind::kExperiment || param.kind == ParamKind::kTable ||
                         param.kind == ParamKind::kPrompts || param.kind == ParamKind::kMethod;
    if (chooses && !value(param.name).empty())
      asked.push_back(fmt::format("{} {}", param.name, value(param.name)));
  }
  for (const auto& e : all) {
    const auto methods = names_of(db_, kMethodsOfExperiment, e.id);
    const bool evaluated = !names_of(db_, kSplitsOfExperiment, e.id).empty();
    there.push_back(fmt::format("{}: {} {} ({})", e.id, e.table, e.scale,
                                evaluated ? join(methods, ", ") : std::string("no evaluations")));
  }
  throw Error(fmt::format("no completed experiment{}{}", asked.empty() ? " has evaluations" : " has ",
                          join(asked, ", ")),
              where_, "there are: " + join(there, "; "));
}

StoredExperiment SavedValuesMaker::chosen_experiment() const {
  const auto all = experiments_of(db_);
  const auto found = std::ranges::find_if(all, [this](const auto& experiment) { return fits(experiment); });
  if (found == all.end()) refuse_choice(all);
  return *found;
}

void SavedValuesMaker::fit_split(const StoredExperiment& experiment, std::string& split) const {
  const auto known = names_of(db_, kSplitsOfExperiment, experiment.id);
  if (split.empty()) {
    split = holds(known, "test") ? "test" : known.front();
  } else if (!holds(known, split)) {
    throw Error(fmt::format("experiment {} was not evaluated on a split \"{}\"", experiment.id, split),
                where_ + ", -p split", nearest_and_all(split, known));
  }
}

std::string SavedValuesMaker::selection_metric(const StoredExperiment& experiment, const Names& known) const {
  const auto metric = names_of(db_, kSelectionMetric, experiment.id).front();
  const auto other = names_of(db_, kStandIn, experiment.id, metric).front();
  const auto& measured = other.empty() ? metric : other;
  return holds(known, measured) || known.empty() ? measured : known.front();
}

void SavedValuesMaker::fit_metric(const StoredExperiment& experiment, const std::string& split,
                                  std::string& metric) const {
  const auto known = names_of(db_, kMetricsOfExperiment, experiment.id, split);
  if (metric.empty()) metric = selection_metric(experiment, known);
  if (holds(known, metric)) return;
  const auto where = where_ + ", -p metric";
  if (const auto other = names_of(db_, kStandIn, experiment.id, metric).front(); !other.empty()) {
    throw Error(fmt::format("{} stands in for {} in experiment {} (backbone {})", other, metric,
                            experiment.id, experiment.backbone),
                where, fmt::format("give -p metric {}", other));
  }
  const auto reasons = names_of(db_, kNotRun, experiment.id, metric);
  if (!reasons.empty()) {
    throw Error(fmt::format("{} was not run in experiment {}: {}", metric, experiment.id, reasons.front()),
                where, "there are: " + join(known, ", "));
  }
  throw Error(fmt::format("experiment {} has no metric \"{}\"", experiment.id, metric), where,
              nearest_and_all(metric, known));
}

void SavedValuesMaker::fit_to(const StoredExperiment& experiment) {
  experiment_ = in_words(experiment);
  values_["experiment"] = std::to_string(experiment.id);
  auto& split = values_["split"];
  fit_split(experiment, split);
  if (values_.contains("metric")) fit_metric(experiment, split, values_["metric"]);
}

/// What only chooses the experiment is no parameter of the SQL.
SavedValues SavedValuesMaker::result() const {
  SavedValues result{.params = {}, .experiment = experiment_, .asked = {}};
  Names asked;
  for (const auto& param : query_.params) {
    const auto& text = value(param.name);
    const bool chooses = param.kind == ParamKind::kTable || param.kind == ParamKind::kPrompts;
    if (!query_.of_one_experiment || !chooses) result.params.emplace_back(param.name, text);
    const bool says_what = param.kind != ParamKind::kCount && param.choices.empty();
    if (!text.empty() && says_what) asked.push_back(fmt::format("{} {}", param.name, text));
  }
  result.asked = join(asked, ", ");
  return result;
}

SavedValues SavedValuesMaker::make(const QueryParams& given) {
  take(given);
  for (const auto& param : query_.params) require_kind(param);
  for (const auto& param : query_.params) {
    if (std::ranges::find(given, param.name, kFirst) != given.end()) require_stored(param);
  }
  if (query_.of_one_experiment) fit_to(chosen_experiment());
  return result();
}

}  // namespace

SavedValues saved_values(SQLite::Database& db, const SavedQuery& query, const QueryParams& given) {
  return SavedValuesMaker(db, query).make(given);
}

}  // namespace harness
