#include "worker/scoring.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/event_log.h"
#include "core/processes/port.h"
#include "core/sha256.h"
#include "core/source_sums/source_sums.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "evaluators/clip/clip_scorers.h"
#include "evaluators/external_scorer.h"
#include "evaluators/jpeg.h"
#include "evaluators/ocr.h"
#include "tests/programs.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"
#include "trainers/method.h"
#include "worker/scored_images.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

fs::path scorer_folder(const std::string& name) {
  return fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers" / name;
}

Json identity_of(const std::string& name, const std::string& profile) {
  const auto& scorer = *find_clip_scorer(name);
  auto identity = clip_identity(scorer, scorer.profile(profile, "test"));
  for (const auto& file : single_model_files(scorer_folder(name)))
    identity["files"][file.string()] = sha256_file(scorer_folder(name) / file);
  return identity;
}

WorkerJob job_with(const Json& scorers) {
  WorkerJob job;
  job.folder = "job";
  job.identity = {{"scorers", scorers}};
  job.paths = Json::object();
  for (const auto& [name, _] : scorers.items()) job.paths["scorer:" + name] = scorer_folder(name).string();
  return job;
}

void expect_refused(const std::string& name, const Json& identity, const std::string& problem) {
  EXPECT_PROBLEM(message_of([&] { open_scorers(job_with({{name, identity}})); }), problem);
}

Image recorded_image() {
  return read_png(scorer_folder("images") / "0.png");
}

TEST(Scoring, AllScorersOfAJobGiveTheirMetricsOfThePrompt) {
  const auto scoring = open_scorers(job_with({{"pickscore", identity_of("pickscore", "pickscore")},
                                              {"clip_score", identity_of("clip_score", "flow-grpo")},
                                              {"jpeg", jpeg_identity()}}));
  const auto row = read_json(scorer_folder("expected.json")).at(1);
  const auto score =
      scoring.score(row.at("prompt").get<std::string>(), Target("OPEN"), recorded_image()).get();
  EXPECT_NEAR(*score.metrics.at("pickscore"), row.at("pickscore").get<double>(), 3e-5);
  EXPECT_NEAR(*score.metrics.at("clip_score"), row.at("flow-grpo").get<double>(), 3e-5);
  EXPECT_GT(*score.metrics.at("jpeg_kb"), 0);
  EXPECT_TRUE(score.reasons.empty());
  EXPECT_EQ(task_reward("pickscore", score), score.metrics.at("pickscore"));
}

TEST(Scoring, AFileThatIsNotThePlannedOneStopsTheJob) {
  auto identity = identity_of("pickscore", "pickscore");
  identity["files"]["config.json"] = sha256_hex("another");
  expect_refused("pickscore", identity,
                 "scorer pickscore differs from the one that the run was planned with");
}

TEST(Scoring, AVersionOrProfileThatThisBuildDoesNotHaveStopsTheJob) {
  auto identity = identity_of("clip_score", "clip");
  identity["version"] = "0";
  expect_refused("clip_score", identity, "differs");
  identity = identity_of("clip_score", "clip");
  identity["profile"] = "flow-gpro";
  expect_refused("clip_score", identity, "did you mean \"flow-grpo\"");
}

Json sample(int position, const std::string& reason = "") {
  Json event = {
      {"type", "sample"}, {"position", position}, {"sample", 0}, {"path", ""}, {"reasons", Json::object()}};
  if (!reason.empty()) event["reasons"]["ocr_reward"] = reason;
  return event;
}

/// What a log of these events says.
ScoredImages read_back(const std::vector<Json>& events, bool all = false) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "events.log";
  {
    EventLogWriter writer(log);
    for (const auto& event : events) writer.append(event);
  }
  return scored_images(log, {.metrics = {"ocr_reward"}, .all = all});
}

std::set<int> positions(const ScoredImages& images) {
  std::set<int> positions;
  for (const auto& [key, _] : images.scorers) positions.insert(key.position);
  return positions;
}

