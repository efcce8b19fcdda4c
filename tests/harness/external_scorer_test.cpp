// Scorers that users bring, through the real program: what becomes of every way in which one can fail.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/image.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

struct LevelRow {
  fs::path image;
  std::optional<double> value;
  std::string reason;
};

int first_byte(const LevelRow& row) {
  return read_png(row.image).rgb.at(0);
}

void expect_own_value(const LevelRow& row) {
  ASSERT_TRUE(row.value.has_value()) << row.image << ": " << row.reason;
  EXPECT_EQ(*row.value, first_byte(row)) << "the fake worker's images have one colour";
}

const Words kWithoutScorers = smoke_of("small.json"),
            kReproduce = with(kWithoutScorers, {"--scorers", "scorers"});

/// A workplace with a table of one method, 20 images in four evaluations, and an external scorer `gauge`
/// whose metric `level` is the mean of an image's bytes.
class ScorerPlace : public Workplace {
 public:
  ScorerPlace() {
    const Json scale = {
        {"checkpoints", {2}}, {"limit", {{"validation", 4}, {"test", 6}}}, {"settings", {{"updates", 2}}}};
    write("small.json", {{"extends", "sd35-ocr"},
                         {"id", "small"},
                         {"methods", {"ratio-norm"}},
                         {"scales", {{"smoke", scale}}}});
  }

  /// tests/data/scorers/misbehaving_scorer.py with these arguments; `more` is laid over its scorer.json.
  void add_scorer(Words arguments, const Json& more = Json::object(), const std::string& name = "gauge") {
    const auto place = folder() / "scorers" / name;
    fs::create_directories(place);
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers/misbehaving_scorer.py",
                  place / "gauge.py", fs::copy_options::overwrite_existing);
    arguments.insert(arguments.begin(), {"python3", "gauge.py"});
    Json spec = {
        {"version", "1"},
        {"command", arguments},
        {"deadline_seconds", 10},
        {"restarts", 1000},
        {"metrics",
         {{"level", {{"title", "Level"}, {"better", "lower"}, {"decimals", 1}, {"help", "mean byte"}}}}}};
    spec.merge_patch(more);
    write("scorers/" + name + "/scorer.json", spec);
  }

  /// tests/data/scorers/told_scorer.py as scorer `gauge`: what it answers is in answers.json (tell).
  void add_told_scorer(const Json& more = Json::object()) {
    fs::create_directories(folder() / "scorers/gauge");
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers/told_scorer.py",
                  folder() / "scorers/gauge/told.py", fs::copy_options::overwrite_existing);
    Json spec = {
        {"version", "1"},
        {"command",
         {"python3", "told.py", (folder() / "answers.json").string(), (folder() / "asked").string()}},
        {"metrics", {{"level", {{"better", "higher"}}}}}};
    spec.merge_patch(more);
    write("scorers/gauge/scorer.json", spec);
    tell({{"else", 0}});
  }
  void tell(const Json& answers) { write("answers.json", answers); }

  /// Laid over the table.
  void change_table(const Json& changes) {
    auto table = read_json(folder() / "small.json");
    table.merge_patch(changes);
    write("small.json", table);
  }

  /// Reproduces, and every image has its value.
  void expect_unharmed() {
    const auto outcome = run(kReproduce);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto found = levels();
    EXPECT_EQ(found.size(), 20u);
    for (const auto& level : found) expect_own_value(level);
  }

  /// What is stored of `level`, image by image.
  std::vector<LevelRow> levels() {
    const auto stored = rows(R"sql(
      SELECT e.folder, s.path, m.value, coalesce(m.reason, '') AS reason FROM metrics m
      JOIN evaluations e ON e.id = m.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id
      JOIN samples s ON s.evaluation_id = m.evaluation_id AND s.prompt_id = m.prompt_id AND s.sample = m.sample
      WHERE m.name = 'level' ORDER BY c.step, e.split, s.id)sql");
    std::vector<LevelRow> levels;
    for (const auto& row : stored) {
      const auto& value = row.at("value");
      levels.push_back({folder() / row.at("folder").get<std::string>() / row.at("path").get<std::string>(),
                        value.is_null() ? std::nullopt : std::optional(value.get<double>()),
                        row.at("reason").get<std::string>()});
    }
    return levels;
  }
};

