#include "results/query/saved_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "results/query/experiments.h"
#include "results/store/sql.h"

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

// What there is, in all or (?1) in one experiment
// ---------------------------------------------------------------------------------------------------------

constexpr auto kMethods = R"sql(
  SELECT 'base' UNION SELECT method FROM runs UNION SELECT arm FROM table_runs WHERE arm <> ''
  UNION SELECT arm FROM reproduction_runs)sql";
constexpr auto kMethodsOfExperiment =
    "SELECT DISTINCT arm FROM reproduction_runs WHERE reproduction_id = ?1 ORDER BY arm";
constexpr auto kSplits = R"sql(
  SELECT split FROM evaluations
  WHERE ?1 IS NULL OR id IN (SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = ?1)
  UNION SELECT split FROM comparisons WHERE ?1 IS NULL ORDER BY 1)sql";

// On one split (?2) of the experiment. From name to name along the primary key of `metrics`, which holds
// millions of rows.
constexpr auto kMetrics = R"sql(
  WITH RECURSIVE walk (evaluation, metric) AS (
    SELECT id, (SELECT min(name) FROM metrics WHERE evaluation_id = evaluations.id) FROM evaluations
    WHERE ?1 IS NULL OR split = ?2 AND id IN (
      SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = ?1)
    UNION ALL
    SELECT evaluation, (SELECT min(name) FROM metrics WHERE evaluation_id = evaluation AND name > metric)
    FROM walk WHERE metric IS NOT NULL
  )
  SELECT metric FROM walk WHERE metric IS NOT NULL
  UNION SELECT metric FROM comparisons WHERE ?1 IS NULL ORDER BY 1)sql";
constexpr auto kNotRun = R"sql(
  SELECT reason.value
  FROM reproduction_evaluations AS member
  JOIN evaluations ON evaluations.id = member.evaluation_id, json_each(evaluations.not_run) AS reason
  WHERE member.reproduction_id = ?1 AND reason.key = ?2 LIMIT 1)sql";

/// SQL for the names that a value of the kind may have; without one any value may be given.
const std::map<ParamKind, const char*> kStored = {
    {ParamKind::kMethod, kMethods},
    {ParamKind::kMetric, kMetrics},
    {ParamKind::kSplit, kSplits},
    {ParamKind::kTable, "SELECT table_id FROM table_runs UNION SELECT table_id FROM reproductions"},
    {ParamKind::kPrompts, "SELECT DISTINCT name FROM prompt_sets ORDER BY 1"},
    {ParamKind::kSeed, "SELECT DISTINCT seed FROM runs ORDER BY 1"},
    {ParamKind::kExperiment, "SELECT id FROM reproductions ORDER BY id"}};

/// What is measured in place of a metric of the experiment's table; empty if it is measured itself.
std::string stand_in(const StoredReproduction& e, const std::string& metric) {
  const auto path = Json::json_pointer("/backbones") / e.backbone / "stands_in" / metric;
  return e.spec.contains(path) ? e.spec.at(path).get<std::string>() : "";
}

/// What the checkpoints were selected by.
std::string selection_metric(const StoredReproduction& e, const Names& known) {
  const Json::json_pointer path("/selection/metric");
  const auto metric = e.spec.contains(path) ? e.spec.at(path).get<std::string>() : "";
  const auto other = stand_in(e, metric);
  const auto& measured = other.empty() ? metric : other;
  return holds(known, measured) || known.empty() ? measured : known.front();
}

bool chooses_experiment(ParamKind kind) {
  return kind == ParamKind::kExperiment || kind == ParamKind::kTable || kind == ParamKind::kPrompts ||
         kind == ParamKind::kMethod;
}

// ---------------------------------------------------------------------------------------------------------

class SavedValuesMaker {
 public:
  SavedValuesMaker(SQLite::Database& db, const SavedQuery& query)
      : db_(db), query_(query), where_(fmt::format("query {}", query.name)) {}

  SavedValues make(const QueryParams& given) {
    take(given);
    for (const auto& param : query_.params) require_kind(param);
    for (const auto& param : query_.params) {
      if (std::ranges::find(given, param.name, kFirst) != given.end()) require_stored(param);
    }
    if (query_.of_one_experiment) fit_to(chosen_experiment());
    return result();
  }