const Json kCompleted = {{"type", "job_completed"}};

constexpr const char* kLate = "no answer within 20000 ms";

TEST(ScoredImages, AFailedScoreIsNotTriedTwiceInOneEvaluation) {
  const auto images = read_back({sample(3), sample(4, kLate)});
  EXPECT_FALSE(images.again);
  EXPECT_EQ(positions(images), (std::set<int>{3, 4}));
}

TEST(ScoredImages, OfAnEvaluationThatHasEndedWhatMayPassIsScoredAgain) {
  const std::vector<Json> samples = {sample(3), sample(4, kLate), sample(5, kNoTargetReason),
                                     sample(6, "the image is a CMYK JPEG")};
  for (const char* end : {"job_completed", "job_failed"}) {
    auto events = samples;
    events.push_back({{"type", end}});
    const auto images = read_back(events);
    EXPECT_TRUE(images.again);
    EXPECT_EQ(images.was_complete, end == kCompleted.at("type"));
    EXPECT_EQ(positions(images), (std::set<int>{3, 5, 6}));
    EXPECT_EQ(images.failed.at({4, 0}).at("reasons").at("ocr_reward"), kLate);
    EXPECT_EQ(positions(read_back(events, true)), (std::set<int>{3, 5})) << "whatever the reason";
  }
}

TEST(ScoredImages, OfAnotherMetricNothingIsAskedForAgain) {
  auto other = sample(4);
  other["reasons"]["level"] = kLate;
  EXPECT_EQ(positions(read_back({other, kCompleted})), (std::set<int>{4}));
}

TEST(ScoredImages, KilledWhileItScoresAgainItGoesOnWithTheFailuresThatAreLeft) {
  const auto images = read_back({sample(3, kLate), sample(4, kLate), kCompleted, sample(3)});
  EXPECT_TRUE(images.again);
  EXPECT_EQ(positions(images), (std::set<int>{3}));
}