TEST(ExternalScorer, ItsMetricsAreComputedForEveryImageAndStandInTheTable) {
  ScorerPlace place;
  place.add_scorer({"good"});
  place.ok(kReproduce,
           {"Level ↓", "mean byte (external scorer gauge version 1)", "gauge v1 profile external files "});
  const auto levels = place.levels();
  EXPECT_EQ(levels.size(), 20u);
  for (const auto& level : levels) expect_own_value(level);
  const auto compared = place.json({"compare", "base", "ratio-norm", "--metric", "level", "--json"});
  EXPECT_EQ(compared.at("comparisons").at(0).at("n"), 6);
}

TEST(ExternalScorer, DoctorLetsItAnswerAndListsNameIt) {
  ScorerPlace place;
  place.add_scorer({"good"});
  place.add_scorer({"exits at start"}, Json::object(), "broken");
  const auto findings = place.json({"doctor", "--scorers", "scorers", "--json"}).at("findings");
  EXPECT_EQ(entry(findings, {{"name", "scorer gauge"}, {"found", true}}).at("detail"),
            "external, version 1, answers with level");
  const auto broken = entry(findings, {{"name", "scorer broken"}, {"found", false}});
  EXPECT_THAT(broken.at("detail").get<std::string>(), HasSubstr("No module named"));
  fs::remove_all(place.folder() / "scorers/broken");
  place.ok({"list", "evaluators", "--scorers", "scorers"}, {"--scorers DIR: DIR/gauge (external)"});
  place.ok({"list", "metrics", "--scorers", "scorers"}, {"mean byte"});
  place.ok({"list", "tasks", "--scorers", "scorers"}, {"minimize:level"});
}

TEST(ExternalScorer, ImagesMayComeAsFilesWhichAreGoneAfterwards) {
  ScorerPlace place;
  place.add_scorer({"good"}, {{"images", "path"}, {"processes", 2}});
  place.expect_unharmed();
  for (const auto& entry : fs::recursive_directory_iterator(place.folder() / "runs"))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("images-for-gauge")));
}

TEST(ExternalScorer, WithoutItsFolderATableThatNamesItsMetricShowsADashAndWhy) {
  ScorerPlace place;
  place.change_table({{"metrics", {{"optional", {"pickscore", "clip_score", "level"}}}}});
  place.ok(kWithoutScorers);
  EXPECT_THAT(place.csv("SELECT DISTINCT not_run FROM evaluations"),
              HasSubstr("no scorer under --scorers DIR gives it"));
  EXPECT_TRUE(place.levels().empty());
}

TEST(ExternalScorer, ARequiredMetricThatNoScorerGivesStopsThePlan) {
  ScorerPlace place;
  auto table = read_json(place.folder() / "small.json");
  table["metrics"] = {{"required", {"ocr_reward", "cer", "level"}}, {"optional", nullptr}};
  table["columns"] = {{{"name", "ocr_reward"}}, {{"name", "level"}}};
  place.write("small.json", table);
  place.fails(2, kWithoutScorers, {"the required metric \"level\"", "--scorers DIR"});
  place.add_scorer({"good"});
  place.ok(kReproduce);
  EXPECT_EQ(place.levels().size(), 20u);
}

struct Failure {
  const char* way;
  const char* argument;
  const char* reason;  ///< a part of it
};

void PrintTo(const Failure& failure, std::ostream* out) {
  *out << failure.way;
}

class FailingScorer : public testing::TestWithParam<Failure> {};

TEST_P(FailingScorer, CostsTheImagesThatItFailsOnAndNoOther) {
  const auto& failure = GetParam();
  ScorerPlace place;
  // Only where the time counts is it short: a busy machine keeps a sound answer waiting.
  const bool is_timed = std::string(failure.reason).find("1500 ms") != std::string::npos;
  place.add_scorer({std::string(failure.way) + ":every=3", failure.argument},
                   {{"deadline_seconds", is_timed ? 1.5 : 60}});
  const auto outcome = place.ok(kReproduce);
  const auto levels = place.levels();
  ASSERT_EQ(levels.size(), 20u);
  int failed = 0;
  for (const auto& level : levels) {
    if (first_byte(level) % 3 != 0) {
      expect_own_value(level);
      continue;
    }
    ++failed;
    EXPECT_FALSE(level.value.has_value()) << *level.value;
    EXPECT_THAT(level.reason, HasSubstr(failure.reason));
    EXPECT_THAT(level.reason, Not(HasSubstr("\n")));
    EXPECT_LT(level.reason.size(), 500u);
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 20);
  EXPECT_THAT(outcome.out, HasSubstr("A scorer failed there. Reasons: `harness query failures`."));
}

