#include "core/image.h"
#include "core/processes/process.h"
#include "tests/harness/workplace.h"

// A backbone is one file: tests/data/toy_backbone/toy.cpp, which tests/CMakeLists.txt links to a worker with
// nothing else changed.

namespace harness::test {
namespace {

using ::testing::Contains;

const std::string kWorker = std::string(HARNESS_BINARY_DIR) + "/tests/harness-toy-backbone-worker";

class ToyBackbone : public SmokeTest {
 protected:
  void SetUp() override {
    if (!fs::exists(kWorker)) GTEST_SKIP() << "built without LibTorch";
    write_file_atomically(place.share() / "registry.json", output_of({kWorker, "describe"}));
    place.environment["HARNESS_WORKER"] = kWorker;
  }

  Json named(const std::string& kind, const std::string& name) const {
    return entry(read_json(place.share() / "registry.json").at(kind), {{"name", name}});
  }
};

TEST_F(ToyBackbone, IsListedAndGivenToTheEvaluatorsOfItsKindOfImages) {
  place.ok({"list", "backbones"}, {"toy"});
  EXPECT_THAT(named("evaluators", "ocr-scene").at("backbones"), Contains("toy"));
}

TEST_F(ToyBackbone, DrawsTheSameImageForTheSameSeed) {
  const auto draw = [&](const std::string& file, const Words& more) {
    ok(with({"sample", "a red door", "--backbone", "toy", "-o", file}, more));
    return read_file(place.folder() / file);
  };
  const auto image = draw("a.png", {});
  EXPECT_EQ(draw("b.png", {}), image);
  EXPECT_EQ(draw("c.png", {"--steps", "4", "--guidance", "3.5"}), image) << "as it is usually sampled";
  EXPECT_NE(draw("d.png", {"--guidance", "1"}), image);
  EXPECT_NE(draw("e.png", {"--seed", "7"}), image);
  EXPECT_EQ(read_png(place.folder() / "a.png").width, 32);
  fails(2, {"sample", "a red door", "--backbone", "toy", "--image-size", "64"},
        {"backbone toy draws images of one size"});
}

TEST_F(ToyBackbone, IsTrainedByTwoMethodsFromStartToTable) {
  const Json table{
      {"id", "toys"},
      {"kind", "training"},
      {"task", "compressibility"},
      {"backbone", "toy"},
      {"methods", {"flow-grpo", "ratio-norm"}},
      {"baseline", "flow-grpo"},
      {"checkpoints", {4}},
      {"window", {{"last", 4}}},
      {"settings",
       {{"updates", 4},
        {"prompts_per_epoch", 2},
        {"group_size", 3},
        {"shard_prompts", 1},
        {"inner_epochs", 2},
        {"sampling_steps", 4},
        {"late_steps", 2},
        {"lr", 0.001},
        {"clip_rule", "absolute"},
        {"clip", 0.01}}},
      {"columns",
       {{{"name", "lambda_center_3"}, {"stat", "lambda_center"}, {"timestep", 3}, {"better", "lower"}},
        {{"name", "reward_mean"}, {"on_policy_too", true}}}}};
  place.write("toys.json", table);
  ok({"reproduce", "--table", "toys.json"}, {"These are a toy's numbers."});
  const auto document = place.json({"reproduce", "--table", "toys.json", "--json"});
  ASSERT_EQ(document.at("rows").size(), 2U);
  for (const auto& row : document.at("rows")) {
    EXPECT_GT(row.at("metrics").at("lambda_center_3").at("mean").get<double>(), 0);
    EXPECT_LT(row.at("metrics").at("reward_mean").at("mean").get<double>(), 0);
  }
  const auto afresh =
      place.json({"reproduce", "--table", "toys.json", "--json", "--fresh", "--out", "again"});
  EXPECT_EQ(afresh.at("rows"), document.at("rows"));
}

}  // namespace
}  // namespace harness::test
