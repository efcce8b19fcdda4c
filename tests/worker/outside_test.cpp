#include "core/weights/outside_checkpoint.h"
#include "models/nn/random_weights.h"
#include "models/nn/weights_io.h"
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
  const auto adapter = "--seeds 42,43 --methods ratio-norm --adapter back=" + at("theirs/{seed}/{step}");
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
  EXPECT_PROBLEM(output_of("verify --table chain --out " + at("own")), "back (seed 43)");
}

TEST_F(FromOutside, ARowOfATablesFileHasPathsRelativeToIt) {
  expect_reproduced("own", "--methods ratio-norm");
  fs::create_directories(root_ / "tables");
  fs::copy(checkpoints_of("own", "ratio-norm"), root_ / "tables/theirs", fs::copy_options::recursive);
  Json document = read_json(root_ / "chain.json");
  document["methods"] = {"ratio-norm", {{"name", "back"}, {"adapters", {"theirs/{step}"}}}};
  write_file_atomically(root_ / "tables/chain.json", document.dump());
  const auto table = " --table " + at("tables/chain.json");
  output_of("reproduce --scale smoke --out " + at("own") + table);
  expect_equal_rows(scores_of("own", "ratio-norm"), scores_of("own", "back"));
  output_of("list settings" + table);
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
    output_of(fmt::format("sample 'a sign \"A\"' --backbone sd35-medium --weights {} --lora {} -o {}",
                          weights.string(), checkpoint.string(), image.string()));
    return read_file(image);
  };
  EXPECT_TRUE(drawn(kept) == drawn(fs::path(checkpoints_of("lora", "ratio-norm")) / "2"));

  const auto other = root_ / "other/2";
  fs::create_directories(other.parent_path());
  fs::copy(fs::path(checkpoints_of("lora", "ratio-norm")) / "2/adapter", other);
  auto config = read_json(other / "adapter_config.json");
  config["alpha_pattern"] = {{"attn.to_q", 6400}};
  write_file_atomically(other / "adapter_config.json", config.dump());
  expect_reproduced("lora", with + " --adapter scaled=" + at("other/{step}"));
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
  for (const char* name :
       {"pickled/adapter_config.json", "pickled/adapter_model.bin", "both/adapter_config.json",
        "both/adapter_model.safetensors", "both/pytorch_lora_weights.safetensors", "bare/adapter_config.json",
        "twice/a-7/adapter_config.json", "twice/a-7/adapter_model.safetensors", "twice/b-7/x",
        "twice/step-7/x", "twice/b/checkpoint_7/x"}) {
    fs::create_directories((places / name).parent_path());
    write_file(places / name, "{}");
  }
  for (const char* name : {"empty", "run/checkpoints/2"}) fs::create_directories(places / name);
  fs::create_symlink(places / "loop", places / "loop");
  const auto mine = [&](const std::string& name) { return "mine=" + (places / name).string(); };
  const auto twice = mine("twice/step-7") + "," + (places / "twice").string();
  for (const auto& [adapter, problem] : std::vector<std::pair<std::string, const char*>>{
           {mine("none"), "none: is not there; give a folder as peft"},
           {mine("bare"), "bare: has adapter_config.json and no weights; copy adapter_model.safetensors"},
           {mine("empty"), "empty: holds no checkpoint"},
           {mine("run"), "run/checkpoints/{step}"},
           {mine("loop"), "loop: Too many levels of symbolic links"},
           {mine("pickled"), "adapter_model.bin: is pickled"},
           {mine("pickled/adapter_model.bin"), "adapter_model.bin: is pickled"},
           {mine("both"), "holds 2 checkpoints ("},
           {mine("both/adapter_config.json"), "is not a .safetensors file"},
           {twice + "/b/checkpoint_7", "duplicate step 7"},
           {twice + "/b-7", "b-7 states no step, and the name of"},
           {mine("twice/c-{step}"), "no file or folder matches {step}"},
           {"mine", "expected NAME=DIR, got \"mine\""},
           {"base=x", "\"base\" cannot be a row's name"},
           {"ratio-norm=x", "\"ratio-norm\" is a row of the table already"}})
    expect_refused(adapter, problem);
  expect_refused(mine("twice/a-7"), "1 run for 2 seeds", "--seeds 1,2");
  expect_refused(mine("twice/a-7"), "the runs of seeds 1 and 2 are the same checkpoints",
                 "--seeds 1,2 --adapter " + mine("twice/a-7"));
}