INSTANTIATE_TEST_SUITE_P(
    EveryWay, FailingScorer,
    testing::Values(
        Failure{"crashes", "", "the scorer ended by signal 11"},
        Failure{"exits", "", "ended with status 3; its last message was \"RuntimeError: CUDA out of"},
        Failure{"hangs", "", "no answer within 1500 ms"}, Failure{"late", "1.52", "no answer within 1500 ms"},
        Failure{"garbage", "", "unreadable answer"}, Failure{"NaN", "", "is \"NaN\", which is no number"},
        Failure{"Infinity", "", "is \"Infinity\", which is no number"},
        Failure{"-Infinity", "", "is \"-Infinity\", which is no number"},
        Failure{"text", "", "is \"0.5\", which is no number"},
        Failure{"null", "", "is \"null\", which is no number"},
        Failure{"nothing", "", "the answer holds no \"level\""},
        Failure{"error", "", "\"the image is\\u000aempty\\u001b[2J\""},
        Failure{"huge line", "", "a line of more than 1 MiB"},
        Failure{"endless line", "", "a line of more than 1 MiB"},
        Failure{"next id", "", "it answers another image"}, Failure{"no id", "", "\"id\" is missing"},
        Failure{"huge", "1.7e308", "is 1.7e+308, which is beyond the limit of 1e+100 either way"},
        Failure{"huge", "-1e101", "is -1e+101, which is beyond the limit"}));

TEST(ExternalScorer, AnAnswerThatComesTwiceOrBeforeItsRequestIsNeverTakenForAnother) {
  for (const char* way : {"twice", "twice:every=3", "ahead", "ahead:every=2"}) {
    ScorerPlace place;
    place.add_scorer({way}, {{"processes", way[0] == 'a' ? 2 : 1}});
    place.expect_unharmed();
  }
  ScorerPlace place;
  place.add_scorer({"guesses"});
  place.fails(2, kReproduce, {"it answers another image"});
}

TEST(ExternalScorer, HugeNumbersThatAnEarlierVersionStoredLeaveATableWithADashAndItsReason) {
  ScorerPlace place;
  place.add_scorer({"good"});
  place.ok(kReproduce);
  // As that version left it: the experiment is recorded, and its comparisons could not be computed.
  place.sql(
      "UPDATE metrics SET value = 1.7976931348623157e308 * (prompt_id % 2 * 2 - 1) WHERE name = 'level'; "
      "DELETE FROM comparisons");
  place.ok(kReproduce, {"12 of them are beyond \u00b11e+100: no standard deviation can be computed"});
  for (const char* interval : {"percentile", "bca", "studentised"}) {
    const auto compared =
        place.json({"compare", "base", "ratio-norm", "--metric", "level", "--interval", interval, "--json"});
    EXPECT_EQ(compared.at("comparisons").at(0).at("n"), 0);
    EXPECT_EQ(compared.at("comparisons").at(0).at("n_missing"), 6);
    EXPECT_TRUE(compared.at("comparisons").at(0).at("delta").is_null());
  }
  place.ok({"report"});
  EXPECT_LE(place.run({"check"}).status, 1) << "it may find that the rows are not those of the logs";
}