 private:
  void take(const QueryParams& given) {
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

  void require_kind(const SavedParam& param) const {
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

  /// That the DB holds what a value names. An experiment's own metrics and splits are looked at once it is
  /// chosen.
  void require_stored(const SavedParam& param) const {
    const auto& text = value(param.name);
    const bool of_experiment = param.kind == ParamKind::kMetric || param.kind == ParamKind::kSplit;
    const auto stored = kStored.find(param.kind);
    if (text.empty() || stored == kStored.end() || (query_.of_one_experiment && of_experiment)) return;
    const auto known = names_of(db_, stored->second);
    if (holds(known, text)) return;
    const bool of_methods = param.kind == ParamKind::kMethod;
    throw Error(fmt::format("unknown {} \"{}\"", of_methods ? "method" : param.name, text), place(param),
                nearest_and_all(text, known));
  }

  bool fits(const StoredReproduction& e) const {
    const auto methods = names_of(db_, kMethodsOfExperiment, e.id);
    const auto agrees = [&](const SavedParam& param) {
      const auto& text = value(param.name);
      if (text.empty()) return true;
      if (param.kind == ParamKind::kExperiment) return text == std::to_string(e.id);
      if (param.kind == ParamKind::kTable) return text == e.table_id;
      if (param.kind == ParamKind::kPrompts) return text == prompts_of(e);
      return param.kind != ParamKind::kMethod || holds(methods, text);
    };
    return std::ranges::all_of(query_.params, agrees) && !names_of(db_, kSplits, e.id).empty();
  }

  [[noreturn]] void refuse_choice(const std::vector<StoredReproduction>& all) const {
    if (all.empty()) {
      throw Error("looks at a completed experiment, and the database holds none", where_,
                  "let `harness reproduce` go to its end; what was evaluated until then is in v_results and "
                  "v_paired");
    }
    Names asked, there;
    for (const auto& param : query_.params) {
      if (chooses_experiment(param.kind) && !value(param.name).empty())
        asked.push_back(fmt::format("{} {}", param.name, value(param.name)));
    }
    for (const auto& e : all) {
      const auto methods = names_of(db_, kMethodsOfExperiment, e.id);
      const bool evaluated = !names_of(db_, kSplits, e.id).empty();
      there.push_back(fmt::format("{}: {} {} ({})", e.id, e.table_id, e.scale,
                                  evaluated ? join(methods, ", ") : std::string("no evaluations")));
    }
    throw Error(fmt::format("no completed experiment{}{}", asked.empty() ? " has evaluations" : " has ",
                            join(asked, ", ")),
                where_, "there are: " + join(there, "; "));
  }

  StoredReproduction chosen_experiment() const {
    const auto all = completed_experiments(db_);
    const auto found = std::ranges::find_if(all, [this](const auto& e) { return fits(e); });
    if (found == all.end()) refuse_choice(all);
    return *found;
  }

  void fit_split(const StoredReproduction& experiment, std::string& split) const {
    const auto known = names_of(db_, kSplits, experiment.id);
    if (split.empty()) {
      split = holds(known, "test") ? "test" : known.front();
    } else if (!holds(known, split)) {
      throw Error(fmt::format("experiment {} was not evaluated on a split \"{}\"", experiment.id, split),
                  where_ + ", -p split", nearest_and_all(split, known));
    }
  }

  void fit_metric(const StoredReproduction& experiment, const std::string& split, std::string& metric) const {
    const auto known = names_of(db_, kMetrics, experiment.id, split);
    if (metric.empty()) metric = selection_metric(experiment, known);
    if (holds(known, metric)) return;
    const auto where = where_ + ", -p metric";
    if (const auto other = stand_in(experiment, metric); !other.empty()) {
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

  void fit_to(const StoredReproduction& experiment) {
    experiment_ = in_words(experiment);
    values_["experiment"] = std::to_string(experiment.id);
    auto& split = values_["split"];
    fit_split(experiment, split);
    if (values_.contains("metric")) fit_metric(experiment, split, values_["metric"]);
  }

  /// What only chooses the experiment is no parameter of the SQL.
  SavedValues result() const {
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

  std::string place(const SavedParam& param) const { return fmt::format("{}, -p {}", where_, param.name); }
  const std::string& value(std::string_view name) const { return values_.at(std::string(name)); }

  SQLite::Database& db_;
  const SavedQuery& query_;
  std::string where_;
  std::map<std::string, std::string> values_;
  std::string experiment_;
};

}  // namespace

SavedValues saved_values(SQLite::Database& db, const SavedQuery& query, const QueryParams& given) {
  return SavedValuesMaker(db, query).make(given);
}

}  // namespace harness
