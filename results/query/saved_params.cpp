#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "results/query/experiments.h"
#include "results/query/saved_queries.h"
#include "results/store/columns.h"
#include "results/store/sql.h"

namespace harness {
namespace {

using Names = std::vector<std::string>;

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
  return parse_number<std::int64_t>(text).value_or(-1) >= 0;
}

// What there is, in all or (?1) in one experiment

constexpr auto kMethods = R"sql(
  SELECT 'base' UNION SELECT method FROM runs UNION SELECT arm FROM table_runs WHERE arm <> ''
  UNION SELECT arm FROM reproduction_runs)sql";
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

/// By parameter, SQL for the names that it may have; any other may have any value.
const std::map<std::string_view, const char*> kStored = {
    {"method", kMethods},
    {"baseline", kMethods},
    {"metric", kMetrics},
    {"split", kSplits},
    {"table", "SELECT table_id FROM table_runs UNION SELECT table_id FROM reproductions"},
    {"prompts", "SELECT DISTINCT name FROM prompt_sets ORDER BY 1"},
    {"seed", "SELECT DISTINCT seed FROM runs ORDER BY 1"},
    {"experiment", "SELECT id FROM reproductions ORDER BY id"}};

constexpr const char* kChoosing[] = {"experiment", "table", "prompts", "method", "baseline"};

// The last one first; of its evaluations, one.
constexpr auto kExperiments = R"sql(
  SELECT *,
         (SELECT json_group_array(json_array(run_id, arm)) FROM reproduction_runs WHERE reproduction_id = e.id) AS runs,
         (SELECT json_group_array(evaluation_id) FROM (
            SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = e.id LIMIT 1)) AS evaluations
  FROM reproductions AS e ORDER BY recency DESC)sql";

bool has_evaluations(const StoredReproduction& experiment) {
  return !experiment.evaluations.empty();
}

/// "3: sd35-ocr default (base, dual, ratio-norm)"
std::string short_words(const StoredReproduction& e) {
  std::set<std::string> rows;
  for (const auto& [_, row] : e.runs) rows.insert(row);
  return fmt::format("{}: {} {} ({})", e.id, e.table_id, e.scale,
                     has_evaluations(e) ? fmt::format("{}", fmt::join(rows, ", ")) : "no evaluations");
}

/// What the checkpoints were selected by.
std::string selection_metric(const StoredReproduction& e, const Names& known) {
  const Json::json_pointer path("/selection/metric");
  const auto metric = e.spec.contains(path) ? e.spec.at(path).get<std::string>() : "";
  const auto other = stand_in(e, metric);
  const auto& measured = other.empty() ? metric : other;
  return holds(known, measured) || known.empty() ? measured : known.front();
}

class SavedValuesMaker {
 public:
  SavedValuesMaker(SQLite::Database& db, const SavedQuery& query)
      : db_(db), query_(query), where_(fmt::format("query {}", query.name)) {}

