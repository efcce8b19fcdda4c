#include <fmt/format.h>

#include <set>

#include "core/text.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::IsSupersetOf;
using ::testing::Not;

using CommandLine = SmokeTest;
using DryRun = SmokeTest;
using Inputs = SmokeTest;

/// Runs the words of a line, which must be refused with this text.
void expect_refused(const std::string& line, const std::string& text) {
  static Workplace place;
  const auto outcome = place.fails(2, line.empty() ? Words() : split(line, ' '), {text});
  EXPECT_EQ(outcome.out, "") << line;
}

// Others stand in the snapshot of the main error messages, word for word.
TEST_F(CommandLine, UnknownNamesGetTheNearestKnownOneAndStatus2) {
  expect_refused("reproduce --table sd35-ocr --backbone glyhp", R"(did you mean "glyph"?)");
  expect_refused("reproduce --table sd35-ocr --set dual.beta_mx=4", R"(did you mean "beta_max"?)");
  expect_refused("datasets splt", R"(did you mean "split"?)");
}

TEST_F(CommandLine, AValueOfTheWrongKindIsNamedWithWhatIsWanted) {
  const std::string reproduce = "reproduce --table sd35-ocr ";
  expect_refused(reproduce + "--set lr=nan", R"(setting lr must be a number between 0 and 1, not "nan")");
  expect_refused(reproduce + "--seeds 42,42", "seed 42 is named twice");
  expect_refused(reproduce + "--seeds 4294967296", "is not a seed");
  expect_refused(reproduce + "--seeds -1", "");
  expect_refused("sample b --guidance nan", "--guidance: nan is not a guidance scale");
  expect_refused("verify --images 0", "error: --images: must be 1 or more");
  expect_refused("verify --images -3", R"(--images: must be a whole number, 0 or more, not "-3")");
  expect_refused("verify --sample-seed -1", "--sample-seed: -1 is not a seed");
  expect_refused("datasets split --seed -1", "--seed: must be a whole number, 0 or more");
  expect_refused("pretrain glyph --seed -1", "--seed: -1 is not a seed");
  expect_refused("sample b --seed 1.5", R"(--seed: must be a whole number, not "1.5")");
  expect_refused("sample b --steps 2.5", R"(--steps: must be a whole number, not "2.5")");
  expect_refused("grid -n ", "-n: is empty; give a value");
  expect_refused("grid -n 0", "error: -n: must be 1 to 200");
  expect_refused("table --db", "harness table: needs a value: --db FILE");
  for (const char* threads : {"0", "100000"})
    expect_refused(std::string("pretrain glyph --threads ") + threads, "error: --threads: must be 1 to 1024");
  expect_refused("sample b -o x.jpg", "images are written as PNG");
  expect_refused("list settings --scale smoke", "needs a table");
  expect_refused("list runs --table sd35-orc", R"(did you mean "sd35-ocr"?)");
  expect_refused("compare --experiment two",
                 R"(harness compare: --experiment: must be a whole number, not "two")");
  expect_refused("datasets split --seed abc", R"(--seed: must be a whole number, 0 or more, not "abc")");
  expect_refused("sample b --guidance strong", R"(--guidance: must be a number, not "strong")");
}

TEST_F(CommandLine, ANumberIsPlainDecimalAndOfItsRange) {
  const std::string split = "datasets split --of 20 --take 3 --seed ";
  for (const char* seed : {"010", "0x10", "18446744073709551616", "1e3"})
    expect_refused(split + seed,
                   "--seed: must be a whole number, 0 or more, not \"" + std::string(seed) + "\"");
  EXPECT_EQ(ok({"datasets", "split", "--of", "20", "--take", "3", "--seed", "10"}).status, 0);
  expect_refused("table --experiment 99999999999999999999", "--experiment: must be a whole number");
}