TEST(ExternalScorer, EndlessMessagesNeitherBlockItNorFillTheDisk) {
  ScorerPlace place;
  place.add_scorer({"floods messages"});
  place.expect_unharmed();
  for (const auto& entry : fs::recursive_directory_iterator(place.folder() / "runs")) {
    if (entry.path().filename() == "worker.log") {
      EXPECT_LT(entry.file_size(), 100'000u) << entry.path();
    }
  }
}

TEST(ExternalScorer, IsGivenUpAfterItsRestartsWithOneReasonInEveryEvaluation) {
  ScorerPlace place;
  place.add_scorer({"hangs"}, {{"deadline_seconds", 1}, {"restarts", 1}});
  const auto outcome = place.ok(kReproduce);
  const std::string given_up =
      "scorer gauge was given up after 1 restart; the last failure: no answer within 1000 ms";
  int own = 0, after = 0;
  for (const auto& level : place.levels()) {
    EXPECT_FALSE(level.value.has_value());
    (level.reason == given_up ? after : own) += 1;
    if (level.reason != given_up) {
      EXPECT_EQ(level.reason, "no answer within 1000 ms");
    }
  }
  EXPECT_EQ(own, 4 * 2) << "two images in each of four evaluations";
  EXPECT_EQ(after, 20 - 4 * 2);
  EXPECT_THAT(outcome.out, HasSubstr("Scorer gauge was given up after 1 restart"));
}

/// What /proc says of a process behind its name: " S PARENT ..."; empty if there is none.
std::string stat_of(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 1);
}

bool is_alive(pid_t pid) {
  const auto stat = stat_of(pid);
  return !stat.empty() && !stat.starts_with(" Z");
}

std::vector<pid_t> pids_in(const fs::path& file) {
  std::ifstream lines(file);
  return {std::istream_iterator<pid_t>(lines), {}};
}

TEST(ExternalScorer, ProcessesThatItLeavesBehindEndWithIt) {
  struct Way {
    const char *name, *reason;
    std::size_t processes;  ///< at least
  };
  for (const auto& way : {Way{"daemonizes and crashes:every=2", "ended by signal 11", 8},
                          Way{"leaves grandchildren:every=2", "ended with status 1", 15}}) {
    SCOPED_TRACE(way.name);
    ScorerPlace place;
    const auto pids = place.folder() / "pids";
    place.add_scorer({way.name, pids.string()});
    place.ok(kReproduce);
    for (const pid_t pid : pids_in(pids)) EXPECT_FALSE(is_alive(pid)) << pid;
    EXPECT_GE(pids_in(pids).size(), way.processes);
    for (const auto& level : place.levels()) {
      if (first_byte(level) % 2 == 0) {
        EXPECT_THAT(level.reason, HasSubstr(way.reason));
      }
    }
  }
}

/// A `reproduce` whose scorer hangs on an image and waits for as long as it likes, beside a process that it
/// daemonized.
class HangingScorer : public ScorerPlace {
 public:
  HangingScorer() {
    add_scorer({"hangs once", pids_.string()}, {{"deadline_seconds", 600}});
    harness = start(kReproduce);
    if (!wait_until([&] { return pids_in(pids_).size() == 2; })) return;
    const auto found = pids_in(pids_);
    keeper = found[1];
    worker = std::stoi(stat_of(keeper).substr(3));
    left_ = pids_in(pids_.string() + ".daemon");
    left_.push_back(found[0]);
  }
  ~HangingScorer() {
    for (const pid_t pid : left_) ::kill(pid, SIGKILL);
  }

  pid_t harness = 0, worker = 0, keeper = 0;

  bool scorer_is_alive() const { return std::ranges::all_of(left_, is_alive) && left_.size() == 2; }
  bool scorer_is_gone_soon() const {
    return wait_until([&] { return std::ranges::none_of(left_, is_alive); });
  }

 private:
  fs::path pids_ = folder() / "pids";
  std::vector<pid_t> left_;
};

TEST(ExternalScorer, OneThatHangsEndsWithItsWorkerHarnessOrKeeper) {
  struct Blow {
    const char* name;
    std::vector<std::pair<pid_t HangingScorer::*, int>> signals;
  };
  const std::vector<Blow> blows = {
      {"worker killed", {{&HangingScorer::worker, SIGKILL}}},
      {"both killed", {{&HangingScorer::harness, SIGKILL}, {&HangingScorer::worker, SIGKILL}}},
      {"two signals", {{&HangingScorer::harness, SIGINT}, {&HangingScorer::harness, SIGINT}}},
      {"keeper ended", {{&HangingScorer::keeper, SIGTERM}}}};
  for (const auto& [name, signals] : blows) {
    SCOPED_TRACE(name);
    HangingScorer place;
    ASSERT_TRUE(place.scorer_is_alive());
    for (const auto& [process, signal] : signals) {
      ::kill(place.*process, signal);
      // The second signal of two that come together would not be told from the first.
      if (signal == SIGINT) {
        EXPECT_TRUE(
            wait_until([&] { return place.written("err").find("interrupt again") != std::string::npos; }));
      }
    }
    place.wait(place.harness);
    EXPECT_TRUE(place.scorer_is_gone_soon());
    if (name == std::string("keeper ended")) {
      const auto is_missing = [](const LevelRow& row) { return !row.value; };
      EXPECT_EQ(std::ranges::count_if(place.levels(), is_missing), 1) << "the image that it hung on";
    }
    place.ok(kReproduce);
  }
}

