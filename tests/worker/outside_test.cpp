#include "tests/chain.h"

// Rows of a table whose checkpoints were trained elsewhere: `--adapter`.

namespace harness {
namespace {

namespace fs = std::filesystem;

class FromOutside : public Chain {
 protected:
  /// Folder of a run's checkpoints.
  std::string checkpoints_of(const std::string& out, const std::string& method, int seed = 42) const {
    const auto rows = json_rows(
        out, fmt::format("SELECT folder FROM runs WHERE method = '{}' AND seed = {}", method, seed));
    return (fs::path(rows.at(0).at("folder").get<std::string>()) / "checkpoints").string();
  }

  /// Every image and score of a row of the table, in order, without what names the row.
  std::string scores_of(const std::string& out, const std::string& row) const {
    return query(
        out, fmt::format(
                 "SELECT runs.seed, checkpoints.step, evaluations.split, prompts.position, samples.sha256, "
                 "samples.transcript, metrics.name, metrics.value "
                 "FROM table_runs JOIN runs ON runs.id = table_runs.run_id "
                 "JOIN checkpoints ON checkpoints.run_id = runs.id "
                 "JOIN evaluations ON evaluations.checkpoint_id = checkpoints.id "
                 "JOIN samples ON samples.evaluation_id = evaluations.id "
                 "JOIN prompts ON prompts.id = samples.prompt_id "
                 "JOIN metrics ON metrics.evaluation_id = evaluations.id "
                 "AND metrics.prompt_id = samples.prompt_id AND metrics.sample = samples.sample "
                 "WHERE arm = '{}' ORDER BY 1, 2, 3, 4, 7",
                 row));
  }