TEST_F(FromOutside, AnAdapterOfAnotherModelIsNamedBeforeAnyOtherWork) {
  const auto of_sd3 = kTree / "tests/data/parity/lora_sd3/adapter";
  const auto done = ended(reproduce("other", "--jobs 1 --adapter mine=" + of_sd3.string()), 2);
  EXPECT_PROBLEM(done,
                 "--adapter mine: " + of_sd3.string() +
                     ": this adapter fits sd35-medium, not glyph; did you mean --backbone sd35-medium?");
  for (const char* job : {"train ", "evaluate "}) EXPECT_EQ(done.find(job), std::string::npos) << done;
}

const std::string kSd3 = (kTree / "tests/data/parity/sd3_pipeline_sd35m/model").string();
constexpr std::string_view kPrefix = "transformer.";

/// Adapters and networks made of random numbers, as other programs write them.
class ByTensors : public FromOutside {
 protected:
  static torch::Tensor normal(at::IntArrayRef shape, std::uint64_t seed) {
    auto random = seeded_generator(seed);
    return torch::empty(shape).normal_(0, 1, random);
  }

  /// Of rank 4 on two layers of the small SD3.5; A and B by seeds of their own.
  static TensorMap adapter(std::uint64_t seed_of_a, std::uint64_t seed_of_b, double size_of_b = 0.02) {
    TensorMap tensors;
    for (const std::string layer : {"transformer_blocks.0.attn.to_q", "transformer_blocks.1.attn.to_k"}) {
      tensors["transformer." + layer + ".lora_A.weight"] = 0.25 * normal({4, 24}, seed_of_a++);
      tensors["transformer." + layer + ".lora_B.weight"] = size_of_b * normal({24, 4}, seed_of_b++);
    }
    return tensors;
  }

  /// Writes a file of diffusers' form, and returns its folder.
  std::string write(const std::string& name, const TensorMap& tensors,
                    const std::map<std::string, std::string>& metadata = {{"format", "pt"}}) const {
    fs::create_directories(root_ / name);
    save_tensors(root_ / name / "pytorch_lora_weights.safetensors", tensors, metadata);
    return at(name);
  }

  /// The same as peft writes it, with a configuration that is changed.
  std::string write_peft(const std::string& name, const TensorMap& tensors, const Json& changes = {}) const {
    TensorMap renamed;
    for (const auto& [key, tensor] : tensors)
      renamed["base_model.model." + key.substr(kPrefix.size())] = tensor;
    fs::create_directories(root_ / name);
    save_tensors(root_ / name / "adapter_model.safetensors", renamed, {{"format", "pt"}});
    Json config = {{"peft_type", "LORA"},
                   {"r", 4},
                   {"lora_alpha", 4},
                   {"target_modules", {"transformer_blocks.0.attn.to_q", "transformer_blocks.1.attn.to_k"}}};
    config.update(changes.is_null() ? Json::object() : changes);
    write_file_atomically(root_ / name / "adapter_config.json", config.dump());
    return at(name);
  }

  /// As kohya's scripts name them, and in half precision.
  std::string write_kohya(const std::string& name, const TensorMap& tensors) const {
    TensorMap renamed;
    for (const auto& [key, tensor] : tensors) {
      auto layer = key.substr(kPrefix.size(), key.find(".lora_") - kPrefix.size());
      std::ranges::replace(layer, '.', '_');
      const auto part = key.find(".lora_A") != std::string::npos ? ".lora_down.weight" : ".lora_up.weight";
      renamed["lora_unet_" + layer + part] = tensor.to(torch::kBFloat16);
    }
    fs::create_directories(root_);
    const auto file = root_ / (name + ".safetensors");
    save_tensors(file, renamed);
    return file.string();
  }

  Outcome planned(const std::vector<std::string>& runs, const std::string& more = {},
                  const std::string& weights = kSd3) const {
    std::string given;
    for (const auto& run : runs) given += fmt::format(" --adapter 'mine={}'", run);
    const auto seeds = runs.size() > 1 ? fmt::format("--seeds 1..{}", runs.size()) : std::string();
    return shell(
        reproduce("planned", fmt::format("--dry-run --methods mine {} --backbone sd35-medium --weights "
                                         "{} {} {} 2>&1",
                                         seeds, weights, given, more)));
  }

