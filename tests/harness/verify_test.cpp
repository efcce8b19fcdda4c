#include <set>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

class Verify : public FinishedRun {
 protected:
  static Words verify(const fs::path& workspace, const Words& more = {}) {
    return with({"verify", "--db", (workspace / "results.sqlite").string()}, more);
  }

  static void change(const fs::path& workspace, const std::string& sql) {
    ASSERT_GT(place().sql(sql, workspace / "results.sqlite"), 0) << sql;
  }

  static std::set<fs::path> files_of(const fs::path& workspace) {
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(workspace)) {
      // SQLite's own come and go with readers.
      if (!entry.path().filename().string().starts_with("results.sqlite-")) files.insert(entry.path());
    }
    return files;
  }
};

TEST_F(Verify, EveryTestedCheckpointGivesTheSameBitsAgainAndNothingIsWritten) {
  const auto workspace = place().folder() / "runs";
  const auto before = files_of(workspace);
  const auto document = place().json(verify(workspace, {"--json", "--images", "5"}));
  ASSERT_GE(document.at("jobs").size(), 2u);
  for (const auto& job : document.at("jobs")) {
    EXPECT_EQ(job.at("compared"), 5);
    EXPECT_GT(job.at("of"), 5);
    EXPECT_EQ(job.at("same"), true) << job.dump();
    EXPECT_THAT(job.at("name").get<std::string>(), HasSubstr("on test"));
  }
  EXPECT_EQ(files_of(workspace), before);
}

// There an image's bits may depend on the shard that it is drawn in.
// In a container every call may have the same process id, and a worker goes on with what is in its folder.
TEST_F(Verify, TakesAFolderThatNoCallHadBefore) {
  const auto workspace = copy();
  const auto folders = [&] {
    return std::ranges::count_if(fs::directory_iterator(workspace), [](const auto& entry) {
      return entry.path().filename().string().starts_with("verify-");
    });
  };
  for (int calls = 1; calls <= 2; ++calls) {
    place().ok(verify(workspace, {"--images", "1", "--keep"}), {"kept: "});
    EXPECT_EQ(folders(), calls);
  }
}

TEST_F(Verify, OfAGpuTakesWholeShards) {
  const auto workspace = copy();
  std::size_t images = 0;
  for (const auto& entry : fs::recursive_directory_iterator(workspace)) {
    if (entry.path().filename() != "job.json") continue;
    auto job = read_json(entry.path());
    if (job.at("identity").value("kind", "") != "evaluate") continue;
    job["identity"]["device"] = "NVIDIA H200, fused blocks";
    job["identity"]["settings"]["eval_shard"] = 4;
    write_file(entry.path(), job.dump());
    images = std::max(images, read_json(entry.path().parent_path() / "positions.json").size());
  }
  ASSERT_GT(images, 8u);
  const auto document = place().json(verify(workspace, {"--json", "--images", "5"}));
  for (const auto& job : document.at("jobs")) {
    EXPECT_EQ(job.at("compared"), 8) << job.dump();
    EXPECT_EQ(job.at("same"), true) << job.dump();
  }
}

TEST_F(Verify, TrainingsGiveTheSameStatisticsAndCheckpointsAgain) {
  const auto document =
      place().json(verify(place().folder() / "runs", {"--json", "--training", "--images", "2"}));
  std::size_t trainings = 0;
  for (const auto& job : document.at("jobs")) {
    EXPECT_EQ(job.at("same"), true) << job.dump();
    trainings += job.at("kind") == "train" ? 1 : 0;
    EXPECT_GT(job.at("compared").get<int>(), 0);
  }
  EXPECT_GE(trainings, 1u);
}

TEST_F(Verify, AChangedScoreImageTranscriptOrStatisticIsFoundAndNamed) {
  struct Change {
    const char *sql, *said;
  };
  for (const auto& [sql, said] :
       {Change{"UPDATE metrics SET value = value + 1e-9 WHERE name = 'ocr_reward'", "ocr_reward"},
        Change{"UPDATE samples SET sha256 = 'ab' || substr(sha256, 3)", "SHA-256 of the image"},
        Change{"UPDATE samples SET transcript = transcript || '.' WHERE transcript IS NOT NULL",
               "transcript"},
        Change{"UPDATE train_stats SET value = value + 1e-12 WHERE name = 'reward_mean'", "reward_mean"}}) {
    SCOPED_TRACE(sql);
    const auto workspace = copy();
    change(workspace, sql);
    place().fails(1, verify(workspace, {"--training", "--images", "3"}), {},
                  {said, "is recorded, and", "DIFFERENCES"});
  }
}

TEST_F(Verify, WhatTheRepetitionDoesNotGiveIsADifferenceToo) {
  const auto workspace = copy();
  change(
      workspace,
      "INSERT INTO train_stats (run_id, update_index, timestep, name, value, fresh) SELECT run_id, 1, NULL, "
      "'another', 1, 1 FROM train_stats GROUP BY run_id");
  place().fails(1, verify(workspace, {"--training", "--images", "1"}), {},
                {"update 1, another", "DIFFERENCES"});
}

TEST_F(Verify, AStatisticThatTheRecordedProgramDidNotMeasureIsNoDifference) {
  const auto workspace = copy();
  change(workspace, "DELETE FROM train_stats WHERE name = 'clip_fraction'");
  place().ok(verify(workspace, {"--training", "--images", "1"}));
  change(workspace, "DELETE FROM train_stats WHERE name = 'reward_mean' AND update_index = 2");
  // One value of a statistic that was measured is missing.
  place().fails(1, verify(workspace, {"--training", "--images", "1"}), {}, {"reward_mean"});
}

TEST_F(Verify, ARunIsNamedByTheFirstDigitsOfItsId) {
  const std::string id = place().json({"list", "runs", "--json"}).at(0).at("name");
  const auto document =
      place().json(verify(place().folder() / "runs", {id.substr(0, 8), "--images", "1", "--json"}));
  for (const auto& job : document.at("jobs")) EXPECT_EQ(job.at("run"), id);
}

TEST_F(Verify, WhatCannotBeVerifiedIsAnErrorOfTheCommandLine) {
  place().fails(2, verify(place().folder() / "runs", {"zzzz"}),
                {"no run of this workspace begins with \"zzzz\""});
  const auto workspace = copy();
  for (const auto& entry : fs::recursive_directory_iterator(workspace)) {
    if (entry.path().filename() == "job.json") fs::remove(entry.path());
  }
  change(workspace, "UPDATE jobs SET folder = '/nowhere/' || folder");
  place().fails(2, verify(workspace), {"the run's files are gone"});
}

}  // namespace
}  // namespace harness::test
