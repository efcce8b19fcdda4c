#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "core/event_log.h"
#include "results/schema/schema.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::Contains;

class Checks : public FinishedRun {
 protected:
  static Words check(const fs::path& workspace, const Words& more = {"--json"}) {
    return with({"check", "sd35-ocr", "--db", (workspace / "results.sqlite").string()}, more);
  }

  /// Names of the rules that do not hold.
  static std::set<std::string> failed(const Outcome& outcome) {
    std::set<std::string> names;
    const auto document = parse_json(outcome.out, "stdout");
    for (const auto& rule : document.at("rules")) {
      if (!rule.at("passed").get<bool>()) names.insert(rule.at("name").get<std::string>());
    }
    return names;
  }
};

TEST_F(Checks, AFinishedExperimentKeepsEveryRuleAlsoWhereItWasMovedTo) {
  for (const auto& workspace : {place().folder() / "runs", copy()}) {
    const auto document = place().json(check(workspace));
    std::set<std::string> names;
    for (const auto& rule : document.at("rules")) {
      EXPECT_TRUE(rule.at("passed").get<bool>()) << rule.dump();
      EXPECT_FALSE(rule.at("message").get<std::string>().empty());
      EXPECT_TRUE(names.insert(rule.at("name").get<std::string>()).second) << rule.dump();
    }
    EXPECT_GE(names.size(), 20u);
    EXPECT_EQ(document.at("rule_file").at("id"), "sd35-ocr");
  }
}

TEST_F(Checks, ForReadingOneLineARule) {
  place().ok(check(place().folder() / "runs", {}), {"PASS  test-once", "rules hold"},
             {"experiment 1: table sd35-ocr"});
}

// --- Tampering ---

constexpr const char* kTested =
    "(SELECT e.id FROM evaluations AS e JOIN checkpoints AS c ON c.id = e.checkpoint_id JOIN runs AS r ON "
    "r.id = c.run_id WHERE e.split = 'test' AND r.method = 'dual')";

/// Carries statements out, in which {e} is the test evaluation of dual.
void sql(const fs::path& workspace, std::string text) {
  for (auto at = text.find("{e}"); at != std::string::npos; at = text.find("{e}"))
    text.replace(at, 3, kTested);
  SQLite::Database((workspace / "results.sqlite").string(), SQLite::OPEN_READWRITE).exec(text);
}

std::string value(const fs::path& workspace, const std::string& query) {
  SQLite::Database db((workspace / "results.sqlite").string(), SQLite::OPEN_READONLY);
  return db.execAndGet(query).getString();
}

/// The folder of the test evaluation of a method.
fs::path test_folder(const fs::path& workspace, const std::string& method) {
  const auto recorded =
      fs::path(value(workspace,
                     "SELECT e.folder FROM evaluations AS e JOIN checkpoints AS c ON c.id = e.checkpoint_id "
                     "JOIN runs AS r ON r.id = c.run_id WHERE e.split = 'test' AND r.method = '" +
                         method + "'"));
  return workspace / recorded.parent_path().filename() / recorded.filename();
}

fs::path run_folder(const fs::path& workspace, const std::string& method) {
  return workspace / value(workspace, "SELECT id FROM runs WHERE method = '" + method + "'");
}

constexpr const char* kEditMetric =
    "UPDATE metrics SET value = 1 WHERE evaluation_id = {e} AND name = 'ocr_reward' AND value IS NOT NULL";