  void expect_planned(const std::vector<std::string>& runs, const std::string& note,
                      const std::string& weights = kSd3) const {
    const auto done = planned(runs, {}, weights);
    EXPECT_EQ(done.status, 0) << done.out;
    EXPECT_PROBLEM(done.out, note);
  }

  void expect_not_planned(const std::vector<std::string>& runs, const std::string& problem) const {
    const auto done = planned(runs);
    EXPECT_EQ(done.status, 2) << done.out;
    EXPECT_PROBLEM(done.out, problem);
  }

  /// The bytes of an image, or what `harness sample` said.
  std::string drawn(const std::string& lora, const std::string& weights = kSd3,
                    const std::string& more = {}) const {
    const auto image = root_ / "drawn.png";
    const auto done =
        shell(fmt::format("{} sample 'a sign \"A\"' --weights {} --steps 2 {} {} -o {} 2>&1", kProgram,
                          weights, lora.empty() ? "" : "--lora '" + lora + "'", more, image.string()));
    return done.status == 0 ? read_file(image) : done.out;
  }
};

TEST_F(ByTensors, AdaptersOfOneTrainingAreNotSeveralRunsHoweverTheyAreSaved) {
  const auto tensors = adapter(1, 11), others = adapter(1, 21), third = adapter(5, 31);
  auto later =
      tensors;  // as a later checkpoint of the same training: the same direction, and some of another
  for (auto& [name, tensor] : later)
    if (name.find("lora_B") != std::string::npos) tensor = 1.5 * tensor + 0.5 * others.at(name);
  const auto first = write("first", tensors);
  for (const auto& again :
       {write("header", tensors, {{"format", "pt"}, {"saved", "again"}}), write_peft("peft", tensors),
        write_kohya("kohya", tensors), write("scaled", tensors, {{"lora_alpha", "8"}, {"r", "4"}}),
        write("later", later)}) {
    const auto done = planned({first, again});
    EXPECT_EQ(done.status, 2) << done.out;
    EXPECT_PROBLEM(done.out,
                   "--adapter mine: the runs of seeds 1 and 2 are one training, not two: what " + first);
    EXPECT_PROBLEM(done.out, again + " (seed 2, step 1) change of the base model has a cosine of ");
  }
  // One A for all seeds is how public trainers begin; the trainings are three nevertheless.
  expect_planned(
      {first, write("other", others), write("third", third)},
      "mine: 3 checkpoints of 3 runs, fit for sd35-medium: LoRA of rank 4 and alpha 4 on 2 layers "
      "(diffusers, alpha not stated: taken as the rank). Between runs, what they change of the base "
      "model has cosines of ");
  // Of other steps too: run 2 goes on where run 1 has stopped.
  for (const char* step : {"a/step-10", "b/step-30"}) write(step, third);
  write("a/step-20", others);
  write("b/step-40", later);
  expect_not_planned({at("a/step-{step}"), at("b/step-{step}")},
                     "the runs of seeds 1 and 2 are the same checkpoints: one training, not two");
  write("b/step-30", adapter(7, 41), {{"format", "pt"}});
  write("b/step-40", third, {{"format", "pt"}, {"saved", "again"}});
  expect_not_planned({at("a/step-{step}"), at("b/step-{step}")},
                     "a/step-10 (seed 1, step 10) and " + at("b/step-40"));
}

TEST_F(ByTensors, ACheckpointOfAnotherRunIsFoundBetweenARunsFirstAndLast) {
  const auto shared = adapter(1, 11);
  auto scaled = shared;
  for (auto& [name, tensor] : scaled)
    if (name.find("lora_B") != std::string::npos) tensor = 1.5 * tensor;
  const auto runs = [&](const TensorMap& between) {
    std::uint64_t seed = 100;
    for (const std::string run : {"a", "b"}) {
      for (const std::string step : {"/step-10", "/step-30"}) {
        write(run + step, adapter(seed, seed + 10));
        seed += 20;
      }
    }
    write("a/step-20", shared);
    write("b/step-20", between, {{"format", "pt"}, {"saved", "again"}});
    return std::vector{at("a/step-{step}"), at("b/step-{step}")};
  };
  for (const auto& same : {shared, scaled}) {
    expect_not_planned(runs(same), "what " + at("a/step-20") + " (seed 1, step 20) and " + at("b/step-20") +
                                       " (seed 2, step 20) change of the base model has a cosine of 1.000");
  }
  expect_planned(runs(adapter(301, 311)), "mine: 6 checkpoints of 2 runs");
}