TEST_F(CommandLine, OptionsThatContradictEachOtherAndNamesThatComeTwiceAreRefused) {
  for (const Words& command : {Words{"query", "x"}, Words{"table", "sd35-ocr"}})
    fails(2, with(command, {"--json", "--format", "csv"}), {}, {"--json and --format contradict each other"});
  expect_refused("datasets split --of 9 --first 3 --take 4", "--first and --take contradict each other");
  expect_refused("datasets split --of 9 --first 3 --seed 4", "--first and --seed contradict each other");
  expect_refused("table sd35-ocr --columns cer,jpeg_kb,cer", R"(--columns: "cer" is named twice)");
  expect_refused("grid sd35-ocr --pick wins,wins", R"(--pick: "wins" is named twice)");
  expect_refused("power --table sd35-ocr --alpha 1e-300", "--alpha: 1e-300 is too close to 0 or 1");
}

TEST_F(CommandLine, AnEmptyValueIsNoneWhateverTheOption) {
  for (const std::string name : {"--weights", "--prompts", "--backbone", "--split", "--scorers"})
    fails(2, {"reproduce", "--table", "sd35-ocr", "--dry-run", name, ""},
          {name + ": is empty; give a value, or leave it out"});
  fails(2, {"sample", "b", "--seed", ""}, {"--seed: is empty"});
}

TEST_F(CommandLine, AWorkspaceThatCannotBeWrittenIsStatus2) {
  expect_refused("reproduce --table sd35-ocr --out /proc/none", "choose a place that you can write to");
}

TEST_F(CommandLine, UnderJsonAnErrorIsOneDocumentOnStdout) {
  const auto error = place.json({"reproduce", "--table", "sd35-orc", "--json"}, 2).at("error");
  EXPECT_EQ(error.at("where"), "--table");
  EXPECT_EQ(error.at("hint"), R"(did you mean "sd35-ocr"?)");
}

TEST_F(CommandLine, HelpIsACommandToo) {
  const auto help = ok({"help"});
  EXPECT_EQ(help.out, place.run({"--help"}).out);
  EXPECT_EQ(place.run({"help", "compare"}).out, place.run({"compare", "--help"}).out);
  EXPECT_EQ(place.run({"help", "datasets", "split"}).out, place.run({"datasets", "split", "--help"}).out);
  expect_refused("help comprae", R"(unknown command "comprae"; did you mean "compare"?)");
  expect_refused("help compare dual", R"(harness compare: unknown command "dual")");
  EXPECT_EQ(ok({}).out, help.out) << "without any word";
}

TEST_F(CommandLine, HelpGroupsCommandsByWhatTheyAreForAndOptionsThatChooseAnExperiment) {
  const auto lines = split(ok({"help"}).out, '\n');
  std::map<std::string, std::set<std::string>> groups;
  std::string heading;
  for (const auto& line : lines) {
    if (line.ends_with(':') && !line.starts_with(' ')) heading = line;
    if (line.starts_with("  ") && !line.starts_with("   "))
      groups[heading].insert(line.substr(2, line.find(' ', 2) - 2));
  }
  EXPECT_THAT(groups["Run:"], IsSupersetOf({"reproduce", "sample"}));
  EXPECT_THAT(groups["Look:"], IsSupersetOf({"table", "compare"}));
  EXPECT_THAT(groups["Check:"], IsSupersetOf({"check", "verify"}));
  EXPECT_THAT(groups["Manage:"], IsSupersetOf({"list", "runs"}));
  const auto table = ok({"help", "table"}).out;
  const auto group = table.find("\nWhich experiment (default: the last completed one):\n");
  ASSERT_NE(group, std::string::npos);
  EXPECT_LT(group, table.find("  --backbone NAME ")) << table;
  EXPECT_LT(group, table.find("  --seeds LIST ")) << table;
}

TEST_F(CommandLine, OfAGroupAloneFailsBelowItsHelp) {
  const auto outcome =
      fails(2, {"runs"}, {"Usage: harness runs COMMAND", "no command given; commands: show, rm"});
  EXPECT_EQ(outcome.out, "");
}