TEST(ExternalScorer, OneThatCannotWorkStopsThePlanBeforeAnythingRuns) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"exits at start"}, "its last message was \"ModuleNotFoundError: No module named 'torch'\""},
      {{"refuses"}, "weights.bin: missing"},
      {{"other version"}, "version \"2\", and \"gauge\" version \"1\" was expected"},
      {{"never reads"}, "no answer within 300 ms"}};
  for (const auto& [arguments, reason] : cases) {
    SCOPED_TRACE(arguments[0]);
    ScorerPlace place;
    place.add_scorer(arguments, {{"deadline_seconds", 0.3}});
    for (const bool dry : {true, false}) {
      place.fails(2, dry ? with(kReproduce, {"--dry-run"}) : kReproduce,
                  {"scorers/gauge/scorer.json", reason});
    }
    EXPECT_EQ(place.count("jobs"), 0);
  }
}

TEST(ExternalScorer, AScriptWhoseFirstLineIsAtFaultIsToldWhatMendsIt) {
  const std::string body = "exec python3 gauge.py good\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"#!/bin/sh\r\n" + body, "cannot be started: its first line ends with a carriage return"},
      {"#!/usr/bin/env sh\r\n" + body, "its first line ends with a carriage return, as Windows ends lines"},
      {"#!/usr/bin/no-such-python\n" + body,
       R"(cannot be started: its first line names "/usr/bin/no-such-python", which is not there)"},
      {"\xef\xbb\xbf#!/bin/sh\nexit 3\n", "its first line begins with a byte order mark"}};
  for (const auto& [script, said] : cases) {
    SCOPED_TRACE(said);
    ScorerPlace place;
    place.add_scorer({}, {{"command", {"./run.sh"}}});
    const auto file = place.folder() / "scorers/gauge/run.sh";
    place.write_text("scorers/gauge/run.sh", script);
    place.fails(2, with(kReproduce, {"--dry-run"}), {"./run.sh", "Permission denied", "`chmod +x "});
    fs::permissions(file, fs::perms::owner_all);
    for (const bool dry : {true, false})
      place.fails(2, dry ? with(kReproduce, {"--dry-run"}) : kReproduce, {said});
    EXPECT_EQ(place.count("jobs"), 0);
    if (said.find("carriage") == std::string::npos) continue;
    EXPECT_EQ(shell(fmt::format("sed -i 's/\\r$//' {}", file.string())).status, 0) << "as the message says";
    place.expect_unharmed();
  }
}

TEST(ExternalScorer, ANameInItsFilesThatIsNotUtf8IsRefusedBeforeAnythingRuns) {
  ScorerPlace place;
  place.add_scorer({"good"}, {{"files", {"data"}}});
  place.write_text("scorers/gauge/data/b\xff.txt", "x");
  for (const bool dry : {true, false})
    place.fails(2, dry ? with(kReproduce, {"--dry-run"}) : kReproduce,
                {"scorers.gauge.files", "b\\xff.txt\" is not valid UTF-8; rename it"});
  EXPECT_FALSE(fs::exists(place.folder() / "runs/journal.log"));
}

TEST(ExternalScorer, AFileThatItsAnswersMayDependOnMakesNewEvaluationsAndNoNewTraining) {
  ScorerPlace place;
  place.add_scorer({"good"}, {{"files", {"data"}}});
  fs::create_directories(place.folder() / "scorers/gauge/data");
  const auto evaluations_after = [&] {
    place.ok(kReproduce);
    return place.count("evaluations");
  };
  EXPECT_EQ(evaluations_after(), 4);
  EXPECT_EQ(evaluations_after(), 4);
  const auto append = [&](const char* file) {
    std::ofstream(place.folder() / "scorers/gauge" / file, std::ios::app) << "\n";
  };
  append("data/weights.bin");
  EXPECT_EQ(evaluations_after(), 8);
  append("gauge.py");
  EXPECT_EQ(evaluations_after(), 12);
  append("scorer.json");
  EXPECT_EQ(evaluations_after(), 16);
  append("notes.txt");
  EXPECT_EQ(evaluations_after(), 16);
  EXPECT_EQ(place.count("runs"), 2);
}