void test_twice_in_silence(const fs::path& w) {
  fs::copy(test_folder(w, "dual"), run_folder(w, "dual") / "eval-test-2-eeeeeeeeeeeeeeee");
}
/// In the log, too, with right checksums.
void edit_metric_and_log(const fs::path& w) {
  sql(w, kEditMetric);
  const auto log = test_folder(w, "dual") / "events.log";
  auto events = read_events(log, 0).events;
  fs::remove(log);
  EventLogWriter writer(log);
  for (auto& event : events) {
    if (event.at("type") == "sample" && !event.at("metrics").at("ocr_reward").is_null())
      event["metrics"]["ocr_reward"] = 1;
    writer.append(event);
  }
  sql(w, fmt::format("UPDATE jobs SET log_offset = {} WHERE evaluation_id = {{e}}", fs::file_size(log)));
}
void swap_checkpoints(const fs::path& w) {
  const auto folder = run_folder(w, "dual") / "checkpoints";
  fs::rename(folder / "2", folder / "x");
  fs::rename(folder / "4", folder / "2");
  fs::rename(folder / "x", folder / "4");
}
void swap_weights(const fs::path& w) {
  fs::copy_file(run_folder(w, "ratio-norm") / "checkpoints/4/model.safetensors",
                run_folder(w, "dual") / "checkpoints/4/model.safetensors",
                fs::copy_options::overwrite_existing);
}
void replace_image(const fs::path& w) {
  const auto images = test_folder(w, "dual") / "images";
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(images)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (read_file(files[i]) == read_file(files[0])) continue;
    fs::copy_file(files[i], files[0], fs::copy_options::overwrite_existing);
    return;
  }
}
void remove_image(const fs::path& w) {
  fs::remove(fs::directory_iterator(test_folder(w, "dual") / "images")->path());
}
void edit_job_file(const fs::path& w) {
  const auto file = run_folder(w, "dual") / "job.json";
  auto job = read_json(file);
  job["identity"]["seed"] = 7;
  write_file_atomically(file, job.dump());
}
void cut_log(const fs::path& w) {
  const auto log = run_folder(w, "dual") / "events.log";
  fs::resize_file(log, fs::file_size(log) / 2);
}
void edit_table(const fs::path& w) {
  write_file_atomically(w / "experiments/1-sd35-ocr/table.md", "| 0.99 |");
}

struct Tampering {
  const char* name;
  std::vector<std::string> rules;  ///< that must not hold afterwards
  std::variant<const char*, void (*)(const fs::path& workspace)> change;
};

class Tampered : public Checks, public ::testing::WithParamInterface<Tampering> {};

TEST_P(Tampered, IsFoundByTheRuleThatNamesIt) {
  const auto workspace = copy();
  if (const auto* statements = std::get_if<const char*>(&GetParam().change)) {
    sql(workspace, *statements);
  } else {
    std::get<1>(GetParam().change)(workspace);
  }
  const auto document = place().json(check(workspace), 1);
  for (const auto& name : GetParam().rules) {
    const auto rule = entry(document.at("rules"), {{"name", name}, {"passed", false}});
    EXPECT_THAT(rule.at("message").get<std::string>(), HasSubstr(" -> ")) << "says what to do";
    place().fails(1, check(workspace, {}), {}, {"FAIL  " + name});
  }
}