TEST_F(CommandLine, WhatIsLeftOutIsNamedAsTheHelpNamesIt) {
  for (const char* command : {"reproduce", "power"})
    expect_refused(command, std::string("harness ") + command + ": a table is required; name one");
  expect_refused("compare", "harness compare: BASELINE is required: ");
  expect_refused("reproduce --tabel sd35-ocr", R"(unknown option "--tabel"; did you mean "--table"?)");
}

TEST_F(CommandLine, AListTakesNoMoreThanItsWordSoThatAnArgumentMayFollow) {
  for (const char* line : {"table --seeds 42 sd35-ocr", "table --seeds 42, 43 sd35-ocr",
                           "table --seeds=42 , 43 sd35-ocr", "grid --pick wins, losses sd35-ocr"})
    expect_refused(line, "there is no results database");
  expect_refused("table --seeds 42 sd35-ocr more", R"(unexpected argument "more")");
}

TEST_F(CommandLine, AnOptionOfOtherCommandsIsAnsweredWithWhatItMeansHere) {
  expect_refused("table --output x", "-o/--out DIR names the workspace");
}

TEST_F(CommandLine, AnOptionThatAListDoesNotReadIsRefusedAndANameThatItReadsIsChecked) {
  expect_refused("list tables --backbone glyph",
                 "harness list tables: --backbone has no meaning for this list");
  expect_refused("list metrics --scale smoke", "--scale has no meaning");
  for (const char* what : {"settings", "runs", "experiments"})
    expect_refused(std::string("list ") + what + " --backbone glyhp", R"(did you mean "glyph"?)");
  EXPECT_EQ(place.json({"list", "runs", "--backbone", "glyph", "--json"}).size(), 0u);
}

TEST_F(CommandLine, ATableIsAnArgumentOrAnOptionOfEveryCommandThatRunsOrPlansOne) {
  const auto ids = job_ids(place, kSmoke);
  EXPECT_EQ(job_ids(place, {"reproduce", "sd35-ocr", "--scale", "smoke"}), ids);
  EXPECT_EQ(job_ids(place, {"reproduce", "--seeds", "42", "sd35-ocr", "--scale", "smoke"}), ids);
  EXPECT_EQ(job_ids(place, {"reproduce", "sd35-ocr", "--table", "sd35-ocr", "--scale", "smoke"}), ids);
  expect_refused("reproduce sd35-ocr --table calibration", "sd35-ocr and --table calibration are two tables");
  expect_refused("reproduce sd35-orc", R"(did you mean "sd35-ocr"?)");
  EXPECT_EQ(ok({"power", "sd35-ocr"}).out, ok({"power", "--table", "sd35-ocr"}).out);
}

TEST_F(CommandLine, WhereATableMayStandANumberIsThatOfAnExperiment) {
  for (const char* seed : {"42", "43"}) ok(smoke({"--seeds", seed}));
  const auto first = ok({"table", "1"}).out;
  EXPECT_EQ(first, ok({"table", "sd35-ocr", "--experiment", "1"}).out);
  EXPECT_NE(first, ok({"table", "2"}).out);
  for (const char* command : {"check", "report", "grid"}) ok({command, "1"}, {}, {"experiment 1"});
  ok({"figure", "validation", "--table", "1"}, {}, {"experiment 1"});
  fails(2, {"check", "9"}, {"no completed experiment fits --experiment 9; there are:"});
  fails(2, {"check", "1", "--experiment", "2"}, {"1 and --experiment 2 are two experiments"});
}

TEST_F(CommandLine, EveryCommandThatLooksTakesTheWorkspaceByItsFolder) {
  ok(smoke({"--out", "elsewhere"}));
  for (const Words& command : {Words{"table"}, {"check"}, {"report"}, {"grid"}, {"figure", "validation"}}) {
    ok(with(command, {"--out", "elsewhere"}));
    ok(with(command, {"--db", "elsewhere/results.sqlite"}));
    fails(2, command, {"runs/results.sqlite"});
  }
  ok({"report", "--out", "elsewhere", "-o", "mine.html"}, {"mine.html"});
}