TEST(ExternalScorer, TwoMetricsOfOneNameAreRefused) {
  ScorerPlace place;
  place.add_scorer({"good"});
  place.add_scorer({"good"}, Json::object(), "other");
  EXPECT_THAT(place.run(kReproduce).err, HasSubstr("\"level\" is already a metric of gauge"));
  place.add_scorer({"good"}, {{"metrics", {{"level", nullptr}, {"cer", {{"better", "lower"}}}}}}, "other");
  EXPECT_THAT(place.run(kReproduce).err, HasSubstr("\"cer\" is already a metric of ocr"));
  place.add_scorer({"good"}, {{"metrics", {{"level", nullptr}, {"geneval_score", {{"better", "higher"}}}}}},
                   "other");
  place.fails(2, kReproduce, {"\"geneval_score\" is already a metric of geneval"});
}

TEST(ExternalScorer, MayBeATrainingRewardOfATable) {
  ScorerPlace place;
  place.change_table({{"task", "minimize:level"}});
  place.fails(2, kWithoutScorers, {"no external scorer gives the metric of the task \"minimize:level\""});
  place.add_scorer({"good"});
  place.ok(kReproduce);
  EXPECT_THAT(place.csv("SELECT DISTINCT task FROM runs"), HasSubstr("minimize:level"));
}

TEST(ExternalScorer, AnOptionalMetricThatTheTestImageHasNoValueOfIsNotRunAndTheTableSaysWhy) {
  ScorerPlace place;
  place.add_told_scorer();
  place.tell({{"else", 0}, {"test image", "Connection refused"}});
  place.ok(with(kReproduce, {"--dry-run"}), {"scorer gauge gives no value of a test image"});
  place.ok(kReproduce,
           {"scorer gauge gives no value of a test image: the scorer reports: Connection refused"});
  EXPECT_TRUE(place.levels().empty());
  EXPECT_FALSE(fs::exists(place.folder() / "asked"));
  place.ok(kReproduce);
  EXPECT_EQ(place.count("evaluations"), 4) << "that were made already";
  // It is a scorer more once it is well, and stops what has begun with it when it is ill again.
  place.tell({{"else", 0}});
  place.ok(kReproduce);
  EXPECT_EQ(place.levels().size(), 20U);
  place.tell({{"else", 0}, {"test image", "Connection refused"}});
  place.ok(kReproduce);
  place.fails(2, with(kReproduce, {"--seeds", "42,43"}),
              {"evaluations with this metric have begun: repeat the command once it answers"});
}

TEST(ExternalScorer, ARewardThatTheTestImageHasNoValueOfStopsThePlan) {
  ScorerPlace place;
  place.add_told_scorer();
  place.change_table({{"task", "maximize:level"}});
  place.tell({{"else", 0}, {"test image", nullptr}});
  place.fails(2, kReproduce, {"gives no level of a test image: the answer's \"level\" is \"null\""});
  EXPECT_EQ(place.count("jobs"), 0);
}

/// A table that selects one of two checkpoints by `level` on 40 prompts.
class SelectingPlace : public ScorerPlace {
 public:
  SelectingPlace() {
    add_told_scorer();
    const Json scale = {{"checkpoints", {2, 4}},
                        {"limit", {{"validation", 40}, {"test", 6}}},
                        {"settings", {{"updates", 4}}}};
    change_table({{"metrics", {{"required", {"level"}}, {"optional", nullptr}}},
                  {"columns", {{{"name", "level"}}}},
                  {"selection", {{"metric", "level"}}},
                  {"scales", {{"smoke", scale}}}});
  }

  std::string selection() {
    return csv(
        "SELECT c.step, s.value FROM selections s JOIN checkpoints c ON c.id = s.checkpoint_id WHERE "
        "s.rule <> 'fixed'");
  }