class WorkerWithScorers : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::mkfifo((root_ / "input").c_str(), 0600), 0);  // a worker ends when its input does
    for (int i = 0; i < 11; ++i) prompts_ += fmt::format("A sign that reads \"WORD {}\"\n", i);
    write_file(root_ / "prompts.txt", prompts_);
    write_file(root_ / "positions.json", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
  }

  std::string worker(const std::string& words) const {
    return fmt::format("{}/harness-worker {} <>{}/input 2>&1", HARNESS_BINARY_DIR, words, root_.string());
  }

  Json common(const std::string& kind) const {
    return {{"kind", kind},
            {"backbone", "glyph"},
            {"weights_sha256", weights_checksum(fs::path(HARNESS_SOURCE_DIR) / "models/backbones/glyph")},
            {"device", "cpu"},
            {"seed", 42}};
  }

  /// The command of two processes that share a job.
  std::string two_workers(const std::string& words) const {
    return fmt::format(
        "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={}; RANK=1 {} & RANK=0 {}; status=$?; "
        "wait $! && exit $status",
        free_port(), worker(words), worker(words));
  }

  /// Runs a job of the embedded backbone and returns its events.
  std::vector<Json> run(const std::string& name, Json identity, const Json& scorers, int threads,
                        bool shared = false) const {
    identity["scorers"] = scorers;
    Json paths = {{"weights", (fs::path(HARNESS_SOURCE_DIR) / "models/backbones/glyph").string()},
                  {"text_cache", (root_ / "texts").string()},
                  {"prompts", (root_ / "prompts.txt").string()},
                  {"train_prompts", (root_ / "prompts.txt").string()},
                  {"positions", (root_ / "positions.json").string()}};
    for (const auto& [scorer, _] : scorers.items()) {
      const auto own = root_ / "scorers" / scorer;
      paths["scorer:" + scorer] = (fs::exists(own) ? own : scorer_folder(scorer)).string();
    }
    fs::create_directories(root_ / name);
    write_file(root_ / name / "job.json", Json{{"id", name},
                                               {"identity", identity},
                                               {"paths", paths},
                                               {"options", {{"threads", threads}, {"device", "cpu"}}}}
                                              .dump());
    const auto words = "run " + (root_ / name).string();
    const auto finished = shell(shared ? two_workers(words) : worker(words));
    EXPECT_EQ(finished.status, 0) << finished.out;
    return read_events(root_ / name / "events.log", 0).events;
  }

  /// The identity of an evaluation, without its scorers.
  Json evaluation(int shard, const Json& metrics) const {
    Json identity = common("evaluate");
    identity["step"] = 0;
    identity["prompts_sha256"] = sha256_hex(prompts_);
    identity["settings"] = {{"eval_shard", shard}, {"eval_steps", 2}};
    identity["metrics"] = metrics;
    return identity;
  }

  /// `what` of each image of an evaluation, by position.
  std::map<int, Json> evaluated(const std::string& name, int threads, int shard, const Json& scorers,
                                const Json& metrics, const char* what) const {
    std::map<int, Json> found;
    for (const auto& event : run(name, evaluation(shard, metrics), scorers, threads)) {
      if (event.at("type") == "sample") found[event.at("position").get<int>()] = event.at(what);
    }
    return found;
  }

  /// Statistics of the updates of a training that PickScore rewards.
  std::vector<Json> trained(const std::string& method, const Json& settings) const {
    Json identity = common("train");
    identity["task"] = "pickscore";
    identity["method"] = method;
    identity["method_settings"] = Json::object();
    identity["method_source"] = source_of({methods().at(method).file}).at("identity");
    identity["train_prompts_sha256"] = sha256_hex(prompts_);
    identity["settings"] = {{"prompts_per_epoch", 2},
                            {"group_size", 3},
                            {"shard_prompts", 1},
                            {"updates_per_epoch", 2},
                            {"late_steps", 3}};
    identity["settings"].update(settings);
    std::vector<Json> updates;
    for (const auto& event :
         run("train", identity, {{"pickscore", identity_of("pickscore", "pickscore")}}, 2)) {
      if (event.at("type") == "update") updates.push_back(event.at("stats"));
    }
    return updates;
  }

  std::map<int, Json> evaluate(const std::string& name, int threads, int shard) const {
    return evaluated(name, threads, shard,
                     {{"pickscore", identity_of("pickscore", "pickscore")},
                      {"clip_score", identity_of("clip_score", "clip")}},
                     {"pickscore", "clip_score"}, "metrics");
  }

  /// An external scorer whose one metric is `level`; its identity.
  Json add_scorer(const Json& command, int restarts, const Json& more = Json::object()) const {
    const auto folder = root_ / "scorers/gauge";
    fs::create_directories(folder);
    Json spec = {{"version", "1"},
                 {"command", command},
                 {"restarts", restarts},
                 {"metrics", {{"level", {{"better", "none"}}}}}};
    spec.update(more);
    write_file(folder / "scorer.json", spec.dump());
    return external_scorer_identity(read_external_scorer(folder), sha256_file);
  }

  /// Fails on every image and is given up after four restarts.
  Json add_failing_scorer() const {
    return add_scorer({"sh", "-c", "echo '{\"protocol\": 1}'; read request"}, 4);
  }

  /// Finds 1 where an image's file is there. On the third prompt it fails, and is given up at once.
  Json add_fragile_scorer() const {
    make_folder(root_ / "scorers/gauge");
    write_file(root_ / "scorers/gauge/gauge.py",
               "import json, os, sys\n"
               "print('{\"protocol\": 1}', flush=True)\n"
               "for line in sys.stdin:\n"
               "    request = json.loads(line)\n"
               "    if 'WORD 2' in request['prompt']:\n"
               "        sys.exit(3)\n"
               "    level = int(os.path.exists(request['path']))\n"
               "    print(json.dumps({'id': request['id'], 'values': {'level': level}}), flush=True)\n");
    return add_scorer({"python3", "gauge.py"}, 0, {{"images", "path"}});
  }

  /// Why each image has no value of an external scorer, by position.
  std::map<int, std::string> failures(const std::string& name, const Json& scorer) const {
    std::map<int, std::string> reasons;
    for (const auto& [position, reason] :
         evaluated(name, 1, 2, {{"gauge", scorer}}, Json::array({"level"}), "reasons"))
      reasons[position] = reason.at("level");
    return reasons;
  }

  /// The log as a kill leaves it: up to its `samples`-th image.
  void cut_log(const std::string& name, int samples) const {
    const auto file = root_ / name / "events.log";
    std::string kept;
    for (const auto& line : split(read_file(file), '\n')) {
      const bool is_sample = line.find("\"type\":\"sample\"") != std::string::npos;
      if (is_sample && samples-- == 0) break;
      kept += line + "\n";
    }
    write_file(file, kept);
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
  std::string prompts_;
};