TEST_F(ByTensors, ACopyIsRefusedWhereEachRunWasTakenInByACommandOfItsOwn) {
  const auto tensors = adapter(1, 11);
  const auto first = write("first", tensors),
             again = write("again", tensors, {{"format", "pt"}, {"saved", "again"}}),
             other = write("other", adapter(3, 13));
  const auto with = fmt::format(
      "--methods mine --backbone sd35-medium --weights {} --set eval_steps=2 --adapter mine=", kSd3);
  const auto taken = [&](const std::string& seeds, const std::string& a, const std::string& b = {}) {
    return reproduce("taken", fmt::format("{}{} --seeds {}{}", with, a, seeds,
                                          b.empty() ? std::string() : " --adapter mine=" + b));
  };
  ended(taken("42", first), 0);
  ended(taken("43", again), 0);
  EXPECT_PROBLEM(ended(taken("42,43", first, again), 2),
                 "the runs of seeds 42 and 43 are one training, not two");
  EXPECT_EQ(json_rows("taken", "SELECT id FROM reproductions").size(), 2U) << "nothing was recorded of it";
  for (const char* time : {"first", "second"}) {
    SCOPED_TRACE(time);
    ended(taken("42,43", first, other), 0);
  }
}

TEST_F(ByTensors, NetworksOfOneTrainingAreNotSeveralRunsAndAreHeldAgainstAdaptersToo) {
  const auto base = load_tensors(fs::path(kSd3) / "transformer/diffusion_pytorch_model.safetensors");
  const auto moved = [&](const std::string& name, const TensorMap& by, torch::ScalarType type,
                         double times = 1) {
    fs::create_directories(root_ / name);
    auto tensors = base;
    for (auto& [key, tensor] : tensors) {
      if (!tensor.is_floating_point()) continue;
      if (const auto found = by.find(key); found != by.end()) tensor = tensor + times * found->second;
      tensor = tensor.to(type);
    }
    save_tensors(root_ / name / "diffusion_pytorch_model.safetensors", tensors, {{"format", "pt"}});
    fs::copy_file(fs::path(kSd3) / "transformer/config.json", root_ / name / "config.json",
                  fs::copy_options::overwrite_existing);
    return at(name);
  };
  const auto change = [&](std::uint64_t seed) {
    TensorMap by;
    for (const auto& [key, tensor] : base)
      if (key.ends_with(".weight")) by[key] = 0.01 * normal(tensor.sizes(), seed++);
    return by;
  };
  const auto one = moved("one", change(1), torch::kFloat32),
             later = moved("later", change(1), torch::kFloat32, 1.4),
             half = moved("half", change(1), torch::kBFloat16),
             two = moved("two", change(500), torch::kFloat32);
  expect_not_planned({one, later}, "are one training, not two");
  expect_not_planned({one, half}, "are one training, not two");
  expect_planned({one, two},
                 "mine: 2 checkpoints of 2 runs, fit for sd35-medium: a whole network. Between runs");
  // Rounding alone is no movement that two share.
  expect_planned(
      {moved("half one", change(1), torch::kBFloat16), moved("half two", change(500), torch::kBFloat16)},
      "Between runs");
  // Nor is that of the base model, where the trainings began from one that was not rounded.
  const auto half_base = at("half_base");
  fs::copy(kSd3, half_base, fs::copy_options::recursive);
  moved("half_base/transformer", {}, torch::kBFloat16);
  expect_planned({moved("small one", change(1), torch::kFloat32, 0.1),
                  moved("small two", change(500), torch::kFloat32, 0.1)},
                 "Between runs", half_base);
  // One training in three precisions.
  expect_not_planned(
      {moved("fine", change(1), torch::kFloat32, 0.03), moved("coarse", change(1), torch::kBFloat16, 0.03)},
      "are one training, not two");
  expect_not_planned({moved("coarse", change(1), torch::kBFloat16, 0.03),
                      moved("sixteen", change(1), torch::kFloat16, 0.03)},
                     "are one training, not two");
  const auto lora = adapter(1, 11);
  TensorMap by;
  for (const std::string layer : {"transformer_blocks.0.attn.to_q", "transformer_blocks.1.attn.to_k"})
    by[layer + ".weight"] = lora.at("transformer." + layer + ".lora_B.weight")
                                .mm(lora.at("transformer." + layer + ".lora_A.weight"));
  expect_not_planned({write("lora", lora), moved("merged", by, torch::kFloat32)},
                     "has a cosine of 1.000, above 0.5 (measured: 0.79 to 0.98 between checkpoints of one "
                     "training, at most 0.30 between trainings)");
}