const std::vector<Tampering> kTamperings = {
    {"SeedChanged", {"database"}, "UPDATE runs SET seed = 43 WHERE method = 'dual'"},
    {"SeedOfImagesChanged",
     {"database"},
     "UPDATE samples SET seed = 43 WHERE evaluation_id = {e} AND id % 2 = 0"},
    {"PromptMissing", {"database", "split"}, R"sql(
       DELETE FROM metrics WHERE evaluation_id = {e}
         AND prompt_id = (SELECT max(prompt_id) FROM samples WHERE evaluation_id = {e});
       DELETE FROM samples WHERE evaluation_id = {e}
         AND prompt_id = (SELECT max(prompt_id) FROM samples WHERE evaluation_id = {e}))sql"},
    {"PromptTextMissing", {"database"}, R"sql(
       DELETE FROM prompts WHERE id = (SELECT max(id) FROM prompts
         WHERE prompt_set_id = (SELECT prompt_set_id FROM evaluations LIMIT 1)))sql"},
    {"DuplicateRow", {"database"}, R"sql(
       INSERT INTO samples (evaluation_id, prompt_id, sample, seed, path, sha256, transcript)
         SELECT evaluation_id, prompt_id, 1, seed, path, sha256, transcript FROM samples
         WHERE evaluation_id = {e} LIMIT 1;
       INSERT INTO metrics SELECT m.evaluation_id, name, m.prompt_id, 1, value, reason FROM metrics AS m
         JOIN samples AS s ON s.sample = 1 AND s.evaluation_id = m.evaluation_id AND s.prompt_id = m.prompt_id)sql"},
    {"TestOpenedTwice", {"test-once"}, R"sql(
       INSERT INTO evaluations SELECT 'eeeeeeeeeeeeeeee',
         (SELECT max(id) FROM checkpoints WHERE id < e.checkpoint_id), split, n, not_run, state, folder || 'x',
         prompt_set_id, split_sha256, seed, settings, config, selection_id, 0, created, finished
         FROM evaluations AS e WHERE id = {e};
       UPDATE evaluations SET checkpoint_id = (SELECT id FROM checkpoints
         WHERE run_id = (SELECT id FROM runs WHERE method = 'dual') AND id NOT IN (
           SELECT checkpoint_id FROM evaluations WHERE split = 'test' AND id <> 'eeeeeeeeeeeeeeee') LIMIT 1)
         WHERE id = 'eeeeeeeeeeeeeeee')sql"},
    {"TestOpenedTwiceInSilence", {"test-once"}, test_twice_in_silence},
    {"TestPeeked", {"test-once"}, "UPDATE evaluations SET peek = 1, selection_id = NULL WHERE id = {e}"},
    {"OtherSplit",
     {"split"},
     "UPDATE evaluations SET config = json_set(config, '$.split_seed', 7) WHERE id = {e}"},
    {"OtherPrompts", {"split"}, R"sql(
       CREATE TEMP TABLE swap AS SELECT
         (SELECT max(prompt_id) FROM samples WHERE evaluation_id = {e}) AS inside,
         (SELECT min(s.prompt_id) FROM samples AS s JOIN evaluations AS v ON v.id = s.evaluation_id
          WHERE v.split = 'validation') AS outside;
       UPDATE metrics SET prompt_id = (SELECT outside FROM swap)
         WHERE evaluation_id = {e} AND prompt_id = (SELECT inside FROM swap);
       UPDATE samples SET prompt_id = (SELECT outside FROM swap)
         WHERE evaluation_id = {e} AND prompt_id = (SELECT inside FROM swap))sql"},
    {"SettingChanged", {"database"}, R"sql(
       UPDATE runs SET effective_settings = json_set(effective_settings, '$.lr', 0.001) WHERE method = 'dual')sql"},
    {"ConfiguredSettingChanged",
     {"database", "ids"},
     "UPDATE runs SET config = json_set(config, '$.settings.lr', 0.001) WHERE method = 'dual'"},
    {"EvaluationSettingChanged",
     {"database"},
     "UPDATE evaluations SET settings = json_set(settings, '$.eval_steps', 20) WHERE id = {e}"},
    {"MetricEdited", {"database", "metrics"}, kEditMetric},
    {"StatisticEdited", {"database"}, R"sql(
       UPDATE train_stats SET on_policy = 1 - on_policy WHERE name = 'lambda_center' AND update_index = 2)sql"},
    {"CheckpointEdited", {"database"}, "UPDATE checkpoints SET lambda_late = lambda_late + 1"},
    {"BuildEdited", {"database"}, "UPDATE runs SET build = 'another' WHERE method = 'dual'"},
    {"TranscriptEdited",
     {"database"},
     "UPDATE samples SET transcript_raw = 'ELSE' WHERE evaluation_id = {e}"},
    {"EventDuplicated", {"database"}, R"sql(
       INSERT INTO events (job_id, time, type, level, message, detail)
         SELECT job_id, time, type, level, message, detail FROM events WHERE type = 'job_completed' LIMIT 1)sql"},
    {"OtherTrainingPromptsInOneRow",
     {"pairing"},
     "UPDATE runs SET config = json_set(config, '$.train_prompts_sha256', 'x') WHERE method = 'dual'"},
    {"MetricGone", {"database"}, "DELETE FROM metrics WHERE name = 'exact_match'"},
    {"MetricEditedWithItsLog", {"metrics"}, edit_metric_and_log},
    {"CheckpointSwapped", {"checkpoints"}, swap_checkpoints},
    {"WeightsSwapped", {"checkpoints"}, swap_weights},
    {"LawAuditRemoved",
     {"law-audit"},
     "DELETE FROM train_stats WHERE name IN ('log_ratio_mean', 'log_ratio_var', 'lambda_var')"},
    {"OneRowOfTheLawAuditRemoved", {"law-audit"}, R"sql(
       DELETE FROM train_stats
         WHERE rowid = (SELECT max(rowid) FROM train_stats WHERE name = 'log_ratio_var'))sql"},
    {"ImageReplaced", {"images"}, replace_image},
    {"ImageRemoved", {"images"}, remove_image},
    {"SelectionChanged", {"selection"}, R"sql(
       UPDATE selections SET checkpoint_id = (SELECT min(c.id) FROM checkpoints AS c
         WHERE c.run_id = selections.run_id AND c.id <> selections.checkpoint_id) WHERE rule <> 'fixed')sql"},
    {"ComparisonEdited", {"comparisons"}, "UPDATE comparisons SET ci95_low = 0.001 WHERE id = 1"},
    {"PromptEdited", {"database"}, "UPDATE prompts SET text = text || '.' WHERE position = 3"},
    {"JobFileEdited", {"ids"}, edit_job_file},
    {"LogCut", {"database"}, cut_log},
    {"DirectionTurned", {"directions"}, R"sql(
       UPDATE reproductions SET spec = json_set(spec, '$.effective.metrics_known[0].better', 'higher')
         WHERE json_extract(spec, '$.effective.metrics_known[0].name') = 'cer')sql"},
    {"TriggerAdded",
     {"database"},
     "CREATE TRIGGER better AFTER INSERT ON metrics BEGIN UPDATE metrics SET value = 1; END"},
    {"TableEdited", {"artifacts"}, edit_table},
    {"OtherProtocol",
     {"protocol"},
     "UPDATE reproductions SET spec = json_set(spec, '$.selection.metric', 'exact_match')"},
    {"SignatureEdited",
     {"database"},
     "UPDATE reproductions SET signature = replace(signature, 'seeds 42', 'seeds 42,43,44')"},
    {"ScoresLost",
     {"missing-scores"},
     "UPDATE metrics SET value = NULL, reason = 'x' WHERE evaluation_id = {e} AND name = 'cer'"}};

