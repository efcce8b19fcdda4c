#include "evaluators/external_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "evaluators/scorers.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExternalScorerFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "data/deep");
    for (const char* file : {"score.py", "run", "data/a.bin", "data/deep/b.bin", "notes.txt"})
      write_file(folder_ / file, file);
  }

  ExternalScorerSpec read(const Json& changes = Json::object()) const {
    Json spec = {{"version", "1"},
                 {"command", {"python3", "score.py", "--fast"}},
                 {"metrics", {{"level", {{"better", "none"}}}}}};
    spec.merge_patch(changes);
    write_file(folder_ / "scorer.json", spec.dump());
    return read_external_scorer(folder_);
  }

  /// tests/data/scorers/misbehaving_scorer.py, at work for a process of a job.
  std::unique_ptr<Scorer> misbehaving(const std::string& way, Json changes, int rank = 0) const {
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers/misbehaving_scorer.py",
                  folder_ / "score.py", fs::copy_options::overwrite_existing);
    changes["command"] = {"python3", "score.py", way};
    const auto spec = read(changes);
    return open_external_scorer({.name = spec.name,
                                 .identity = external_scorer_identity(spec, sha256_file),
                                 .path = [this](const std::string&) { return folder_; },
                                 .scratch = root_.path(),
                                 .rank = rank});
  }

  /// Names of the folders of images that are there.
  std::set<std::string> image_folders() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_.path())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("images-for-")) names.insert(name);
    }
    return names;
  }

  /// The message, without the folder.
  std::string error(const Json& changes) const {
    auto text = message_of([&] { read(changes); });
    const auto at = text.find(folder_.string() + "/");
    return at == std::string::npos ? text : text.erase(at, folder_.string().size() + 1);
  }

  const TemporaryFolder root_;
  const fs::path folder_ = root_.path() / "gauge";
};

TEST_F(ExternalScorerFolder, HasDefaultsForAllButVersionCommandAndMetrics) {
  const auto spec = read();
  EXPECT_EQ(spec.name, "gauge");
  EXPECT_FALSE(spec.by_path);
  EXPECT_EQ(spec.deadline_ms, 30'000);
  EXPECT_EQ(spec.start_deadline_ms, 60'000);
  EXPECT_EQ(spec.processes, 1);
  EXPECT_EQ(spec.restarts, 5);
  EXPECT_EQ(spec.environment.at("OMP_THREAD_LIMIT"), "1");
  EXPECT_EQ(spec.metrics.at(0).title, "level");
}

TEST_F(ExternalScorerFolder, EveryMistakeIsNamedWithItsPlace) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"version", nullptr}}, "\"version\" is missing"},
      {{{"version", ""}}, "version: is empty"},
      {{{"comand", 1}}, "unknown key \"comand\"; did you mean \"command\"?"},
      {{{"command", "python3"}}, "\"command\" has the wrong type"},
      {{{"command", Json::array()}}, "command: names no program"},
      {{{"command", {"run"}}}, "command[0]: \"run\" is a file of this folder; write \"./run\""},
      {{{"command", {"./walk"}}}, "command[0]: there is no file \"./walk\""},
      {{{"files", {"model.bin"}}}, "files: there is no \"model.bin\""},
      {{{"files", {"../other"}}}, "files: \"../other\" lies outside of the scorer's folder"},
      {{{"files", {"/etc/passwd"}}}, "files: \"/etc/passwd\" lies outside"},
      {{{"images", "png"}}, "images: is \"png\"; known: pixels, path"},
      {{{"deadline_seconds", 0}}, "deadline_seconds: must be 0.001 to 86400 seconds"},
      {{{"processes", 0}}, "processes: must be 1 to 256"},
      {{{"restarts", -1}}, "restarts: must be 0 to 1000000"},
      {{{"environment", {{"A=B", "x"}}}}, "environment: \"A=B\" is not a valid environment variable"},
      {{{"metrics", {{"level", nullptr}}}}, "metrics: names no metric"},
      {{{"metrics", {{"level", {{"better", "up"}}}}}}, "metrics.level: better: unknown direction \"up\""},
      {{{"metrics", {{"level", {{"better", nullptr}}}}}}, "metrics.level: \"better\" is missing"},
      {{{"metrics", {{"level", {{"unit", "%"}}}}}}, "metrics.level: unit: unknown unit \"%\""},
      {{{"metrics", {{"level", {{"decimals", 13}}}}}}, "metrics.level: decimals: must be 0 to 12"},
      {{{"metrics", {{"My level", {{"better", "none"}}}}}}, "metrics.My level: invalid metric name"}};
  for (const auto& [changes, message] : cases)
    EXPECT_THAT(error(changes), HasSubstr("scorer.json: " + message)) << changes;
}

TEST_F(ExternalScorerFolder, ItsIdentityHoldsItsFilesAndNoOther) {
  EXPECT_THAT(files_of(read()), ElementsAre("score.py", "scorer.json"));
  EXPECT_THAT(files_of(read({{"command", {"./run", "data/a.bin", "../score.py"}}})),
              ElementsAre("data/a.bin", "run", "scorer.json"));
  const auto spec = read({{"files", {"data", "notes.txt"}}});
  EXPECT_THAT(files_of(spec),
              ElementsAre("data/a.bin", "data/deep/b.bin", "notes.txt", "score.py", "scorer.json"));
  const auto identity = external_scorer_identity(spec, sha256_file);
  EXPECT_EQ(identity.at("name"), "gauge");
  EXPECT_EQ(identity.at("version"), "1");
  EXPECT_EQ(identity.at("profile"), "external");
  EXPECT_EQ(identity.at("files").at("score.py"), sha256_hex("score.py"));
}