TEST_F(ByTensors, ACheckpointThatEqualsTheBaseModelIsNamed) {
  const auto still = write("still", adapter(1, 11, 0));
  expect_planned({still}, still + " (seed 42, step 1) equals the base model: nothing in it is trained.");
  for (const auto& other : {write("other", adapter(3, 13, 0)), write("trained", adapter(3, 13, 1))})
    expect_not_planned({other, still}, "is not trained: ");
}

TEST_F(ByTensors, AlphaInTheHeaderAloneScalesAsItDoesInTensors) {
  const auto tensors = adapter(1, 11, 1);
  auto with_alphas = tensors;
  for (const auto& [name, tensor] : tensors) {
    const auto part = name.find(".lora_A.weight");
    if (part != std::string::npos) with_alphas[name.substr(0, part) + ".alpha"] = torch::tensor(8.0F);
  }
  const auto plain = drawn(write("plain", tensors)), scaled = drawn(write("alphas", with_alphas));
  ASSERT_NE(plain, scaled);
  const auto of_header = [&](const std::map<std::string, std::string>& metadata) {
    return drawn(write("header", tensors, metadata));
  };
  EXPECT_TRUE(of_header({{"lora_alpha", "8"}, {"r", "4"}}) == scaled);
  EXPECT_TRUE(of_header({{"lora_alpha", "4"}, {"r", "4"}}) == plain);
  const auto problem = "its header names \"lora_alpha\" = 8 and \"network_alpha\" = 16: which one counts?";
  EXPECT_PROBLEM(of_header({{"lora_alpha", "8"}, {"network_alpha", "16"}}), problem);
  expect_not_planned({at("header")}, problem);
  EXPECT_PROBLEM(drawn(write("both", with_alphas, {{"lora_alpha", "16"}})),
                 "its header names \"lora_alpha\" = 16, and alpha is 8");
  expect_planned({write("named", tensors, {{"lora_alpha", "8"}})},
                 "LoRA of rank 4 and alpha 8 on 2 layers (diffusers, alpha by the header's lora_alpha)");
  // It was drawn without its alpha once: under another id.
  const auto id_of = [&](const std::string& place) {
    for (const auto& line : split(planned({place}).out, '\n'))
      if (line.find(" import ") != std::string::npos) return line.substr(0, line.find("take in"));
    return std::string();
  };
  const auto bytes = write("named", tensors, {{"lora_alpha", "8"}});
  const auto other = write("unnamed", tensors, {{"lora_alpha", "4"}});
  EXPECT_NE(id_of(bytes), id_of(other));
}

TEST_F(ByTensors, TheDryRunReadsAdaptersToTheirEnd) {
  const auto tensors = adapter(1, 11);
  expect_planned({write_peft("dropout", tensors, {{"lora_dropout", 0.1}})},
                 "fit for sd35-medium: LoRA of rank 4 and alpha 4 on 2 layers (peft).");
  EXPECT_TRUE(drawn(at("dropout")) == drawn(write_peft("none", tensors)));
  expect_not_planned({write_peft("dora", tensors, {{"use_dora", true}})},
                     "\"use_dora\" = true is not implemented");
  auto broken = tensors;
  broken["transformer.transformer_blocks.1.attn.to_k.lora_B.weight"][3][1] = std::nan("");
  const auto problem = "tensor transformer_blocks.1.attn.to_k.lora_B.weight holds values that are not finite";
  expect_not_planned({write("nan", broken)}, problem);
  EXPECT_PROBLEM(drawn(at("nan")), problem);
}