  /// The first byte of a validation image of a checkpoint that no other image has.
  std::string byte_of(int step) {
    std::map<int, int> seen;
    int found = -1;
    for (const auto& row :
         rows("SELECT e.folder, s.path, e.split, c.step FROM samples s JOIN evaluations e ON e.id "
              "= s.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id"))
      ++seen[first_byte(
          {folder() / row.at("folder").get<std::string>() / row.at("path").get<std::string>(), {}, ""})];
    for (const auto& row :
         rows(fmt::format("SELECT e.folder, s.path FROM samples s JOIN evaluations e ON e.id = "
                          "s.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id WHERE "
                          "c.step = {} AND e.split = 'validation'",
                          step))) {
      const auto byte = first_byte(
          {folder() / row.at("folder").get<std::string>() / row.at("path").get<std::string>(), {}, ""});
      if (seen.at(byte) == 1) found = byte;
    }
    return std::to_string(found);
  }
};

TEST(ExternalScorer,
     WhereMissingValidationScoresChangeTheSelectionTheNewCheckpointIsTestedAndTheTableSaysSo) {
  SelectingPlace place;
  place.ok(kReproduce);
  const auto best = place.byte_of(2), second = place.byte_of(4);
  ASSERT_NE(best, "-1");
  ASSERT_NE(second, "-1");
  fs::remove_all(place.folder() / "runs");
  const Json values = {{"else", 0}, {best, 100}, {second, 50}};
  auto ill = values;
  ill[best] = "connection refused";
  place.tell(ill);
  place.fails(1, kReproduce, {"1 required score is missing"});
  EXPECT_THAT(place.selection(), HasSubstr("\n4,"));
  place.tell(values);
  const std::string told = "checkpoint 2 is selected. While validation scores were missing, checkpoint 4 was";
  place.ok(kReproduce, {told}, {told});
  EXPECT_EQ(place.selection(), "step,value\n2,2.5\n");
  EXPECT_EQ(place.count("evaluations WHERE split = 'test'"), 3) << "of base and both checkpoints";
  place.ok({"check"});
  place.ok({"db", "check"});
  place.ok({"db", "rebuild"});
  EXPECT_EQ(place.selection(), "step,value\n2,2.5\n");
  place.ok({"check"});
  place.ok({"export", "2", "-o", "two.tar.zst"});
  place.ok({"import", "two.tar.zst", "--out", "there"});
}

TEST(ExternalScorer, WhereTheSelectionStaysItsMeanIsThatOfAllScores) {
  SelectingPlace place;
  place.ok(kReproduce);
  const auto other = place.byte_of(4);
  fs::remove_all(place.folder() / "runs");
  place.tell({{"else", 1}, {other, "connection refused"}});
  place.fails(1, kReproduce, {"1 required score is missing"});
  place.tell({{"else", 1}, {other, 0}});
  place.ok(kReproduce);
  EXPECT_EQ(place.selection(), "step,value\n2,1\n");
  EXPECT_EQ(place.count("reproductions"), 1);
  place.ok({"check"});
  place.ok({"db", "check"});
}

TEST(ExternalScorer, TheExampleAnswersAndItsNumbersAreRight) {
  ScorerPlace place;
  fs::create_directories(place.folder() / "scorers");
  fs::copy(fs::path(HARNESS_SOURCE_DIR) / "scripts/example-scorer", place.folder() / "scorers",
           fs::copy_options::recursive);
  place.ok(kReproduce, {"Brightness", "Contrast"});
  const auto rows = place.rows(R"sql(
    SELECT e.folder, s.path, b.value AS brightness, c.value AS contrast
    FROM metrics b JOIN metrics c USING (evaluation_id, prompt_id, sample)
    JOIN samples s USING (evaluation_id, prompt_id, sample) JOIN evaluations e ON e.id = evaluation_id
    WHERE b.name = 'brightness' AND c.name = 'contrast')sql");
  EXPECT_EQ(rows.size(), 20u);
  for (const auto& row : rows) {
    const auto image =
        read_png(place.folder() / row.at("folder").get<std::string>() / row.at("path").get<std::string>());
    EXPECT_NEAR(row.at("brightness").get<double>(), image.rgb.at(0) / 255.0, 1e-12);
    EXPECT_NEAR(row.at("contrast").get<double>(), 0, 1e-9);
  }
}

}  // namespace
}  // namespace harness::test