INSTANTIATE_TEST_SUITE_P(Workspaces, Tampered, ::testing::ValuesIn(kTamperings),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_F(Checks, ARowThatIsNotTheLogsIsNamedWithItsTable) {
  const auto workspace = copy();
  sql(workspace, R"sql(
    UPDATE metrics SET value = 0.125 WHERE evaluation_id = {e} AND name = 'ocr_reward'
      AND prompt_id = (SELECT min(prompt_id) FROM samples WHERE evaluation_id = {e});
    DELETE FROM train_stats WHERE update_index = 1 AND timestep = 2 AND name = 'lambda_center'
      AND run_id = (SELECT id FROM runs WHERE method = 'dual'))sql");
  place().fails(1, check(workspace, {}), {},
                {"train_stats: 1 row is only in the logs, such as run_id ",
                 "metrics: 1 row is only in the DB, such as evaluation_id ",
                 "metrics: 1 row is only in the logs, such as evaluation_id "});
}

// --- Selections where scores are missing ---

constexpr const char* kDualSelection =
    "(SELECT s.* FROM selections AS s JOIN runs AS r ON r.id = s.run_id WHERE r.method = 'dual')";

/// Validation scores of dual: `chosen` at the checkpoint that was selected, by which value, and `other` at
/// the others; of the first prompt `chosen_first` and `other_first` ("NULL" for a scorer that failed).
struct Scores {
  std::string chosen, other, chosen_first, other_first, value;
};

void set_scores(const fs::path& w, const Scores& scores) {
  const std::string selection = kDualSelection;
  const auto set = [&](const std::string& value, const std::string& where) {
    sql(w, "UPDATE metrics SET value = " + value + ", reason = " + (value == "NULL" ? "'x'" : "NULL") +
               " WHERE name = 'ocr_reward' AND evaluation_id IN (SELECT each.value FROM " + selection +
               ", json_each(candidates) AS each) AND evaluation_id " + where);
  };
  const auto chosen = "= (SELECT evaluation_id FROM " + selection + ")",
             other = "<> (SELECT evaluation_id FROM " + selection + ")";
  const std::string first =
      " AND prompt_id = (SELECT min(prompt_id) FROM samples WHERE samples.evaluation_id = "
      "metrics.evaluation_id)";
  set(scores.chosen, chosen);
  set(scores.other, other);
  set(scores.chosen_first, chosen + first);
  set(scores.other_first, other + first);
  sql(w, "UPDATE selections SET value = " + scores.value + " WHERE id = (SELECT id FROM " + selection + ")");
}

TEST_F(Checks, ASelectionIsFoundThatIsNotThatOfThePromptsWithAScoreEverywhere) {
  const auto other = copy();
  // On the 23 prompts that all have a score for, the others are better.
  set_scores(other, {"0.5", "0.51", "NULL", "0.0", "0.5"});
  const auto outcome = place().run(check(other));
  EXPECT_THAT(failed(outcome), Contains("selection")) << outcome.out;
  const auto same = copy();
  set_scores(same, {"0.9", "0.5", "0.1", "NULL", "0.9"});
  EXPECT_THAT(failed(place().run(check(same))), Not(Contains("selection")));
}

// As a second table leaves one that trains nothing new and selects by another metric.
TEST_F(Checks, AnotherTablesSelectionFromTheSameRunsChangesNothingHere) {
  const auto workspace = copy();
  const auto db = (workspace / "results.sqlite").string();
  const Words compare{"compare", "ratio-norm", "dual", "--split", "validation", "--db", db, "--json"};
  const auto before = place().json(compare);
  sql(workspace, R"sql(
    INSERT INTO selections (run_id, checkpoint_id, split, metric, rule, value, evaluation_id, candidates, created)
      SELECT s.run_id, c.id, s.split, 'exact_match', s.rule, s.value, e.id, s.candidates, s.created
      FROM selections AS s JOIN checkpoints AS c ON c.run_id = s.run_id AND c.id <> s.checkpoint_id
      JOIN evaluations AS e ON e.checkpoint_id = c.id AND e.split = s.split
      WHERE s.rule <> 'fixed' GROUP BY s.run_id)sql");
  EXPECT_EQ(place().json(compare), before);
}

// --- Rule files ---

TEST_F(Checks, RulesOfAUsersOwnAskTheDb) {
  place().write_text("own.json", R"json({"version": 7, "rules": [
    {"name": "thousand-images", "check": "query", "hint": "use a larger scale",
     "sql": "SELECT id, n FROM evaluations WHERE n < 1000 AND :experiment = 1"}]})json");
  const auto document = place().json(check(place().folder() / "runs", {"--rules", "own.json", "--json"}), 1);
  ASSERT_EQ(document.at("rules").size(), 1u);
  EXPECT_EQ(document.at("rule_file").at("version"), 7);
  EXPECT_THAT(document.at("rules").at(0).at("message").get<std::string>(), HasSubstr("n 24"));
}

