#include "tests/chain.h"

// Scorers that are ill for a while: what stops, what is asked for again, and what is not.

namespace harness {
namespace {

namespace fs = std::filesystem;

class ScoresAgain : public Chain {
 protected:
  /// tests/data/scorers/told_scorer.py, whose metric has the scorer's name.
  void add_scorer(const std::string& name) const {
    const auto folder = root_ / "scorers" / name;
    make_folder(folder);
    fs::copy_file(kTree / "tests/data/scorers/told_scorer.py", folder / "told.py",
                  fs::copy_options::overwrite_existing);
    write_file(folder / "scorer.json",
               Json{{"version", "1"},
                    {"command", {"python3", "told.py", answers_of(name), log_of(name)}},
                    {"metrics", {{name, {{"better", "higher"}}}}}}
                   .dump());
    tell(name, {{"else", 1}});
  }
  /// Its trial is made with an image whose bytes are 7.
  void write_image_of_its_own(const std::string& name) const {
    const auto file = root_ / "scorers" / name / "scorer.json";
    auto spec = read_json(file);
    spec["test"] = {{"image", "face.png"}, {"prompt", "a face"}};
    write_file_atomically(file, spec.dump());
    write_file(file.parent_path() / "face.png",
               png_bytes(Image{8, 8, std::vector<std::uint8_t>(8 * 8 * 3, 7)}));
  }
  std::string answers_of(const std::string& name) const { return (root_ / (name + ".json")).string(); }
  std::string log_of(const std::string& name) const { return (root_ / (name + ".log")).string(); }

  void tell(const std::string& name, const Json& answers) const {
    write_file_atomically(answers_of(name), answers.dump());
  }

  /// How often it was asked for an image.
  std::ptrdiff_t asked(const std::string& name) const {
    return fs::exists(log_of(name)) ? std::ranges::count(read_file(log_of(name)), '\n') : 0;
  }

  /// Rows a and b of so many images, those of a with first bytes 0, 2, 4, ..., those of b with odd ones.
  void write_rows(int images) const {
    std::string prompts;
    for (int i = 0; i < images; ++i) {
      prompts += fmt::format("{}a sign reading \"WORD{}\"", i == 0 ? "" : "\n", i);
      for (const int row : {0, 1}) {
        const auto file = root_ / (row == 0 ? "a" : "b") / fmt::format("{}.png", i);
        make_folder(file.parent_path());
        const Image image{8, 8, std::vector<std::uint8_t>(8 * 8 * 3, static_cast<std::uint8_t>(2 * i + row))};
        write_file(file, png_bytes(image));
      }
    }
    write_file(root_ / "p.txt", prompts);
  }

  void add_scorers_and_rows(int images) const {
    for (const char* name : {"level", "weight"}) add_scorer(name);
    write_rows(images);
  }

  std::string score(const std::string& out, const std::string& more = {}) const {
    return fmt::format(
        "{} score a={} b={} --prompts {} --scorers {} --metric level --metric weight --out {} {}", kProgram,
        at("a"), at("b"), at("p.txt"), at("scorers"), at(out), more);
  }

  Outcome ends(int status, const std::string& command) const {
    auto done = shell(command, {.err = kPipe});
    EXPECT_EQ(done.status, status) << done.out << done.err;
    return done;
  }