TEST_F(WorkerWithScorers, AnInterruptionGivesAFailingScorerNoFurtherRestarts) {
  const auto scorer = add_failing_scorer();
  const auto whole = failures("job", scorer);
  ASSERT_EQ(whole.size(), 11U);
  EXPECT_EQ(whole.at(4).find("given up"), std::string::npos) << whole.at(4);
  EXPECT_PROBLEM(whole.at(5), "given up after 4 restarts");
  EXPECT_EQ(whole.at(10), whole.at(5));
  for (const int samples : {9, 6, 3}) {
    cut_log("job", samples);
    EXPECT_EQ(failures("job", scorer), whole) << "killed after " << samples;
  }
}

TEST_F(WorkerWithScorers, ImagesThatAPowerCutTookFromTheDiskAreMadeAgain) {
  const auto scorer = add_fragile_scorer();
  const auto whole = evaluated("job", 1, 2, {{"gauge", scorer}}, Json::array({"level"}), "sha256");
  const auto image = [&](int position) { return root_ / "job" / fmt::format("images/{:04}.png", position); };
  cut_log("job", 9);
  fs::remove(image(1));
  write_file(image(5), "");
  write_file(image(6), read_file(image(7)));
  const auto again = evaluated("job", 1, 2, {{"gauge", scorer}}, Json::array({"level"}), "sha256");
  EXPECT_EQ(again, whole);
  for (const auto& [position, sha256] : whole)
    EXPECT_EQ(sha256_hex(read_file(image(position))), sha256.get<std::string>()) << position;
  std::vector<std::string> notes;
  for (const auto& event : read_events(root_ / "job" / "events.log", 0).events) {
    if (event.at("type") == "note") notes.push_back(event.at("message"));
  }
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_PROBLEM(notes.front(), "3 images that the event log has are missing or damaged");
}