TEST_F(CommandLine, ListSettingsShowsThoseOfChosenMethods) {
  for (const auto& row : place.json({"list", "settings", "--methods", "dual", "--json"}))
    EXPECT_THAT(row.at("name").get<std::string>(), ::testing::StartsWith("dual."));
  EXPECT_EQ(place.json({"list", "settings", "--methods", "dual, ratio-norm", "--json"}),
            place.json({"list", "settings", "--methods", "dual,ratio-norm", "--json"}));
  fails(2, {"list", "settings", "--methods", "daul"},
        {R"(--methods: unknown method "daul"; did you mean "dual"?)"});
  fails(2, {"list", "tables", "--methods", "dual"}, {"--methods has no meaning for this list"});
}

// --- What cannot be recorded as text ---

TEST_F(CommandLine, WordsThatAreNotUtf8AreRefusedByWhatTheyWereGivenFor) {
  place.write_text("p.txt", "a sign \"A\"\nb \"B\"\n");
  const std::string bad = "b\xff";
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"reproduce", bad}, "harness reproduce: ID|FILE"},
      {{"reproduce", "--table", bad + ".json"}, "harness reproduce: --table"},
      {smoke({"--methods", bad}), "--methods"},
      {smoke({"--prompts", bad}), "--prompts"},
      {smoke({"--weights", bad}), "--weights"},
      {smoke({"--set", "lr=" + bad}), "--set"},
      {smoke({"--adapter", "mine=" + bad}), "--adapter"},
      {smoke({"--adapter", bad + "=runs"}), "--adapter"},
      {smoke({"--scorers", bad, "--dry-run"}), "--scorers"},
      {{"score", bad + "=x", "--prompts", "p.txt"}, "harness score: NAME=DIR"},
      {{"score", "a=x", "b=" + bad, "--prompts", "p.txt", "--dry-run"}, "harness score: NAME=DIR"},
      {{"score", "a=x", "b=y", "--prompts", bad}, "--prompts"},
      {{"score", "a=x", "b=y", "--prompts", "p.txt", "--title", bad}, "--title"},
      {{"score", "a=x", "b=y", "--prompts", "p.txt", "--as", bad}, "--as"},
      {{"sample", bad}, "harness sample: PROMPT"},
      {{"sample", "a", "-o", bad + ".png"}, "--output"},
      {{"query", "SELECT '" + bad + "'"}, "harness query: SQL"},
      {{"query", "SELECT :a", "-p", "a", bad}, "--param"},
      {{"table", bad}, "harness table: ID"},
      {{"table", "--columns", "cer," + bad}, "--columns"},
      {{"figure", "validation", "--names", bad}, "--names"},
      {{"export", "1", "-o", bad}, "--output"},
      {{"import", bad}, "harness import"},
      {{"datasets", "verify", bad}, "harness datasets verify"}};
  for (const auto& [command, where] : cases) {
    for (const bool json : {false, true}) {
      if (json && command.front() == "datasets") continue;
      const auto outcome =
          fails(2, json ? with(command, {"--json"}) : command, {where, "is not valid UTF-8"});
      EXPECT_THAT(outcome.err, HasSubstr("b\\xff")) << "it is shown escaped";
      EXPECT_EQ((outcome.out + outcome.err).find('\xff'), std::string::npos);
    }
  }
  EXPECT_FALSE(fs::exists(runs));
}

/// The program in a folder below this one, with a shell's words before it.
Outcome in_folder(Workplace& place, const std::string& folder, const std::string& before,
                  const std::string& words) {
  return shell(
      fmt::format("cd '{}' && {} '{}' {} 2>&1", folder, before, HARNESS_BINARY_DIR "/harness", words),
      {.folder = place.folder(), .environment = place.environment});
}