TEST_F(Checks, AWrongRuleFileIsStatus2WithTheNearestName) {
  const auto refused = [&](const std::string& rules) {
    place().write_text("wrong.json", rules);
    const auto outcome = place().fails(2, check(place().folder() / "runs", {"--rules", "wrong.json"}));
    return outcome.err;
  };
  EXPECT_THAT(refused(R"({"version": 1, "rules": [{"check": "splt"}]})"),
              HasSubstr(R"(did you mean "split"?)"));
  EXPECT_THAT(refused(R"({"version": 1, "rules": [{"check": "split", "sed": 1}]})"),
              HasSubstr(R"(unknown key "sed")"));
  EXPECT_THAT(refused(R"({"version": 1, "rules": [{"check": "law-audit"}]})"), HasSubstr("statistics"));
  EXPECT_THAT(refused(R"({"rules": []})"), HasSubstr("version"));
  EXPECT_THAT(refused(R"({"version": 1, "rules": [{"check": "query", "sql": "SELECT 1 AS x"},
                                                  {"check": "query", "sql": "SELECT 1 WHERE 0"}]})"),
              HasSubstr(R"(rules[1]: a rule before it is named "query" too)"));
  EXPECT_THAT(refused(R"({"version": 1, "rules": [{"check": "query", "sql": "SELEC 1"}]})"),
              HasSubstr("wrong.json: rules[0]: sql: near \"SELEC\": syntax error"));
  const auto rules = place().share() / "rules";
  fs::create_directories(rules);
  // What a rule of another file does wrong is named with that file.
  write_file_atomically(
      rules / "base.json",
      R"({"version": 1, "rules": [{"check": "split"}, {"check": "query", "sql": "SELECT x FROM runs"}]})");
  EXPECT_THAT(refused(R"({"version": 1, "extends": "base", "rules": [{"check": "ids"}]})"),
              HasSubstr("base.json: rules[1]: sql: no such column: x"));
  write_file_atomically(rules / "one.json", R"({"version": 1, "extends": "other", "rules": []})");
  write_file_atomically(rules / "other.json", R"({"version": 1, "extends": "one", "rules": []})");
  EXPECT_THAT(refused(R"({"version": 1, "extends": "one", "rules": []})"),
              HasSubstr("extends itself: wrong -> one -> other -> one"));
  fs::remove_all(rules);
}

