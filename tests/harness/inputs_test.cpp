// Command lines and files that are wrong: refused at once, with words that help.
#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "core/sha256.h"
#include "core/text.h"
#include "datasets/prompt_set.h"
#include "harness/plan/plan.h"
#include "harness/terminal/seeds.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using PromptFile = SmokeTest;
using Hints = SmokeTest;
using ScorerFile = SmokeTest;

using ::testing::AllOf;
using ::testing::ElementsAre;

/// The message of a command that must fail with status 2, say this and print nothing else.
std::string refused(Workplace& place, const Words& arguments, const Words& said = {}) {
  const auto outcome = place.fails(2, arguments, said);
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

Words planned(const Words& more) {
  return with({"reproduce", "--table", "sd35-ocr", "--dry-run"}, more);
}

/// A table of one's own with these changes.
std::string table_refused(const Json& changes) {
  Workplace place;
  Json table = {{"extends", "sd35-ocr"}, {"id", "mine"}};
  table.update(changes);
  place.write("mine.json", table);
  return refused(place, {"reproduce", "--table", "mine.json", "--dry-run"});
}

TEST(TableOfOnesOwn, WhatIsTooLongIsRefusedWhereItStands) {
  const std::string text(10'001, '1');
  const std::string limit = "has 10001 bytes; a text of a table has at most 10000";
  const std::vector<std::pair<Json, std::string>> refusals = {
      {{{"title", text}}, "mine.json: title: " + limit},
      {{{"notes", {"a", text}}}, "mine.json: notes[1]: " + limit},
      {{{"id", text}}, limit},
      {{{"methods", {{{"method", "dual"}, {"name", text}}}}}, "mine.json: methods[0].name: " + limit},
      {{{"settings", {{text, 1}}}}, "settings: a key: " + limit},
      {{{"methods", Words(1001, "dual")}}, "mine.json: methods: has 1001 entries"},
      {{{"notes", Words(200, std::string(9000, 'x'))}}, "a table has at most 1000000"}};
  for (const auto& [changes, message] : refusals)
    EXPECT_THAT(table_refused(changes), HasSubstr(message)) << changes.dump().substr(0, 100);
}

TEST(TableOfOnesOwn, OfManySeedsIsRefusedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(table_refused({{"seeds", std::vector<int>(100'000)}}),
              HasSubstr("mine.json: seeds: has 100000 entries; a list of a table has at most 1000"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(TableOfOnesOwn, ATitleWithALongNumberIsTypeset) {
  Workplace place;
  write_file_atomically(
      place.folder() / "mine.json",
      Json{{"extends", "sd35-ocr"}, {"id", "mine"}, {"title", "by +" + std::string(9000, '1')}}.dump());
  place.ok(smoke_of("mine.json"));
  EXPECT_THAT(read_file(place.folder() / "runs/mine/table.tex"), HasSubstr("$+1111"));
}

TEST_F(PromptFile, APromptOfMoreThan10000BytesIsRefusedWithItsLine) {
  fs::create_directories(place.folder() / "prompts/ocr");
  const auto file = place.folder() / "prompts/ocr/test.txt";
  write_file_atomically(file, "a sign \"A\"\nb \"" + std::string(10'000, 'x') + "\"\n");
  refused(place, planned({"--prompts", "prompts"}),
          {"test.txt:2: the prompt has 10004 bytes; a prompt has at most 10000"});
  refused(place, {"sample", "a \"" + std::string(10'000, 'x') + "\""}, {"a prompt has at most 10000"});
}

TEST_F(PromptFile, OfAnUnknownSetIsNotedWithTwelveDigitsOnceTheRunBegins) {
  std::string text;
  for (int i = 0; i < 1018; ++i) text += "a sign \"NUMBER " + std::to_string(i) + "\"\n";
  place.write_text("prompts/ocr/test.txt", text);
  const auto outcome = ok(smoke({"--prompts", "prompts"}));
  EXPECT_THAT(outcome.err, ::testing::ContainsRegex("unknown checksum [0-9a-f]{12};"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("unknown checksum \\([0-9a-f]{12}\\)\\."));
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_THAT(place.run(smoke({"--prompts", "prompts", "--fresh"})).err, Not(HasSubstr("unknown checksum")))
      << "errors come first";
}

/// A place with a folder `mine` of training prompts.
struct OwnTraining : Workplace {
  explicit OwnTraining(const std::vector<std::string>& lines) {
    fs::create_directories(folder() / "mine");
    write_file_atomically(file(), join(lines, "\n") + "\n");
  }
  fs::path file() const { return folder() / "mine/train.txt"; }
};

/// Prompts that quote a target which no generated prompt has.
std::vector<std::string> own_prompts(int count = 20) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) lines.push_back(fmt::format("a sign \"QX {}\"", 1000 + i));
  return lines;
}

const Words kOwnTraining = smoke({"--train-prompts", "mine"});

TEST(TrainPrompts, OfOnesOwnAreTrainedOnRecordedAndTold) {
  OwnTraining place(own_prompts());
  const auto outcome = place.ok(kOwnTraining);
  const auto sum = sha256_file(place.file());
  EXPECT_THAT(outcome.out, HasSubstr("Training prompts: ocr-user-" + sum.substr(0, 8) + " (20 prompts"));
  const auto rows = place.rows(
      "SELECT DISTINCT json_extract(config, '$.train_prompts_sha256') AS sum, "
      "(SELECT count(*) FROM prompts JOIN prompt_sets ON prompt_sets.id = prompt_set_id "
      "WHERE sha256 = json_extract(config, '$.train_prompts_sha256')) AS n "
      "FROM runs WHERE method <> 'base'");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.at(0).at("sum"), sum);
  EXPECT_EQ(rows.at(0).at("n"), 20);
  place.ok({"check", "sd35-ocr"});
}

TEST(TrainPrompts, AreInTheIdByWhatTheyHoldAndNotByWhereTheyAre) {
  OwnTraining place(own_prompts());
  const auto own = job_ids(place, kOwnTraining), shipped = job_ids(place, kSmoke);
  EXPECT_NE(own, shipped);
  write_file_atomically(place.file(), prompt_set_bytes(generated_training_set()));
  EXPECT_EQ(job_ids(place, kOwnTraining), shipped);
  place.write_text("public/ocr/train.txt", join(own_prompts(), "\n") + "\n");
  EXPECT_EQ(job_ids(place, smoke({"--train-prompts", "public"})), own)
      << "the layout of the public repositories";
}

TEST(TrainPrompts, MayBeNamedByTheirFileWhateverItsName) {
  OwnTraining place(own_prompts());
  const auto by_folder = job_ids(place, kOwnTraining);
  EXPECT_EQ(job_ids(place, smoke({"--train-prompts", "mine/train.txt"})), by_folder);
  fs::rename(place.file(), place.folder() / "signs.txt");
  const auto by_file = smoke({"--train-prompts", "signs.txt"});
  EXPECT_EQ(job_ids(place, by_file), by_folder);
  place.ok(by_file);
  place.ok({"check", "sd35-ocr"});
}

/// Ids of a table's evaluations on these prompts.
Words evaluations_on(Workplace& place, const std::string& table, const std::string& prompts,
                     const Words& more = {}) {
  return job_ids(place, smoke_of(table, with(more, {"--prompts", prompts})), "evaluate");
}

TEST_F(PromptFile, OfEvaluationMayBeNamedItselfAndIsSplitAsInAFolder) {
  place.write_text("sets/ocr/test.txt", join(own_prompts(40), "\n"));
  place.write_text("signs.txt", join(own_prompts(40), "\n"));
  for (const auto& more : {Words{}, Words{"--split", "10/20"}}) {
    const auto ids = evaluations_on(place, "sd35-ocr", "signs.txt", more);
    EXPECT_EQ(ids, evaluations_on(place, "sd35-ocr", "sets", more));
    EXPECT_NE(ids, job_ids(place, kSmoke, "evaluate"));
  }
  ok(smoke({"--prompts", "signs.txt", "--dry-run"}), {"The 40 prompts are divided as the table's are"});
  place.write_text("train.txt", own_prompts(40).back() + "\n" + join(own_prompts(50), "\n"));
  refused(place, smoke({"--prompts", "signs.txt", "--train-prompts", "train.txt"}),
          {"train.txt: 41 of its prompts are those of validation or test"});
}

TEST_F(PromptFile, IsOfTheTablesTaskAlsoWhereTheBackboneDrawsQuotedTexts) {
  place.write_text("sets/pickscore/test.txt", join(own_prompts(40), "\n"));
  place.write_text("signs.txt", join(own_prompts(40), "\n"));
  EXPECT_EQ(evaluations_on(place, "sd35-pickscore", "signs.txt"),
            evaluations_on(place, "sd35-pickscore", "sets"));
}

TEST_F(PromptFile, ThatCannotBeReadIsRefusedWithTheFormsThereAre) {
  place.write_text("signs.csv", "a sign \"A\"\n");
  place.write_text("empty.txt", "");
  place.write_text("records.jsonl", R"({"tag": "single_object", "prompt": "a photo of a bench", )"
                                    R"("include": [{"class": "bench", "count": 1}]})");
  place.write_text("folder/train.text", "");
  for (const std::string option : {"--prompts", "--train-prompts"}) {
    const auto expect = [&](const std::string& file, const std::string& said) {
      refused(place, planned({option, file}), {said});
    };
    const auto forms = option + " takes a folder, a .txt file with one prompt per line, or a .jsonl file";
    expect("none.txt", "none.txt: no such file or folder; " + forms);
    expect("signs.csv", "signs.csv: is not a file of prompts; " + forms);
    expect("empty.txt", "empty.txt: the file is empty");
    expect("records.jsonl", "records.jsonl: holds records of GenEval, and the task is ocr");
    expect("folder", "or a .txt file itself");
  }
  place.write_text("signs.txt", "a sign \"A\"\n");
  place.write("drawing.json", {{"extends", "flux-geneval"},
                               {"id", "drawing"},
                               {"methods", {"ratio-norm", "dual"}},
                               {"reproduces", ""},
                               {"window", {{"last", 4}}}});
  for (const std::string option : {"--prompts", "--train-prompts"})
    refused(place, smoke_of("drawing.json", {option, "signs.txt"}),
            {"signs.txt: the prompts of GenEval are records"});
}

TEST(TrainPrompts, ThatAreEvaluatedAreRefusedWithTheirLines) {
  const auto evaluated = generated_prompt_set().prompts;
  auto lines = own_prompts();
  lines[2] = evaluated[17].text;
  lines[6] = fmt::format("another sentence with \"{}\"", evaluated[4].target.words());
  {
    OwnTraining place(lines);
    EXPECT_THAT(
        refused(place, kOwnTraining),
        HasSubstr("mine/train.txt: 2 of its prompts are those of validation or test (same text or target): "
                  "lines 3, 7; leave these lines out"));
    EXPECT_FALSE(fs::exists(place.folder() / "runs"));
  }
  for (std::size_t i = 0; i < 9; ++i) lines[i] = evaluated[i].text;
  OwnTraining place(lines);
  refused(place, kOwnTraining,
          {"9 of its prompts are those of validation or test (same text "
           "or target): lines 1, 2, 3, 4, 5, ...;"});
}

TEST(TrainPrompts, ThatCannotTrainAreRefused) {
  auto lines = own_prompts();
  lines[3] = "a sign that reads nothing";
  OwnTraining without(lines);
  refused(without, kOwnTraining, {"mine/train.txt:4: no quoted target"});
  OwnTraining few(own_prompts(3));
  refused(few, kOwnTraining,
          {"takes 4 prompts (prompts_per_epoch), and this training set has 3", "lower prompts_per_epoch"});
  fs::remove(few.file());
  refused(few, kOwnTraining, {"--train-prompts takes the folder that holds train.txt or ocr/train.txt"});
}

TEST(TrainPrompts, OfATaskWithoutTargetsMustStillQuoteOneForABackboneThatDrawsNothingElse) {
  auto lines = own_prompts();
  lines[3] = "a sign that reads nothing";
  OwnTraining place(lines);
  const std::vector<std::string> command = {
      "reproduce", "--table", "sd35-pickscore", "--scale", "smoke", "--train-prompts", "mine"};
  refused(place, command,
          {"backbone glyph draws the text that a prompt quotes and nothing else, and 1 of "
           "the 20 prompts of ",
           "leave the others out"});
}

TEST(TrainPrompts, AScaleThatAsksForASetSaysWhereItIs) {
  OwnTraining place(own_prompts());
  place.write("mine.json",
              Json{{"extends", "sd35-ocr"},
                   {"id", "mine"},
                   {"scales", {{"own", {{"prompts", {{"train", "pickscore-train-disjoint"}}}}}}}});
  const std::vector<std::string> command = {"reproduce", "--table", "mine.json",
                                            "--scale",   "own",     "--dry-run"};
  EXPECT_THAT(
      refused(place, command),
      AllOf(HasSubstr("table mine at scale own trains on the prompt set pickscore-train-disjoint, and "
                      "--train-prompts is not given"),
            HasSubstr("train.txt of the repository X-GenGroup/Flow-Factory without its line 10431")));
  refused(place, with(command, {"--train-prompts", "mine"}), {"and this one is ocr-user-"});
}

TEST(CommandLineOfAPlan, BlanksAroundNamesAndSeedsAreLeftOut) {
  Workplace place;
  EXPECT_EQ(job_ids(place, smoke({"--methods", "ratio-norm, dual", "--seeds", "42, 43"})).size(), 4U);
  EXPECT_EQ(job_ids(place, smoke({"--methods", "ratio-norm,", "dual", "--seeds", "42", ",", "43"})).size(),
            4U)
      << "words of a shell";
}

TEST(Seeds, MayBeRanges) {
  EXPECT_THAT(parse_seeds({"42..44", "7"}), ElementsAre(42, 43, 44, 7));
  EXPECT_THAT(parse_seeds({"42-44"}), ElementsAre(42, 43, 44));
  EXPECT_THAT(parse_seeds({" 1 .. 2 "}), ElementsAre(1, 2));
  EXPECT_EQ(parse_seeds({"1..1000"}).size(), 1000u);
}

TEST(Device, CudaIsTheFirstGpu) {
  EXPECT_EQ(device_name("cuda"), "cuda:0");
  EXPECT_EQ(device_name("cuda:1"), "cuda:1");
  EXPECT_EQ(device_name("auto"), "cpu");
}

TEST(CommandLineOfAPlan, OfWhatCannotBeMeantIsRefusedWithWhatMayBe) {
  const std::vector<std::pair<Words, std::string>> refusals = {
      {planned({"--methods", "ratio-norm, ,dual"}), "an item between two commas or at the end is missing"},
      {planned({"--seeds", "44..42"}), "--seeds: \"44..42\" ends before it begins"},
      {planned({"--seeds", "42..44,43"}), "seed 43 is named twice"},
      {planned({"--seeds", "1..1001"}), "more than 1000 seeds"},
      {planned({"--seeds", "0..4294967295"}), "more than 1000 seeds"},
      {planned({"--seeds", "42...44"}), "or a range: 42,43,44 or 42..44"},
      {{"sample", "a \"b\"", "--seed", "-3"}, "--seed: -3 is not a seed"},
      {{"sample", "a \"b\"", "--seed", "4294967296"}, "is not a seed"},
      {planned({"--device", "gpu"}), "unknown device \"gpu\"; did you mean \"cuda\"?"},
      {planned({"--device", "GPU:1"}), "did you mean \"cuda\"? cuda:N is one GPU"},
      {planned({"--device", "cuda:x"}), "unknown device \"cuda:x\""},
      {planned({"--set", "lr=1e-4", "--set", "lr=2e-4"}),
       "--set lr=1e-4 --set lr=2e-4: setting lr is given twice"},
      {planned({"--set", "learning_rate=1e-4"}), "unknown setting \"learning_rate\"; did you mean \"lr\"?"},
      {planned({"--set", "batch_size=4"}), "did you mean \"prompts_per_epoch\" or \"group_size\"?"},
      {planned({"--set", "epochs=4"}), "did you mean \"updates\" or \"inner_epochs\"?"},
      {planned({"--set", "steps=4"}), "did you mean \"updates\" or \"sampling_steps\"?"},
      {planned({"--set", "cfg=4"}), "did you mean \"guidance\" or \"eval_guidance\"?"},
      {planned({"--set", "beta=4"}), "did you mean \"beta_max\"?"},
      {planned({"--set", "num_generations=4"}), "did you mean \"group_size\"?"},
      {planned({"--set", "LR=4"}), "did you mean \"lr\"?"},
      {planned({"--methods", "ratio_norm"}), "did you mean \"ratio-norm\"?"},
      {planned({"--set", "frobnicate=4"}), "`harness list settings` names them all"},
      {{"list", "settings", "--backbone", "glyf"},
       "--backbone: unknown backbone \"glyf\"; did you mean \"glyph\"?"},
      {{"figure", "law"}, "did you mean \"law-audit\"?"}};
  Workplace place;
  for (const auto& [arguments, text] : refusals) refused(place, arguments, {text});
}

TEST(CommandLineOfAPlan, ASettingOfAMethodMayStandBesideTheOneOfAll) {
  Workplace place;
  EXPECT_EQ(
      place.run(planned({"--set", "lr=1e-4", "--set", "dual.lr=2e-4", "--set", "ratio-norm.lr=3e-4"})).status,
      0);
}

TEST_F(Hints, OfAFileThatCannotBeOpenedGoByTheReason) {
  const auto message = refused(place, {"table", "--db", std::string(5000, 'x') + ".sqlite"});
  EXPECT_THAT(message, AllOf(HasSubstr("has too long a name"), Not(HasSubstr("disk"))));
  if (::geteuid() == 0) return;  // who may open everything
  fs::create_directories(place.folder() / "locked");
  fs::permissions(place.folder() / "locked", fs::perms::none);
  refused(place, {"doctor", "--scorers", "locked"}, {"locked: Permission denied; check its permissions"});
  fs::permissions(place.folder() / "locked", fs::perms::owner_all);
}

TEST_F(ScorerFile, EverythingThatIsWrongWithItIsSaidAtOnce) {
  place.write_text("scorers/gauge/scorer.json",
                   R"({"version": 1, "command": "python3 gauge.py", "processes": 0, "colour": "red"})");
  const auto message = refused(place, planned({"--scorers", "scorers"}));
  for (const char* line : {"5 things are wrong:\n", "\n  \"version\" has the wrong type (number)\n",
                           "\n  \"command\" has the wrong type (string)\n", "\n  \"metrics\" is missing\n",
                           "\n  processes: must be 1 to 256\n", "\n  unknown key \"colour\""}) {
    EXPECT_THAT(message, HasSubstr(line));
  }
}

}  // namespace
}  // namespace harness::test