TEST_F(CommandLine, AWorkingFolderThatIsNotUtf8IsRefusedWhereAPathIsRelativeToIt) {
  const std::string bad = "w\xff";
  fs::create_directories(place.folder() / bad);
  place.write_text(bad + "/p.txt", "a sign \"A\"\nb \"B\"\n");
  const auto expect = [&](const std::string& words, int status, const std::string& said) {
    const auto outcome = in_folder(place, bad, "", words);
    EXPECT_EQ(outcome.status, status) << words << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr(said)) << words;
    EXPECT_THAT(outcome.out, Not(HasSubstr("json.exception"))) << words;
  };
  const auto out = "--out '" + (place.folder() / "elsewhere").string() + "' ";
  expect("reproduce sd35-ocr --scale smoke --dry-run", 2, "is not valid UTF-8");
  expect("reproduce sd35-ocr --scale smoke --dry-run " + out + "--prompts p.txt", 2,
         "harness reproduce: --prompts: ");
  expect("score a=x b=y --dry-run --prompts '" + (place.folder() / bad / "p.txt").string() + "' " + out, 2,
         "--prompts: ");
  expect("status", 2, "is not valid UTF-8");
  expect("list methods", 0, "ratio-norm");
  expect("reproduce sd35-ocr --scale smoke --dry-run " + out, 0, "Rates: ");
  EXPECT_FALSE(fs::exists(place.folder() / bad / "runs"));
}

TEST_F(CommandLine, LinksAndTheEnvironmentMayLeadToWhatIsNotUtf8AndAreRefusedToo) {
  fs::create_directories(place.folder() / "b\xff");
  fs::create_directory_symlink("b\xff", place.folder() / "link");
  place.write_text("p.txt", "a sign \"A\"\nb \"B\"\n");
  const auto refused = [&](const Words& command, const Words& said) {
    const auto outcome = fails(2, command, with(said, {"is not valid UTF-8"}));
    EXPECT_THAT(outcome.err, Not(HasSubstr("json.exception")));
    EXPECT_FALSE(fs::exists(runs));
  };
  refused({"score", "a=link", "b=link", "--prompts", "p.txt", "--dry-run"}, {"link"});
  refused(smoke({"--adapter", "mine=link", "--dry-run"}), {"link"});
  fs::copy(place.share(), place.folder() / "b\xff", fs::copy_options::recursive);
  fs::create_directory_symlink("b\xff/backbones/glyph", place.folder() / "weights");
  refused(smoke({"--weights", "weights", "--dry-run"}), {"--weights"});
  place.environment["HARNESS_PATH"] = (place.folder() / "b\xff").string();
  refused(with(kSmoke, {"--dry-run"}), {"$HARNESS_PATH: "});
}

// --- The system's words ---

TEST_F(CommandLine, AWorkingFolderThatWasDeletedIsNamedWithWhatToDo) {
  for (const char* words :
       {"reproduce sd35-ocr --scale smoke", "table", "status", "score a=x b=y --prompts p.txt",
        "sample 'a \"B\"'", "reproduce sd35-ocr --prompts p.txt"}) {
    fs::create_directories(place.folder() / "gone");
    const auto outcome = in_folder(place, "gone", "rmdir ../gone;", words);
    EXPECT_EQ(outcome.status, 2) << words << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("the working folder was deleted or moved")) << words;
    EXPECT_THAT(outcome.out, HasSubstr("change to a folder that exists (`cd`)")) << words;
  }
}

TEST_F(CommandLine, AnUnknownExperimentIsAnsweredWithTheNearestOnes) {
  for (const char* seed : {"42", "43"}) ok(smoke({"--seeds", seed}));
  fails(2, {"table", "--experiment", "9"},
        {"no completed experiment fits --experiment 9; there are:\n  2: table sd35-ocr, backbone glyph, ",
         "\n  1: table sd35-ocr"});
  const auto message = fails(2, {"table", "--seeds", "43", "--scale", "default"}).err;
  EXPECT_THAT(message, HasSubstr("\n  2: "));
  EXPECT_THAT(message, Not(HasSubstr("\n  1: "))) << "which differs in the seeds as well";
}