TEST_F(ByTensors, AnAdapterOfAnotherBackboneSaysWhichOneItFits) {
  TensorMap of_glyph, of_medium, of_flux;
  for (const std::string part : {"lora_A", "lora_B"}) {
    const bool is_a = part == "lora_A";
    const auto sized = [&](std::int64_t width) {
      return 0.1 *
             normal(is_a ? std::vector<std::int64_t>{2, width} : std::vector<std::int64_t>{width, 2}, 5);
    };
    of_glyph["transformer.transformer_blocks.2.attn.to_q." + part + ".weight"] = sized(128);
    of_medium["transformer.transformer_blocks.20.attn.to_q." + part + ".weight"] = sized(1536);
    of_flux["transformer.single_transformer_blocks.1.attn.to_q." + part + ".weight"] = sized(3072);
  }
  expect_not_planned({write("glyph", of_glyph)},
                     "glyph: this adapter fits glyph, not sd35-medium; did you mean "
                     "--backbone glyph?");
  expect_not_planned({write("flux", of_flux)}, "did you mean --backbone flux-dev?");
  expect_refused("mine=" + write("medium", of_medium),
                 "this adapter fits sd35-medium, not glyph; did you mean --backbone sd35-medium?",
                 "--dry-run");
  EXPECT_PROBLEM(drawn(at("flux")), "this adapter fits flux-dev, not sd35-medium");
}

TEST_F(ByTensors, TheStepIsWhatTheNameCallsOneAndElseTheOrder) {
  const auto tensors = adapter(1, 11);
  for (const auto& [name, step] : std::vector<std::pair<std::string, std::optional<int>>>{
           {"sd3.5-ocr", std::nullopt},
           {"bf16", std::nullopt},
           {"run-2025-11-28", std::nullopt},
           {"lora_rank32", std::nullopt},
           {"42", std::nullopt},
           {"seed-7", std::nullopt},
           {"last-40.safetensors", std::nullopt},
           {"misstep40", std::nullopt},
           {"step-40x", std::nullopt},
           {"step-99999999999", std::nullopt},
           {"checkpoint-2025-11-28", std::nullopt},
           {"step-10-of-step-20", std::nullopt},
           {"step-40", 40},
           {"checkpoint-50-rank32", 50},
           {"my_checkpoint_60", 60},
           {"global_step80", 80},
           {"checkpoint-100/lora", 100},
           {"checkpoint-120/pytorch_lora_weights.safetensors", 120},
           {"checkpoints/140", 140},
           {"ocr-step00000160.safetensors", 160},
           {"lora_000180.safetensors", 180}})
    EXPECT_EQ(step_in_name(root_ / name), step) << name;
  write("run-2025-11-28", tensors);
  write("checkpoint-100/lora", tensors);
  expect_planned({at("run-2025-11-28")}, "evaluate mine at 1 on validation");
  expect_planned({at("checkpoint-100/lora")}, "evaluate mine at 100 on validation");
  write("early", tensors);
  write("late", adapter(1, 11, 0.04));
  const auto said = planned({at("early") + "," + at("late")});
  EXPECT_EQ(said.status, 0) << said.out;
  EXPECT_PROBLEM(
      said.out,
      "Steps of mine are counted in the order given, as no name states one (checkpoint-N): 1 is early, 2 "
      "is late.");
}