  SavedValues make(const QueryParams& given) {
    take(given);
    for (const auto& param : query_.params) {
      const std::string name(param.name);
      if (values_.contains(name)) {
        check(param, values_.at(name));
      } else if (param.fallback) {
        values_.emplace(name, *param.fallback);
      } else {
        throw Error(fmt::format("needs a value for {} ({})", name, param.help), where_,
                    fmt::format("add -p {} VALUE", name));
      }
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
  }

  /// The Error that a value is none of `known`.
  Error refusal(std::string problem, std::string_view name, const std::string& text,
                const Names& known) const {
    return Error(std::move(problem), fmt::format("{}, -p {}", where_, name), nearest_and_all(text, known));
  }

  /// Its kind, and that the DB holds what it names. An experiment's own metrics and splits are looked at once
  /// it is chosen.
  void check(const SavedParam& param, const std::string& text) const {
    const auto name = param.name;
    if (text.empty() && param.fallback == "") return;
    if (takes_number(name) && !is_whole_number(text)) {
      throw Error(fmt::format("{} must be a whole number, not \"{}\"", name, text),
                  fmt::format("{}, -p {}", where_, name), std::string(param.help));
    }
    const Names choices(param.choices.begin(), param.choices.end());
    if (!choices.empty() && !holds(choices, text))
      throw refusal(fmt::format("{} cannot be \"{}\"", name, text), name, text, choices);
    const auto stored = kStored.find(name);
    const bool later = query_.of_one_experiment && (name == "metric" || name == "split");
    if (text.empty() || stored == kStored.end() || later) return;
    if (const auto known = texts_of(db_, stored->second); !holds(known, text))
      throw refusal(fmt::format("unknown {} \"{}\"", name == "baseline" ? "method" : name, text), name, text,
                    known);
  }

  StoredReproduction chosen_experiment() {
    StatementCache sql(db_);
    const auto records = read_records<StoredReproduction>(sql, "reproductions", kExperiments);
    ExperimentFilter filter{.table = values_["table"],
                            .prompts = values_["prompts"],
                            .experiment = parse_number<std::int64_t>(values_["experiment"]),
                            .rows = {values_["method"], values_["baseline"]}};
    std::erase(filter.rows, "");
    const auto* found = last_that_fits(records, filter, has_evaluations);
    if (found == nullptr) refuse_choice(records);
    return *found;
  }

  [[noreturn]] void refuse_choice(const std::vector<StoredReproduction>& records) {
    if (records.empty()) {
      throw Error("needs a completed experiment, and the database holds none", where_,
                  "let `harness reproduce` finish; results so far are in v_results and v_paired");
    }
    Names there;
    for (const auto& record : records) there.push_back(short_words(record));
    Names asked;
    for (const auto& param : query_.params) {
      const std::string name(param.name);
      if (std::ranges::count(kChoosing, name) > 0 && !values_[name].empty())
        asked.push_back(fmt::format("{} {}", name, values_[name]));
    }
    throw Error(fmt::format("no completed experiment{}{}", asked.empty() ? " has evaluations" : " has ",
                            join(asked, ", ")),
                where_, "there are: " + join(there, "; "));
  }

  void fit_split(const StoredReproduction& experiment, std::string& split) const {
    const auto known = texts_of(db_, kSplits, experiment.id);
    if (split.empty()) split = holds(known, "test") ? "test" : known.front();
    if (!holds(known, split))
      throw refusal(fmt::format("experiment {} was not evaluated on a split \"{}\"", experiment.id, split),
                    "split", split, known);
  }

  void fit_metric(const StoredReproduction& experiment, const std::string& split, std::string& metric) const {
    const auto known = texts_of(db_, kMetrics, experiment.id, split);
    if (metric.empty()) metric = selection_metric(experiment, known);
    if (holds(known, metric)) return;
    const auto where = where_ + ", -p metric";
    require_measured(experiment, metric, where, "-p metric");
    const auto reasons = texts_of(db_, kNotRun, experiment.id, metric);
    if (!reasons.empty()) {
      throw Error(fmt::format("{} was not run in experiment {}: {}", metric, experiment.id, reasons.front()),
                  where, "there are: " + join(known, ", "));
    }
    throw refusal(fmt::format("experiment {} has no metric \"{}\"", experiment.id, metric), "metric", metric,
                  known);
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
      const std::string name(param.name), &text = values_.at(name);
      if (!query_.of_one_experiment || (name != "table" && name != "prompts"))
        result.params.emplace_back(name, text);
      if (!text.empty() && name != "n" && param.choices.empty())
        asked.push_back(fmt::format("{} {}", name, text));
    }
    result.asked = join(asked, ", ");
    return result;
  }

  SQLite::Database& db_;
  const SavedQuery& query_;
  std::string where_;
  std::map<std::string, std::string> values_;
  std::string experiment_;
};

}  // namespace

bool takes_number(std::string_view param) {
  constexpr std::string_view kNumbers[] = {"n", "seed", "experiment", "position", "fresh"};
  return std::ranges::count(kNumbers, param) > 0;
}

SavedValues saved_values(SQLite::Database& db, const SavedQuery& query, const QueryParams& given) {
  return SavedValuesMaker(db, query).make(given);
}

}  // namespace harness