TEST_F(CommandLine, ListsAreArraysOfNamedObjects) {
  for (const char* what : {"tables", "methods", "tasks", "backbones", "evaluators", "metrics", "settings",
                           "figures", "runs", "experiments"}) {
    const auto list = place.json({"list", what, "--json"});
    ASSERT_TRUE(list.is_array()) << what;
    for (const auto& item : list) EXPECT_TRUE(item.at("name").is_string()) << what;
  }
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(CommandLine, ListMetricsSaysWhatEachOneIs) {
  const auto metrics = place.json({"list", "metrics", "--json"});
  EXPECT_EQ(entry(metrics, {{"name", "cer"}}).at("summary"), "edit rate");
  EXPECT_EQ(entry(metrics, {{"name", "ocr_reward"}}).at("summary"), "text metrics")
      << "the evaluator's own where it says no more";
}

TEST_F(CommandLine, ListSettingsSaysWhereEachValueComesFrom) {
  const auto settings = place.json({"list", "settings", "--table", "sd35-ocr", "--scale", "smoke", "--json"});
  for (const auto& [name, origin] :
       std::map<std::string, std::string>{{"group_size", "backbone glyph"},
                                          {"prompts_per_epoch", "scale smoke"},
                                          {"lambda-controlled.kappa", "default"}})
    EXPECT_EQ(entry(settings, {{"name", name}}).at("origin"), origin);
}

// CPython 3.11: random.Random(20260501).sample(range(10), 3) and the sorted rest.
TEST_F(CommandLine, DatasetsSplitGivesPythonsSample) {
  const auto split =
      place.json({"datasets", "split", "--seed", "20260501", "--of", "10", "--take", "3", "--json"});
  EXPECT_EQ(split, parse_json(R"({"validation": [1, 8, 3], "test": [0, 2, 4, 5, 6, 7, 9]})", "expected"));
}

TEST_F(CommandLine, ParityAnswersInTheOrderGivenAndFailsOnAnUnknownKind) {
  const auto add_case = [&](const std::string& kind) {
    const auto folder = place.folder() / kind;
    fs::create_directories(folder);
    write_file_atomically(folder / "case.json",
                          Json{{"name", kind}, {"kind", kind}, {"params", Json::object()}}.dump());
    return folder.string();
  };
  const auto known = add_case("sde_step"), unknown = add_case("unknown_kind");
  ok({"parity", known});
  const auto cases = place.json({"parity", unknown, known, "--json"}, 1).at("cases");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].at("kind"), "unknown_kind");
  EXPECT_EQ(cases[0].at("passed"), false);
  EXPECT_EQ(cases[1].at("passed"), true);
}

TEST_F(CommandLine, SampleHandsItsOptionsToTheWorker) {
  const auto request = place.json({"sample", R"(a sign reading "OPEN")", "--seed", "7", "-o", "x.png"});
  EXPECT_EQ(request.at("prompt"), R"(a sign reading "OPEN")");
  EXPECT_EQ(request.at("seed"), 7);
  EXPECT_EQ(request.at("output"), "x.png");
  EXPECT_EQ(request.at("weights"), (place.share() / "backbones/glyph").string());
  EXPECT_FALSE(request.contains("steps"));
}

TEST_F(CommandLine, AWindowIsRefusedForATableThatHasNone) {
  make();
  fails(2, {"table", "sd35-ocr", "--window", "epochs"},
        {"--window: table sd35-ocr shows evaluations of checkpoints"});
}

TEST_F(DryRun, TheExampleOfTheTablesPageIsAPlan) {
  const auto page = read_file(HARNESS_SOURCE_DIR "/harness/tables/README.md");
  const auto begin = page.find("```json\n") + 8;
  place.write_text("mine.json", page.substr(begin, page.find("```", begin) - begin));
  EXPECT_EQ(job_ids(place, smoke_of("mine.json")).size(), 9U) << "three rows on three seeds";
}