/// The workspace's DB as 0.1.0 would have left it: its tables with their rows, no
/// views.
void make_version_9(const fs::path& workspace) {
  const auto file = workspace / "results.sqlite", newer = workspace / "newer.sqlite";
  fs::rename(file, newer);
  {
    SQLite::Database db(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    migrate(db, {.migrations = current_schema().migrations.first(1), .views = ""});
    ASSERT_EQ(schema_version(db), 9);
    std::vector<std::string> tables;
    SQLite::Statement names(
        db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    while (names.executeStep()) tables.push_back(names.getColumn(0).getString());
    names.reset();
    db.exec("PRAGMA foreign_keys = OFF");
    db.exec("ATTACH '" + newer.string() + "' AS newer");
    for (const auto& table : tables) {
      const auto columns =
          db.execAndGet("SELECT group_concat(name, ', ') FROM pragma_table_info('" + table + "')")
              .getString();
      db.exec("DELETE FROM main." + table);
      db.exec(fmt::format("INSERT INTO main.{0} ({1}) SELECT {1} FROM newer.{0}", table, columns));
    }
  }
  fs::remove(newer);
}

/// The workspace's journal as 0.1.0 would have left it.
void leave_out_later_numbers(const fs::path& workspace) {
  std::string lines;
  for (auto& record : Events(workspace / "journal.log")) {
    if (record.at("type") == "comparisons") {
      for (auto& comparison : record.at("data").at("comparisons")) comparison.erase("prompts_won");
    }
    lines += event_line(record);
  }
  for (const char* name : {"journal.log", "journal.log.copy"}) write_file_atomically(workspace / name, lines);
}

TEST_F(Checks, ADbOfAnOlderVersionIsReadThroughThisOnesViews) {
  const auto workspace = copy();
  leave_out_later_numbers(workspace);
  place().ok({"db", "rebuild", "--force", "--db", (workspace / "results.sqlite").string()});
  make_version_9(workspace);
  place().ok(check(workspace));
}

TEST_F(Checks, AGridOfOnesOwnChoiceLeavesTheTablesGridAlone) {
  for (const std::vector<std::string>& choice :
       {std::vector<std::string>{"--pick", "paper"}, {"--pick", "wins,failures", "-n", "12"}, {}}) {
    place().ok(with({"grid", "sd35-ocr"}, choice));
  }
  EXPECT_TRUE(fs::exists(place().folder() / "runs/sd35-ocr/grid-wins-failures-12-float.tex"));
  place().ok(check(place().folder() / "runs"));
}

TEST_F(Checks, ATableWithoutRulesOfItsOwnKeepsThoseOfItsKind) {
  Workplace other;
  other.write_text("mine.json", R"json({
    "id": "mine", "kind": "training", "title": "two methods", "task": "ocr", "backbone": "tiny-sd3",
    "methods": ["ratio-norm", "dual"], "baseline": "ratio-norm", "seeds": [42, 43], "checkpoints": [6],
    "window": {"last": 4}, "settings": {"updates": 6},
    "columns": [{"name": "lambda_center_0", "stat": "lambda_center", "timestep": 0, "better": "lower"}]})json");
  other.ok({"reproduce", "--table", "mine.json"});
  EXPECT_EQ(other.json({"check", "mine", "--json"}).at("rule_file").at("id"), "training");
  sql(other.folder() / "runs", "UPDATE train_stats SET value = 2 * value WHERE name = 'lambda_center'");
  EXPECT_THAT(failed(other.run({"check", "mine", "--json"})), Contains("database"));
}

TEST_F(Checks, RowsWithSettingsOfTheirOwnAreHeldToThem) {
  Workplace other;
  other.write_text("mine.json", R"json({"extends": "sd35-ocr", "id": "mine", "baseline": "dual",
    "methods": ["dual", {"name": "slow", "method": "dual", "settings": {"lr": 1e-6, "beta_max": 5}}]})json");
  other.ok(smoke_of("mine.json", {"--set", "guidance=2"}));
  EXPECT_EQ(other.json({"check", "mine", "--json"}).at("rule_file").at("id"), "evaluation");
}