  void expect_refused(const std::string& adapter, const std::string& problem,
                      const std::string& more = {}) const {
    const auto done = shell(reproduce("refused", fmt::format("--adapter '{}' {} 2>&1", adapter, more)));
    EXPECT_EQ(done.status, 2) << done.out;
    EXPECT_PROBLEM(done.out, problem);
    EXPECT_FALSE(fs::exists(root_ / "refused")) << "nothing was begun";
  }
};

TEST_F(FromOutside, ARunThatIsGivenBackHasItsImagesAndScoresBitForBit) {
  expect_reproduced("own", "--methods ratio-norm --seeds 42,43");
  fs::create_directories(root_ / "theirs");
  for (const char* seed : {"42", "43"})  // as another program would name its runs
    fs::copy(checkpoints_of("own", "ratio-norm", std::stoi(seed)), root_ / "theirs" / seed,
             fs::copy_options::recursive);
  const auto adapter =
      "--seeds 42,43 --methods ratio-norm --adapter back=" + (root_ / "theirs/{seed}/{step}").string();
  expect_reproduced("own", adapter);
  const auto trained = scores_of("own", "ratio-norm");
  EXPECT_GT(std::ranges::count(trained, '\n'), 100);
  expect_equal_rows(trained, scores_of("own", "back"));
  const auto shown = table("own");
  bool found = false;
  for (const auto& row : shown.at("rows")) {
    if (row.at("method") != "back") continue;
    found = true;
    EXPECT_TRUE(row.at("lambda_late").is_null()) << row;
  }
  EXPECT_TRUE(found);
  EXPECT_PROBLEM(read_file(root_ / "own/chain/table.md"), "Trained elsewhere: back.");
  on("check chain", "own");
  on("report chain", "own");
  const auto verified =
      shell(fmt::format("{} verify --table chain --out {} 2>&1", kHarness, (root_ / "own").string()));
  EXPECT_EQ(verified.status, 0) << verified.out;
  EXPECT_PROBLEM(verified.out, "back (seed 43)");
}

TEST_F(FromOutside, ARowOfATablesFileHasPathsRelativeToIt) {
  expect_reproduced("own", "--methods ratio-norm");
  fs::create_directories(root_ / "tables");
  fs::copy(checkpoints_of("own", "ratio-norm"), root_ / "tables/theirs", fs::copy_options::recursive);
  Json document = read_json(root_ / "chain.json");
  document["methods"] = {"ratio-norm", {{"name", "back"}, {"adapters", {"theirs/{step}"}}}};
  write_file_atomically(root_ / "tables/chain.json", document.dump());
  const auto table_of = [&](const std::string& command) {
    return shell(
        fmt::format("{} {} --table {} 2>&1", kHarness, command, (root_ / "tables/chain.json").string()));
  };
  const auto done = table_of("reproduce --scale smoke --out " + (root_ / "own").string());
  EXPECT_EQ(done.status, 0) << done.out;
  expect_equal_rows(scores_of("own", "ratio-norm"), scores_of("own", "back"));
  const auto settings = table_of("list settings");
  EXPECT_EQ(settings.status, 0) << settings.out;
}

TEST_F(FromOutside, AnAdapterOfPeftsFormHasTheScoresOfTheRunThatSavedIt) {
  const auto weights = kTree / "tests/data/parity/sd3_pipeline_sd35m/model";
  const auto with =
      "--backbone sd35-medium --methods ratio-norm --set eval_steps=4 --set trained_steps=6 --set ema_interval=1 --set updates_per_epoch=1 --weights " +
      weights.string();
  expect_reproduced("lora", with);
  expect_reproduced("lora",
                    with + " --adapter peft=" + checkpoints_of("lora", "ratio-norm") + "/{step}/adapter");
  expect_equal_rows(scores_of("lora", "ratio-norm"), scores_of("lora", "peft"));
  const fs::path kept = fs::path(checkpoints_of("lora", "outside")) / "2";
  EXPECT_EQ(read_file(kept / "model.safetensors"), read_file(kept / "ema.safetensors"));
  EXPECT_EQ(fs::hard_link_count(kept / "ema.safetensors"), 2U) << "it is on the disk once";
  const auto drawn = [&](const fs::path& checkpoint) {
    const auto image = root_ / "drawn.png";
    const auto done =
        shell(fmt::format("{} sample 'a sign \"A\"' --backbone sd35-medium --weights {} --lora {} -o {} 2>&1",
                          kHarness, weights.string(), checkpoint.string(), image.string()));
    EXPECT_EQ(done.status, 0) << done.out;
    return read_file(image);
  };
  EXPECT_TRUE(drawn(kept) == drawn(fs::path(checkpoints_of("lora", "ratio-norm")) / "2"));

  const auto other = root_ / "other/2";
  fs::create_directories(other.parent_path());
  fs::copy(fs::path(checkpoints_of("lora", "ratio-norm")) / "2/adapter", other);
  auto config = read_json(other / "adapter_config.json");
  config["alpha_pattern"] = {{"attn.to_q", 6400}};
  write_file_atomically(other / "adapter_config.json", config.dump());
  expect_reproduced("lora", with + " --adapter scaled=" + (root_ / "other/{step}").string());
  const auto rows = json_rows(
      "lora", "SELECT folder FROM table_runs JOIN runs ON runs.id = table_runs.run_id WHERE arm = 'scaled'");
  const auto run = fs::path(rows.at(0).at("folder").get<std::string>());
  EXPECT_EQ(read_json(run / "checkpoints/2/adapter/adapter_config.json").at("alpha_pattern"),
            config["alpha_pattern"]);
  EXPECT_TRUE(drawn(run / "checkpoints/2") == drawn(other));
  EXPECT_FALSE(drawn(kept) == drawn(other)) << "each layer has its own scale";
}

TEST_F(FromOutside, WhatIsNoCheckpointIsRefusedBeforeAnythingRuns) {
  const auto places = root_ / "places";
  const auto file = [&](const std::string& name) {
    fs::create_directories((places / name).parent_path());
    write_file(places / name, "{}");
  };
  file("pickled/adapter_config.json");
  file("pickled/adapter_model.bin");
  file("adapter_model.bin");
  file("both/adapter_config.json");
  file("both/adapter_model.safetensors");
  file("both/pytorch_lora_weights.safetensors");
  file("twice/a-7/adapter_config.json");
  file("twice/a-7/adapter_model.safetensors");
  file("twice/b-7/x");
  file("bare/adapter_config.json");
  fs::create_directories(places / "empty");
  fs::create_symlink(places / "loop", places / "loop");
  const auto at = [&](const std::string& name) { return "mine=" + (places / name).string(); };
  expect_refused(at("none"), "none: is not there; give a folder as peft");
  expect_refused(at("bare"), "bare: has adapter_config.json and no weights; copy adapter_model.safetensors");
  expect_refused(at("empty"), "empty: holds no checkpoint");
  fs::create_directories(places / "run/checkpoints/2");
  expect_refused(at("run"), "run/checkpoints/{step}");
  expect_refused(at("loop"), "loop: Too many levels of symbolic links");
  expect_refused(at("pickled"), "adapter_model.bin: is pickled");
  expect_refused(at("adapter_model.bin"), "adapter_model.bin: is pickled");
  expect_refused(at("both"), "holds 2 checkpoints of different kinds");
  expect_refused(at("twice/a-7") + "," + (places / "twice/b-7").string(), "step 7 is there twice");
  expect_refused(at("twice/c-{step}"), "nothing is there with a number for {step}");
  expect_refused(at("twice/a-7"), "1 run for 2 seeds", "--seeds 1,2");
  expect_refused(at("twice/a-7"), "the runs of seeds 1 and 2 are the same checkpoints",
                 "--seeds 1,2 --adapter " + at("twice/a-7"));
  expect_refused(at("both/adapter_config.json"), "is no .safetensors file");
  expect_refused("mine", "\"mine\" is no NAME=DIR");
  expect_refused("base=x", "\"base\" cannot be a row's name");
  expect_refused("ratio-norm=x", "\"ratio-norm\" is a row of the table already");
}

TEST_F(FromOutside, AnAdapterOfAnotherModelIsNamedBeforeAnyOtherWork) {
  const auto of_sd3 = kTree / "tests/data/parity/lora_sd3/adapter";
  const auto done = shell(reproduce("other", "--jobs 1 --adapter mine=" + of_sd3.string() + " 2>&1"));
  EXPECT_EQ(done.status, 2) << done.out;
  EXPECT_PROBLEM(done.out, "take in mine (seed 42): ");
  for (const char* job : {"train ", "evaluate "})
    EXPECT_EQ(done.out.find(job), std::string::npos) << done.out;
}

}  // namespace
}  // namespace harness