TEST_F(ByTensors, AFolderOfCheckpointsSaysHowAllOfThemAreNamed) {
  const auto tensors = adapter(1, 11);
  const auto hint = [&](const std::string& place) {
    const auto said = planned({at(place)});
    EXPECT_EQ(said.status, 2) << said.out;
    const auto at = said.out.find("write ");
    return at == std::string::npos ? said.out : said.out.substr(at + 6, said.out.find('\n') - at - 6);
  };
  for (const char* step : {"10", "20", "30"}) {
    write(fmt::format("logs/grpo-seed42/checkpoints/checkpoint-{}/lora", step), tensors);
    write(fmt::format("logs/grpo-seed43/checkpoints/checkpoint-{}/lora", step), tensors);
    fs::create_directories(root_ / "kohya");
    save_tensors(root_ / "kohya" / fmt::format("ocr-0000{}.safetensors", step), tensors);
  }
  EXPECT_EQ(hint("logs/grpo-seed42/checkpoints"), at("logs/grpo-seed42/checkpoints/checkpoint-{step}"));
  EXPECT_EQ(hint("logs/grpo-seed42"), at("logs/grpo-seed42/checkpoints/checkpoint-{step}"));
  EXPECT_EQ(hint("logs"), at("logs/grpo-seed{seed}/checkpoints/checkpoint-{step}"));
  write("two/lora", tensors);
  write("two/adapter", adapter(2, 12));
  const auto refused = planned({at("two")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_PROBLEM(refused.out, "holds 2 checkpoints (lora/");
  EXPECT_EQ(hint("kohya"), at("kohya/ocr-{step}.safetensors"));
  fs::create_directories(root_ / "loose");
  save_tensors(root_ / "loose/mine.safetensors", tensors);
  EXPECT_PROBLEM(hint("loose"), "name the file itself if it is one adapter: " + at("loose/mine.safetensors"));
  EXPECT_EQ(planned({at("kohya/ocr-{step}.safetensors")}).status, 0);
}

TEST_F(ByTensors, SampleTakesAndRefusesWhatReproduceDoes) {
  const auto tensors = adapter(1, 11, 1);
  const auto folder = write("folder", tensors);
  const auto of_folder = drawn(folder), base = drawn("");
  ASSERT_TRUE(of_folder.starts_with("\x89PNG")) << of_folder;
  EXPECT_NE(of_folder, base);
  EXPECT_TRUE(drawn(folder + "/pytorch_lora_weights.safetensors") == of_folder);
  write("checkpoint-10/lora", tensors);
  EXPECT_TRUE(drawn(at("checkpoint-10")) == of_folder);
  fs::create_directories(root_ / "network");
  fs::copy(fs::path(kSd3) / "transformer", root_ / "network", fs::copy_options::recursive);
  EXPECT_TRUE(drawn(at("network")) == base);
  EXPECT_PROBLEM(drawn(at("nowhere")), "nowhere: is not there");

  fs::copy(kSd3, root_ / "dynamic", fs::copy_options::recursive);
  const auto scheduler = root_ / "dynamic/scheduler/scheduler_config.json";
  auto config = read_json(scheduler);
  config["use_dynamic_shifting"] = true;
  write_file_atomically(scheduler, config.dump());
  EXPECT_PROBLEM(
      drawn("", at("dynamic")),
      "scheduler_config.json: use_dynamic_shifting is true, and the noise levels of this model are shifted "
      "by a number");
}

TEST_F(ByTensors, NothingSpeaksOfTrainingWhereNothingIsTrained) {
  const auto rows = fmt::format(
      "--methods flow-grpo --backbone sd35-medium --weights {} --set eval_steps=2 --seeds 1,2", kSd3);
  const auto given = fmt::format("{} --adapter flow-grpo={} --adapter flow-grpo={}", rows,
                                 write("one", adapter(1, 11)), write("two", adapter(3, 13)));
  const auto planned = ended(reproduce("own", given + " --dry-run"), 0);
  const std::string shadow =
      "Row flow-grpo is what --adapter gives, not the method of that name that this program trains.";
  const std::string pairing =
      "Runs of flow-grpo are paired with those of other rows by the seed that they are given for: a pair has the "
      "same noise in evaluation. With which seeds they were trained is the claim of who gave them.";
  for (const auto& note : {shadow, pairing}) EXPECT_PROBLEM(planned, "Note: " + note);
  for (const char* wrong : {"Trained:", "the training reward"})
    EXPECT_EQ(planned.find(wrong), std::string::npos) << planned;
  expect_reproduced("own", given);
  const auto shown = read_file(root_ / "own/chain/table.md");
  for (const auto& note : {shadow, pairing}) EXPECT_PROBLEM(shown, note);
  EXPECT_EQ(table("own").at("signature").get<std::string>().find("ema weights"), std::string::npos)
      << table("own").at("signature");
  const auto figure = shell(
      fmt::format("{} figure training --db {} -o {} 2>&1", kProgram, at("own/results.sqlite"), at("figure")));
  EXPECT_NE(figure.status, 0);
  EXPECT_PROBLEM(figure.out, "nothing is known of the training of checkpoints and images from outside");
}

}  // namespace
}  // namespace harness