TEST_F(Checks, VariantsOfOneMethodThatWereTestedAreCountedInAWarning) {
  Workplace other;
  const auto sweep = [&](const std::string& id, const std::string& split) {
    const Json table = {{"extends", "sd35-ocr"},
                        {"id", id},
                        {"baseline", "dual"},
                        {"methods",
                         {"dual",
                          "ratio-norm",
                          {{"name", "beta 5"}, {"method", "dual"}, {"settings", {{"beta_max", 5}}}},
                          {{"name", "beta 7"}, {"method", "dual"}, {"settings", {{"beta_max", 7}}}}}},
                        {"shows", {{"split", split}}}};
    write_file_atomically(other.folder() / (id + ".json"), table.dump());
    other.ok({"reproduce", "--table", id + ".json", "--scale", "smoke"});
    return other.run({"check", id});
  };
  EXPECT_THAT(sweep("on-validation", "validation").out, HasSubstr("N/A   tested-arms"));
  const auto warned = sweep("on-test", "test");
  EXPECT_EQ(warned.status, 0) << warned.out;
  EXPECT_THAT(warned.out, HasSubstr("WARN  tested-arms"));
  EXPECT_THAT(warned.out, HasSubstr("3 arms of dual were tested on the 48 test prompts of "));
  EXPECT_THAT(warned.out, HasSubstr(": beta 5, beta 7, dual. Taking the best"));
  EXPECT_THAT(warned.out, Not(HasSubstr("arms of ratio-norm")));
  const auto everywhere = other.run({"check", "on-validation"});
  EXPECT_THAT(everywhere.out, HasSubstr("WARN  tested-arms")) << "of the workspace, not of one table";
}

TEST_F(Checks, WithoutAnExperimentIsStatus2) {
  place().fails(2, {"check", "sd35-orc"});
  place().fails(2, {"check", "sd35-ocr", "--db", "none.sqlite"});
}

TEST_F(Checks, OfThePaperPrintedAndComputedStandSideBySide) {
  const auto document =
      place().json({"check", "--paper", "--json"}, 1);  // some printed figures do not add up
  EXPECT_GT(document.at("rules").size(), 40u);
  for (const auto& rule : document.at("rules")) {
    EXPECT_TRUE(rule.at("name").is_string() && rule.at("message").is_string() &&
                rule.at("printed").is_string());
    EXPECT_EQ(rule.at("passed"), rule.at("verdict") != "does not add up");
  }
  EXPECT_THAT(place().run({"check", "--paper"}).out, HasSubstr("do not add up"));
  place().fails(2, {"check", "sd35-ocr", "--paper"});
  place().fails(2, {"check", "--paper", "--experiment", "1"}, {"options that select an experiment"});
}

}  // namespace
}  // namespace harness::test