Image grey_image(int level) {
  return {4, 2, std::vector<std::uint8_t>(24, static_cast<std::uint8_t>(level))};
}

/// "12", "13", "no value: REASON" for images of these grey levels, waited for in this order.
std::vector<std::string> scores_of(Scorer& scorer, int images) {
  std::vector<std::future<SampleScore>> futures;
  for (int i = 0; i < images; ++i) futures.push_back(scorer.score({"a sign", "OPEN"}, grey_image(i)));
  std::vector<std::string> texts;
  for (auto& future : futures) {
    const auto score = future.get();
    const auto& value = score.metrics.at("level");
    texts.push_back(value ? std::to_string(static_cast<int>(*value))
                          : "no value: " + score.reasons.at("level"));
  }
  return texts;
}

TEST_F(ExternalScorerFolder, WhichImagesHaveValuesDependsOnNeitherTimingNorTheNumberOfProcesses) {
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(i > 20 ? "no value: scorer gauge was given up after 2 restarts; the last failure: the "
                                "scorer ended by signal 11 (Segmentation fault)"
                       : i % 10 == 0 ? "no value: the scorer ended by signal 11 (Segmentation fault)"
                                     : std::to_string(i));
  }
  for (const int processes : {1, 4}) {
    const auto scorer = misbehaving("crashes:every=10", {{"processes", processes}, {"restarts", 2}});
    EXPECT_EQ(scores_of(*scorer, 40), expected) << processes;
    EXPECT_TRUE(scorer->given_up().has_value());
  }
  EXPECT_THAT(image_folders(), IsEmpty());
}

TEST_F(ExternalScorerFolder, ProcessesOfAJobHaveImageFilesOfTheirOwn) {
  const auto first = misbehaving("good", {{"images", "path"}}, 0);
  const auto second = misbehaving("good", {{"images", "path"}}, 1);
  EXPECT_THAT(image_folders(), ElementsAre("images-for-gauge.0", "images-for-gauge.1"));
  std::vector<std::future<SampleScore>> ones, others;
  for (int i = 0; i < 20; ++i) {
    ones.push_back(first->score({"a sign", "OPEN"}, grey_image(i)));
    others.push_back(second->score({"a sign", "OPEN"}, grey_image(100 + i)));
  }
  for (std::size_t i = 0; i < ones.size(); ++i) {
    EXPECT_EQ(ones[i].get().metrics.at("level"), static_cast<double>(i));
    EXPECT_EQ(others[i].get().metrics.at("level"), static_cast<double>(100 + i));
  }
}

TEST_F(ExternalScorerFolder, ImagesThatMoreProcessesOfAKilledJobHaveLeftAreRemoved) {
  for (const char* left : {"images-for-gauge", "images-for-gauge.0", "images-for-gauge.7", "images"}) {
    fs::create_directories(root_.path() / left);
    write_file(root_.path() / left / "1.png", "left");
  }
  remove_left_images(root_.path());
  EXPECT_THAT(image_folders(), IsEmpty());
  EXPECT_TRUE(fs::exists(root_.path() / "images/1.png"));
  EXPECT_TRUE(fs::exists(folder_ / "score.py"));
  remove_left_images(root_.path() / "absent");
}

TEST_F(ExternalScorerFolder, IsSentTheTextToShowAndOfARecordNone) {
  write_file(folder_ / "score.py",
             "import json, sys\n"
             "print('{\"protocol\": 1}', flush=True)\n"
             "for line in sys.stdin.buffer:\n"
             "    request = json.loads(line)\n"
             "    sys.stdin.buffer.read(request['bytes'])\n"
             "    values = {'level': len(request['target'])}\n"
             "    print(json.dumps({'id': request['id'], 'values': values}), flush=True)\n");
  const auto spec = read({{"command", {"python3", "score.py"}}});
  Scorers scorers;
  scorers.add(spec.name, open_external_scorer({.name = spec.name,
                                               .identity = external_scorer_identity(spec, sha256_file),
                                               .path = [this](const std::string&) { return folder_; },
                                               .scratch = root_.path()}));
  const std::string record = R"({"tag":"counting","include":[{"class":"star","count":3}]})";
  const std::vector<std::pair<Target, double>> lengths = {
      {Target("OPEN"), 4},
      {Target(), 0},
      {Target(record), static_cast<double>(record.size())},
      {Target::of_record("three stars", record), 0}};
  for (const auto& [target, length] : lengths)
    EXPECT_EQ(scorers.score("a sign", target, grey_image(1)).get().metrics.at("level"), length)
        << target.text();
}

TEST_F(ExternalScorerFolder, OnlyImagesThatItFailsOnCountAgainstItsRestarts) {
  for (const char* way : {"twice", "ahead"}) {
    const auto scorer = misbehaving(way, {{"restarts", 0}});
    const auto scores = scores_of(*scorer, 8);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(scores[static_cast<std::size_t>(i)], std::to_string(i)) << way;
    EXPECT_EQ(scorer->given_up(), std::nullopt);
    EXPECT_TRUE(scorer->state().is_null());
  }
}

TEST_F(ExternalScorerFolder, AnotherFileThanThePlanSawIsNotStarted) {
  const auto identity = external_scorer_identity(read(), sha256_file);
  write_file(folder_ / "score.py", "changed");
  EXPECT_THROW(open_external_scorer({.name = "gauge",
                                     .identity = identity,
                                     .path = [this](const std::string&) { return folder_; },
                                     .scratch = root_.path()}),
               Error);
}

}  // namespace
}  // namespace harness