TEST_F(DryRun, AColumnOfATimestepThatIsNotTrainedIsRefused) {
  place.write_text("mine.json", R"json({
    "id": "mine", "kind": "training", "task": "ocr", "backbone": "tiny-sd3", "methods": ["dual"],
    "baseline": "dual", "checkpoints": [6], "settings": {"sampling_steps": 8},
    "columns": [{"name": "lambda_center", "timestep": 8}]})json");
  fails(2, {"reproduce", "--table", "mine.json", "--dry-run"},
        {"columns[0]: timestep: there is no timestep 8: 8 steps are trained"});
}

TEST_F(DryRun, ShowsTheJobsAndWritesNothing) {
  const auto plan = place.json({"reproduce", "--table", "sd35-ocr", "--dry-run", "--json"});
  std::map<std::string, int> kinds;
  for (const auto& job : plan.at("jobs")) {
    ++kinds[job.at("kind")];
    EXPECT_FALSE(job.at("done").get<bool>());
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{
                       {"train", 3}, {"evaluate", 10}, {"select", 3}, {"test", 4}, {"report", 1}}));
  EXPECT_GT(plan.at("estimate").at("seconds"), 0);
  EXPECT_GT(plan.at("estimate").at("memory_mb"), 0);
  EXPECT_FALSE(fs::exists(runs));
}

TEST_F(Inputs, FewerPromptsAreDividedInTheTablesShareOrAsAskedFor) {
  const auto prompts = place.folder() / "prompts/ocr";
  fs::create_directories(prompts);
  std::string text;
  for (int i = 0; i < 199; ++i) text += fmt::format("a sign that reads \"{}\"\n", i);
  write_file_atomically(prompts / "test.txt", text);
  const auto sizes = [&](const Words& more) {
    ok(with(smoke({"--methods", "dual", "--prompts", "prompts"}), more));
    return place.csv(
        "SELECT DISTINCT json_extract(config, '$.split_sizes') AS sizes FROM reproduction_evaluations JOIN "
        "evaluations ON evaluations.id = evaluation_id WHERE reproduction_id = (SELECT max(id) FROM "
        "reproductions)");
  };
  EXPECT_EQ(sizes({}), "sizes\n\"[50,149]\"\n");
  EXPECT_THAT(read_file(runs / "sd35-ocr/table.md"),
              HasSubstr("The 199 prompts are divided as the table's are: 50 for validation, 149 for test"));
  EXPECT_EQ(sizes({"--split", "60/70"}), "sizes\n\"[60,70]\"\n");
  EXPECT_THAT(
      place.run({"check", "sd35-ocr"}).err,
      HasSubstr("60 of 130 prompts are for validation, which is not the split that rules sd35-ocr are for"));
}

TEST_F(Inputs, BrokenOnesAreNamedWithStatus2BeforeAnythingIsWritten) {
  const auto prompts = place.folder() / "prompts/ocr";
  fs::create_directories(prompts);
  write_file_atomically(prompts / "test.txt", "a sign \"A\"\n\nb \"B\"");
  const auto refuse = [&](const Words& more, const std::string& text) {
    fails(2, with({"reproduce", "--table", "sd35-ocr"}, more), {text});
    EXPECT_FALSE(fs::exists(runs));
  };
  refuse({"--prompts", "prompts"}, "test.txt:2");
  write_file_atomically(prompts / "test.txt", "a sign \"A\"\nb \"B\"");
  refuse({"--prompts", "prompts", "--split", "2/1"}, "uses the first 3 prompts, and this set has 2");
  refuse({"--prompts", "prompts", "--split", "2"}, "\"2\" is not two numbers of prompts");
  refuse({"--scale", "paper"}, "asks for the prompt set ocr-flow-grpo");
  refuse({"--scale", "paper"}, "it is dataset/ocr/test.txt of the repository yifan123/flow_grpo");
  refuse({"--set", "lr=1e-4,guidance=2"}, "one setting per --set");
  refuse({"--weights", "nowhere"}, "is not a folder");
  write_file_atomically(place.share() / "backbones/glyph/model.safetensors", "not safetensors");
  refuse({}, "model.safetensors");
}

}  // namespace
}  // namespace harness::test