// Of shards of two images the first process has those of the prompts 0, 1, 4, 5, 8 and 9.
TEST_F(WorkerWithScorers, EachProcessOfAJobHasImagesAndFailuresOfItsOwnAndTheRecordTheNotesOfAll) {
  std::map<int, std::string> found;
  Json summary;
  for (const auto& event :
       run("two", evaluation(2, Json::array({"level"})), {{"gauge", add_fragile_scorer()}}, 1, true)) {
    if (event.at("type") == "job_completed") summary = event.at("summary");
    if (event.at("type") != "sample") continue;
    const auto& value = event.at("metrics").at("level");
    found[event.at("position").get<int>()] =
        value.is_null() ? event.at("reasons").at("level").get<std::string>() : value.dump();
  }
  ASSERT_EQ(found.size(), 11U);
  for (const int position : {0, 1, 4, 5, 8, 9}) EXPECT_EQ(found.at(position), "1.0") << position;
  for (const int position : {3, 6, 7, 10}) EXPECT_PROBLEM(found.at(position), "given up after 0 restarts");
  const auto notes = summary.at("table_notes").get<std::vector<std::string>>();
  const auto tells = [](const std::string& note) { return note.find("given up") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(notes, tells), 1) << summary;
  EXPECT_GE(summary.at("scorers_replaced").get<int>(), 1);
  for (const auto& entry : fs::directory_iterator(root_ / "two"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("images-for-")) << entry.path();
}

TEST_F(WorkerWithScorers, AnEvaluationsScoresDoNotDependOnThreads) {
  const auto one = evaluate("one", 1, 4);
  EXPECT_EQ(one.size(), 11U);
  for (const auto& [position, metrics] : one) {
    EXPECT_TRUE(metrics.at("pickscore").is_number()) << position;
    EXPECT_TRUE(metrics.at("clip_score").is_number()) << position;
  }
  EXPECT_EQ(evaluate("two", 2, 4), one);
}

TEST_F(WorkerWithScorers, AnEvaluationStoresTheScoresOfItsImages) {
  const auto stored = evaluate("images", 2, 3);
  const auto scoring = open_scorers(job_with({{"pickscore", identity_of("pickscore", "pickscore")}}));
  for (const int i : {0, 7, 10}) {
    const auto image = read_png(root_ / "images/images" / fmt::format("{:04}.png", i));
    const auto score = scoring.score(fmt::format("A sign that reads \"WORD {}\"", i), {}, image).get();
    EXPECT_EQ(stored.at(i).at("pickscore").get<double>(), *score.metrics.at("pickscore")) << i;
  }
}

TEST_F(WorkerWithScorers, PickScoreRewardsATraining) {
  const auto updates =
      trained("lambda-norm-t", {{"sampling_steps", 6}, {"updates", 4}, {"checkpoints", {4}}});
  EXPECT_EQ(updates.size(), 4U);
  for (const auto& stats : updates) {
    EXPECT_NE(stats.at("reward_mean").get<double>(), 0);
    EXPECT_GT(stats.at("reward_std").get<double>(), 0);
    EXPECT_EQ(stats.at("missing_rewards").get<double>(), 0);
  }
}

// Of the same images in every update, which are sampled anew by the weights of then.
TEST_F(WorkerWithScorers, TheGradientOfPickScoreRaisesIt) {
  const auto updates = trained("draft-k", {{"sampling_steps", 4},
                                           {"prompts_per_epoch", 2},
                                           {"updates_per_epoch", 1},
                                           {"inner_epochs", 8},
                                           {"updates", 8},
                                           {"checkpoints", {8}},
                                           {"lr", 1e-3}});
  ASSERT_EQ(updates.size(), 8U);
  const auto reward = [&](std::size_t i) { return updates[i].at("reward_mean").get<double>(); };
  EXPECT_GT(reward(7), reward(0));
  EXPECT_EQ(updates[7].at("images"), 48);
}

TEST_F(WorkerWithScorers, CheckReadsTheFoldersAndCountsTheirMemoryOnce) {
  const auto check = [&](const fs::path& folder) {
    write_file(root_ / "request.json", Json{{"json", true},
                                            {"task", "pickscore"},
                                            {"backbone", "glyph"},
                                            {"weights", ""},
                                            {"device_kind", "cpu"},
                                            {"threads", 4},
                                            {"ranks", 1},
                                            {"methods", Json::array()},
                                            {"scorers", {{"pickscore", {{"folder", folder.string()}}}}}}
                                           .dump());
    return shell(worker("check --request " + (root_ / "request.json").string()));
  };
  const auto whole = check(scorer_folder("pickscore"));
  EXPECT_EQ(whole.status, 0) << whole.out;
  const auto bytes = parse_json(whole.out, "check").at("resources").at("memory").at("scorers").get<double>();
  EXPECT_NEAR(bytes, static_cast<double>(fs::file_size(scorer_folder("pickscore") / "model.safetensors")),
              20'000);

  fs::copy(scorer_folder("pickscore"), root_ / "broken", fs::copy_options::recursive);
  write_file(root_ / "broken/model.safetensors", "no header");
  const auto broken = check(root_ / "broken");
  EXPECT_EQ(broken.status, 2) << broken.out;
  EXPECT_PROBLEM(broken.out, "model.safetensors");
}

}  // namespace
}  // namespace harness
