// Command lines and files that are wrong: refused at once, with words that help.
#include <fmt/format.h>
#include <gmock/gmock.h>

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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The message of a command that must fail with status 2 and print nothing else.
std::string refused(Workplace& place, const std::vector<std::string>& arguments) {
  const auto outcome = place.run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err << outcome.out;
  EXPECT_EQ(outcome.out, "");
  return outcome.err;
}

std::string refused(const std::vector<std::string>& arguments) {
  Workplace place;
  return refused(place, arguments);
}

std::vector<std::string> planned(const std::vector<std::string>& more) {
  return with({"reproduce", "--table", "sd35-ocr", "--dry-run"}, more);
}

/// A table of one's own with these changes.
std::string table_refused(const Json& changes) {
  Workplace place;
  Json table = {{"extends", "sd35-ocr"}, {"id", "mine"}};
  table.update(changes);
  write_file_atomically(place.folder() / "mine.json", table.dump());
  return refused(place, {"reproduce", "--table", "mine.json", "--dry-run"});
}

TEST(TableLimits, ATextOfMoreThan10000BytesIsRefusedWhereItStands) {
  const std::string text(10'001, '1');
  const auto limit = HasSubstr("has 10001 bytes; a text of a table has at most 10000");
  EXPECT_THAT(table_refused({{"title", text}}), AllOf(HasSubstr("mine.json: title: "), limit));
  EXPECT_THAT(table_refused({{"notes", {"a", text}}}), AllOf(HasSubstr("mine.json: notes[1]: "), limit));
  EXPECT_THAT(table_refused({{"id", text}}), limit);
  EXPECT_THAT(table_refused({{"methods", {{{"method", "dual"}, {"name", text}}}}}),
              AllOf(HasSubstr("mine.json: methods[0].name: "), limit));
  EXPECT_THAT(table_refused({{"settings", {{text, 1}}}}), AllOf(HasSubstr("settings: a key: "), limit));
}

TEST(TableLimits, ListsHaveAtMost1000EntriesAndFilesAMegabyte) {
  std::vector<std::int64_t> seeds(100'000);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<std::int64_t>(i);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(table_refused({{"seeds", seeds}}),
              HasSubstr("mine.json: seeds: has 100000 entries; a list of a table has at most 1000"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_THAT(table_refused({{"methods", std::vector<std::string>(1001, "dual")}}),
              HasSubstr("mine.json: methods: has 1001 entries"));
  EXPECT_THAT(table_refused({{"notes", std::vector<std::string>(200, std::string(9000, 'x'))}}),
              HasSubstr("a table has at most 1000000"));
}

TEST(TableLimits, ATitleWithALongNumberIsTypeset) {
  Workplace place;
  write_file_atomically(
      place.folder() / "mine.json",
      Json{{"extends", "sd35-ocr"}, {"id", "mine"}, {"title", "by +" + std::string(9000, '1')}}.dump());
  const auto outcome = place.run(smoke_of("mine.json"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(read_file(place.folder() / "runs/mine/table.tex"), HasSubstr("$+1111"));
}

TEST(TableSpecOfOnesOwn, AMisspeltMetricIsBlamedAndNotTheOneThatIsRight) {
  EXPECT_THAT(table_refused({{"metrics", {{"required", {"ocr_rewrd", "cer_paper"}}}}}),
              HasSubstr("mine.json: metrics.required[0]: unknown metric \"ocr_rewrd\"; did you mean "
                        "\"ocr_reward\"?"));
  EXPECT_THAT(
      table_refused({{"metrics",
                      {{"required", {"ocr_reward", "cer_papre", "exact_match", "substring_match", "cer"}}}}}),
      HasSubstr("metrics.required[1]: unknown metric \"cer_papre\"; did you mean \"cer_paper\"?"));
}

TEST(PromptFile, APromptOfMoreThan10000BytesIsRefusedWithItsLine) {
  Workplace place;
  fs::create_directories(place.folder() / "prompts/ocr");
  const auto file = place.folder() / "prompts/ocr/test.txt";
  write_file_atomically(file, "a sign \"A\"\nb \"" + std::string(10'000, 'x') + "\"\n");
  EXPECT_THAT(refused(place, planned({"--prompts", "prompts"})),
              HasSubstr("test.txt:2: the prompt has 10004 bytes; a prompt has at most 10000"));
  EXPECT_THAT(refused(place, {"sample", "a \"" + std::string(10'000, 'x') + "\""}),
              HasSubstr("a prompt has at most 10000"));
}

TEST(PromptFile, OfAnUnknownSetIsNotedWithTwelveDigitsOnceTheRunBegins) {
  Workplace place;
  fs::create_directories(place.folder() / "prompts/ocr");
  std::string text;
  for (int i = 0; i < 1018; ++i) text += "a sign \"NUMBER " + std::to_string(i) + "\"\n";
  write_file_atomically(place.folder() / "prompts/ocr/test.txt", text);
  const auto command = smoke_of("sd35-ocr", {"--prompts", "prompts"});
  const auto outcome = place.run(command);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::ContainsRegex("unknown checksum [0-9a-f]{12};"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("unknown checksum \\([0-9a-f]{12}\\)\\."));
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_THAT(place.run(with(command, {"--fresh"})).err, Not(HasSubstr("unknown checksum")))
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

const std::vector<std::string> kOwnTraining = smoke_of("sd35-ocr", {"--train-prompts", "mine"});

std::vector<std::string> trained_ids(Workplace& place, const std::vector<std::string>& command) {
  return job_ids(place, command, "train");
}

TEST(TrainPrompts, OfOnesOwnAreTrainedOnRecordedAndTold) {
  OwnTraining place(own_prompts());
  const auto outcome = place.run(kOwnTraining);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto sum = sha256_file(place.file());
  EXPECT_THAT(outcome.out, HasSubstr("Training prompts: ocr-user-" + sum.substr(0, 8) + " (20 prompts"));
  const auto rows =
      place.json({"query",
                  "SELECT DISTINCT json_extract(config, '$.train_prompts_sha256') AS sum, "
                  "(SELECT count(*) FROM prompts JOIN prompt_sets ON prompt_sets.id = prompt_set_id "
                  "WHERE sha256 = json_extract(config, '$.train_prompts_sha256')) AS n "
                  "FROM runs WHERE method <> 'base'",
                  "--format", "json"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.at(0).at("sum"), sum);
  EXPECT_EQ(rows.at(0).at("n"), 20);
  EXPECT_EQ(place.run({"check", "sd35-ocr"}).status, 0);
}

TEST(TrainPrompts, AreInTheIdByWhatTheyHoldAndNotByWhereTheyAre) {
  OwnTraining place(own_prompts());
  const std::vector<std::string> generated(kOwnTraining.begin(), kOwnTraining.end() - 2);
  const auto own = trained_ids(place, kOwnTraining), shipped = trained_ids(place, generated);
  EXPECT_NE(own, shipped);
  write_file_atomically(place.file(), prompt_set_bytes(generated_training_set()));
  EXPECT_EQ(trained_ids(place, kOwnTraining), shipped);
  fs::create_directories(place.folder() / "public/ocr");
  write_file_atomically(place.folder() / "public/ocr/train.txt", join(own_prompts(), "\n") + "\n");
  auto command = kOwnTraining;
  command.back() = "public";
  EXPECT_EQ(trained_ids(place, command), own) << "the layout of the public repositories";
}

TEST(TrainPrompts, ThatAreEvaluatedAreRefusedWithTheirLines) {
  const auto evaluated = generated_prompt_set().prompts;
  auto lines = own_prompts();
  lines[2] = evaluated[17].text;
  lines[6] = fmt::format("another sentence with \"{}\"", evaluated[4].target);
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
  EXPECT_THAT(refused(place, kOwnTraining),
              HasSubstr("9 of its prompts are those of validation or test (same text "
                        "or target): lines 1, 2, 3, 4, 5, ...;"));
}

TEST(TrainPrompts, ThatCannotTrainAreRefused) {
  auto lines = own_prompts();
  lines[3] = "a sign that reads nothing";
  OwnTraining without(lines);
  EXPECT_THAT(refused(without, kOwnTraining), HasSubstr("mine/train.txt:4: no quoted target"));
  OwnTraining few(own_prompts(3));
  EXPECT_THAT(refused(few, kOwnTraining),
              AllOf(HasSubstr("takes 4 prompts (prompts_per_epoch), and this training set has 3"),
                    HasSubstr("lower prompts_per_epoch")));
  fs::remove(few.file());
  EXPECT_THAT(refused(few, kOwnTraining),
              HasSubstr("--train-prompts takes the folder that holds train.txt or ocr/train.txt"));
}

TEST(TrainPrompts, OfATaskWithoutTargetsMustStillQuoteOneForABackboneThatDrawsNothingElse) {
  auto lines = own_prompts();
  lines[3] = "a sign that reads nothing";
  OwnTraining place(lines);
  EXPECT_THAT(refused(place, smoke_of("sd35-pickscore", {"--train-prompts", "mine"})),
              AllOf(HasSubstr("backbone glyph draws the text that a prompt quotes and nothing else, and 1 of "
                              "the 20 prompts of "),
                    HasSubstr("leave the others out")));
}

TEST(TrainPrompts, AScaleThatAsksForASetSaysWhereItIs) {
  OwnTraining place(own_prompts());
  write_file_atomically(place.folder() / "mine.json",
                        Json{{"extends", "sd35-ocr"},
                             {"id", "mine"},
                             {"scales", {{"own", {{"prompts", {{"train", "pickscore-train-disjoint"}}}}}}}}
                            .dump());
  const std::vector<std::string> command = {"reproduce", "--table", "mine.json",
                                            "--scale",   "own",     "--dry-run"};
  EXPECT_THAT(
      refused(place, command),
      AllOf(HasSubstr("table mine at scale own trains on the prompt set pickscore-train-disjoint, and "
                      "--train-prompts is not given"),
            HasSubstr("train.txt of the repository X-GenGroup/Flow-Factory without its line 10431")));
  EXPECT_THAT(refused(place, with(command, {"--train-prompts", "mine"})),
              HasSubstr("and this one is ocr-user-"));
}

TEST(CommandLineOfLists, BlanksAroundNamesAndSeedsAreLeftOut) {
  Workplace place;
  const auto plan = place.json(planned({"--methods", "ratio-norm, dual", "--seeds", "42, 43", "--json"}));
  int trained = 0;
  for (const auto& job : plan.at("jobs")) trained += job.at("kind") == "train" ? 1 : 0;
  EXPECT_EQ(trained, 4);
  EXPECT_THAT(refused(planned({"--methods", "ratio-norm, ,dual"})),
              HasSubstr("a name between two commas is missing"));
}

TEST(Seeds, MayBeRanges) {
  EXPECT_THAT(parse_seeds({"42..44", "7"}), ElementsAre(42, 43, 44, 7));
  EXPECT_THAT(parse_seeds({"42-44"}), ElementsAre(42, 43, 44));
  EXPECT_THAT(parse_seeds({" 1 .. 2 "}), ElementsAre(1, 2));
  EXPECT_EQ(parse_seeds({"1..1000"}).size(), 1000u);
  EXPECT_THAT(refused(planned({"--seeds", "44..42"})),
              HasSubstr("--seeds: \"44..42\" ends before it begins"));
  EXPECT_THAT(refused(planned({"--seeds", "42..44,43"})), HasSubstr("seed 43 is named twice"));
  EXPECT_THAT(refused(planned({"--seeds", "1..1001"})), HasSubstr("more than 1000 seeds"));
  EXPECT_THAT(refused(planned({"--seeds", "0..4294967295"})), HasSubstr("more than 1000 seeds"));
  EXPECT_THAT(refused(planned({"--seeds", "42...44"})), HasSubstr("or a range: 42,43,44 or 42..44"));
  EXPECT_THAT(refused({"sample", "a \"b\"", "--seed", "-3"}), HasSubstr("--seed: -3 is not a seed"));
  EXPECT_THAT(refused({"sample", "a \"b\"", "--seed", "4294967296"}), HasSubstr("is not a seed"));
}

TEST(Device, CudaIsTheFirstGpu) {
  EXPECT_EQ(device_name("cuda"), "cuda:0");
  EXPECT_EQ(device_name("cuda:1"), "cuda:1");
  EXPECT_EQ(device_name("auto"), "cpu");
  EXPECT_THAT(refused(planned({"--device", "gpu"})),
              HasSubstr("unknown device \"gpu\"; did you mean \"cuda:0\"?"));
  EXPECT_THAT(refused(planned({"--device", "cuda:x"})), HasSubstr("unknown device \"cuda:x\""));
}

TEST(SettingsOfTheCommandLine, TwiceTheSameIsRefusedAndOfAMethodBesideAllIsNot) {
  EXPECT_THAT(refused(planned({"--set", "lr=1e-4", "--set", "lr=2e-4"})),
              HasSubstr("--set lr=1e-4 --set lr=2e-4: setting lr is given twice"));
  Workplace place;
  EXPECT_EQ(
      place.run(planned({"--set", "lr=1e-4", "--set", "dual.lr=2e-4", "--set", "ratio-norm.lr=3e-4"})).status,
      0);
}

TEST(SettingsOfTheCommandLine, NamesOfOtherProgramsAreUnderstoodInHints) {
  const std::vector<std::pair<std::string, std::string>> hints = {
      {"learning_rate", "unknown setting \"learning_rate\"; did you mean \"lr\"?"},
      {"batch_size", "did you mean \"prompts_per_epoch\" or \"group_size\"?"},
      {"epochs", "did you mean \"updates\" or \"inner_epochs\"?"},
      {"steps", "did you mean \"updates\" or \"sampling_steps\"?"},
      {"cfg", "did you mean \"guidance\" or \"eval_guidance\"?"},
      {"beta", "did you mean \"beta_max\"?"},
      {"frobnicate", "`harness list settings` names them all"}};
  for (const auto& [name, hint] : hints)
    EXPECT_THAT(refused(planned({"--set", name + "=4"})), HasSubstr(hint));
}

TEST(Hints, AnUnknownNameIsRefusedWithTheNearestOne) {
  EXPECT_THAT(refused({"list", "settings", "--backbone", "glyf"}),
              HasSubstr("--backbone: unknown backbone \"glyf\"; did you mean \"glyph\"?"));
  EXPECT_THAT(refused({"figure", "law"}), HasSubstr("did you mean \"law-audit\"?"));
}

TEST(Hints, OfAFileThatCannotBeOpenedGoByTheReason) {
  const auto message = refused({"table", "--db", std::string(5000, 'x') + ".sqlite"});
  EXPECT_THAT(message, AllOf(HasSubstr("has too long a name"), Not(HasSubstr("disk"))));
  if (::geteuid() == 0) return;  // who may open everything
  Workplace place;
  fs::create_directories(place.folder() / "locked");
  fs::permissions(place.folder() / "locked", fs::perms::none);
  EXPECT_THAT(refused(place, {"doctor", "--scorers", "locked"}),
              HasSubstr("locked: Permission denied; check its permissions"));
  fs::permissions(place.folder() / "locked", fs::perms::owner_all);
}

TEST(ScorerFile, EverythingThatIsWrongWithItIsSaidAtOnce) {
  Workplace place;
  fs::create_directories(place.folder() / "scorers/gauge");
  write_file_atomically(place.folder() / "scorers/gauge/scorer.json",
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