  std::string scores(const std::string& out) const {
    return query(
        out,
        "SELECT r.method, c.step, e.split, p.position, m.name, m.value, m.reason, s.sha256 FROM metrics m "
        "JOIN evaluations e ON e.id = m.evaluation_id JOIN checkpoints c ON c.id = e.checkpoint_id JOIN "
        "runs r ON r.id = c.run_id JOIN prompts p ON p.id = m.prompt_id JOIN samples s ON "
        "s.evaluation_id = m.evaluation_id AND s.prompt_id = m.prompt_id ORDER BY r.id, 2, 3, 4, 5");
  }
};

/// So many bytes from `first` on, every second one, answered like that.
Json answers(int first, int count, const Json& answer) {
  Json all = {{"else", 1}};
  for (int i = 0; i < count; ++i) all[std::to_string(first + 2 * i)] = answer;
  return all;
}

TEST_F(ScoresAgain, AServerThatIsDownForAWhileChangesNothingOnceTheCommandIsRepeated) {
  add_scorers_and_rows(40);
  ends(0, score("whole"));
  const auto before_level = asked("level"), before_weight = asked("weight");
  tell("level", answers(70, 5, "connection refused"));
  const auto first = ends(1, score("cut"));
  EXPECT_PROBLEM(first.out, "## images: Images of a, b");
  EXPECT_PROBLEM(first.err,
                 "5 required scores are missing for a reason that may pass (the scorer reports: "
                 "connection refused). Repeat the command to ask for them again");
  EXPECT_EQ(asked("level"), before_level + 80);
  const auto images_and_times = [&] {
    return shell(fmt::format("cd {} && find . -name '*.png' -printf '%T@ %p\\n' | grep eval- | sort",
                             at("cut")))
        .out;
  };
  const auto images = images_and_times();
  EXPECT_PROBLEM(
      ends(0, score("cut", "--dry-run")).out,
      "5 scores to ask for again, without making the images again: the scorer reports: connection");

  // Still down: as before.
  const auto second = ends(1, score("cut"));
  EXPECT_PROBLEM(second.err, "5 required scores are missing");
  EXPECT_EQ(asked("level"), before_level + 85);
  tell("level", {{"else", 1}, {"test image", "connection refused"}});
  const auto down = ends(1, score("cut"));
  EXPECT_PROBLEM(down.err, "5 scores of level stay missing: scorer level gives no value of a test image");
  EXPECT_PROBLEM(down.out, "## images: Images of a, b");

  tell("level", {{"else", 1}});
  ends(0, score("cut"));
  EXPECT_EQ(asked("level"), before_level + 90) << "those that were missing alone";
  EXPECT_EQ(asked("weight"), before_weight + 80) << "which had given all of its scores";
  expect_equal_rows(scores("whole"), scores("cut"));
  EXPECT_EQ(read_file(root_ / "whole/images/table.md"), read_file(root_ / "cut/images/table.md"));
  EXPECT_EQ(images, images_and_times());
  EXPECT_PROBLEM(on("check images", "cut"), "rules hold");
  output_of("db check --out " + at("cut"));
  output_of("db rebuild --out " + at("cut"));
  expect_equal_rows(scores("whole"), scores("cut"));

  // Nothing is left to ask for.
  EXPECT_EQ(ends(0, score("cut")).err.find("again"), std::string::npos);
  EXPECT_EQ(asked("level"), before_level + 90);
}

TEST_F(ScoresAgain, EveryOtherTableOfTheSameScoresIsComputedAnewToo) {
  add_scorers_and_rows(24);
  tell("level", answers(10, 1, nullptr));
  ends(1, score("o"));
  ends(1, score("o", "--title 'The same again'"));
  tell("level", {{"else", 1}});
  EXPECT_PROBLEM(ends(0, score("o")).err, "experiment 2 (images) was recomputed");
  EXPECT_EQ(query("o",
                  "SELECT reproduction_id AS id, n, n_missing FROM comparisons "
                  "WHERE metric = 'level' ORDER BY 1"),
            "id,n,n_missing\n1,24,0\n2,24,0\n");
  EXPECT_PROBLEM(on("check images", "o"), "rules hold");
  EXPECT_EQ(read_file(root_ / "o/experiments/2-images/table.md").find("missing"), std::string::npos);
}

TEST_F(ScoresAgain, WhatIsMissingForGoodIsNotAskedForAgain) {
  add_scorers_and_rows(24);
  Json told = answers(4, 1, {{"error", "no face in the image"}, {"lasting", true}});
  told["6"] = {{"values", {{"level", nullptr}}}, {"lasting", true}};
  tell("level", told);
  write_file(root_ / "a/5.png", read_file(root_ / "a/5.png").substr(0, 60));
  ends(0, score("o"));
  const auto once = asked("level");
  EXPECT_EQ(once, 47) << "and no scorer sees a file that cannot be read";
  EXPECT_PROBLEM(scores("o"), "no face in the image (lasting)");
  tell("level", {{"else", 1}});
  EXPECT_EQ(ends(0, score("o", "--dry-run")).out.find("ask for again"), std::string::npos);
  ends(0, score("o"));
  EXPECT_EQ(asked("level"), once);
}

TEST_F(ScoresAgain, AScorerThatDiesOnAnImageIsAskedAgainForThatOneAlone) {
  add_scorers_and_rows(24);
  tell("level", answers(20, 1, "exit"));
  EXPECT_PROBLEM(ends(1, score("o")).err,
                 "1 required score is missing for a reason that may pass (the scorer "
                 "ended with status 3)");
  const auto once = asked("level");
  tell("level", {{"else", 1}});
  ends(0, score("o"));
  EXPECT_EQ(asked("level"), once + 1);
}

TEST_F(ScoresAgain, AnEvaluationStopsWhereTheFirstImagesShowThatAScorerIsIll) {
  add_scorers_and_rows(48);
  tell("level", answers(60, 2, "connection refused"));
  const auto stopped = ends(1, score("o", "--jobs 1"));
  EXPECT_PROBLEM(
      stopped.err,
      "score a on test (seed 1): 2 of the first 32 images have no level, which is required: the scorer "
      "reports: connection refused; no further image was generated or scored");
  EXPECT_LE(asked("level"), 32);
  tell("level", {{"else", 1}});
  ends(0, score("o", "--jobs 1"));
  ends(0, score("whole", "--jobs 1"));
  expect_equal_rows(scores("whole"), scores("o"));

  // One of 32 is not too many; a scorer that calls every reason lasting is ill all the same.
  tell("level", answers(60, 1, "connection refused"));
  EXPECT_PROBLEM(ends(1, score("one", "--jobs 1")).err, "1 required score is missing");
  tell("level", {{"else", {{"error", "out of words"}, {"lasting", true}}}, {"test image", 1}});
  EXPECT_PROBLEM(ends(1, score("none", "--jobs 1")).err,
                 "32 of the first 32 images have no level, which is required: out of words (lasting)");
}

TEST_F(ScoresAgain, AScorerWithoutARequiredValueOfTheTestImageStopsThePlan) {
  add_scorers_and_rows(3);
  const std::vector<std::pair<Json, std::string>> cases = {
      {"Connection refused", "the scorer reports: Connection refused"},
      {nullptr, "the answer's \"level\" is \"null\", which is no number"},
      {{{"values", {{"levle", 1}}}}, "the answer holds no \"level\""},
      {{{"error", "too small"}, {"lasting", true}}, "too small (lasting)"},
      {"exit", "ended with status 3"}};
  for (const auto& [answer, reason] : cases) {
    SCOPED_TRACE(reason);
    tell("level", {{"else", 1}, {"test image", answer}});
    const auto refused = ends(2, score("o", "--dry-run"));
    EXPECT_PROBLEM(refused.err, "scorers/level/scorer.json: ");
    EXPECT_PROBLEM(refused.err, reason);
  }
  tell("level", {{"else", 1}, {"test image", "Connection refused"}});
  EXPECT_PROBLEM(ends(2, score("o")).err,
                 "gives no level of a test image: the scorer reports: Connection refused");
  const auto findings = shell(fmt::format("{} doctor --scorers {}", kProgram, at("scorers")));
  EXPECT_PROBLEM(findings.out, "gives no level of a test image: the scorer reports: Connection refused");
  EXPECT_EQ(asked("level"), 0);
  // One that needs a picture of its own kind brings it.
  write_image_of_its_own("level");
  tell("level", {{"else", 1}, {"7", {{"error", "no face"}, {"lasting", true}}}});
  EXPECT_PROBLEM(ends(2, score("o")).err, "gives no level of a test image: no face (lasting)");
  tell("level", {{"else", {{"error", "no face"}, {"lasting", true}}}, {"7", 1}});
  EXPECT_PROBLEM(ends(1, score("o")).err, "3 of the first 3 images have no level");
}

TEST_F(ScoresAgain, AnEvaluationThatIsDrawnHereGoesOnFromItsImages) {
  add_scorer("level");
  patch_table({{"methods", {"ratio-norm"}},
               {"scales", {{"smoke", {{"checkpoints", {2}}, {"settings", {{"updates", 2}}}}}}},
               {"metrics", {{"required", {"ocr_reward", "level"}}, {"optional", nullptr}}},
               {"columns", {{{"name", "ocr_reward"}}, {{"name", "level"}}}}});
  const auto scorers = "--scorers " + at("scorers");
  expect_reproduced("whole", scorers);
  tell("level", {{"else", "connection refused"}, {"test image", 1}});
  EXPECT_PROBLEM(ends(1, reproduce("cut", scorers)).err, "images have no level, which is required");
  const auto drawn = json_rows("cut", "SELECT count(*) AS n FROM samples").at(0).at("n").get<int>();
  EXPECT_GT(drawn, 0);
  EXPECT_LE(drawn, 7);
  tell("level", {{"else", 1}});
  expect_reproduced("cut", scorers);
  EXPECT_EQ(rows("whole"), rows("cut"));
  EXPECT_PROBLEM(on("check chain", "cut"), "rules hold");
}

}  // namespace
}  // namespace harness
