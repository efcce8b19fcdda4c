// The examples of trainers/methods/README.md, each in the file that the page says it becomes
// (cmake/PageExamples.cmake). They are methods of this program alone.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/recorded_cases.h"
#include "tests/trainers/line_fixture.h"

namespace harness {
namespace {

/// A forest needs so many images for a prompt in each update.
const Json kLoop = {{"prompts_per_epoch", 4}, {"group_size", 16},    {"shard_prompts", 1},
                    {"updates_per_epoch", 2}, {"sampling_steps", 5}, {"late_steps", 2},
                    {"updates", 6},           {"checkpoints", {6}},  {"lr", 0.02}};

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& [name, info] : methods()) {
    if (name.starts_with("example-")) names.push_back(name);
  }
  return names;
}

TEST(PageExamples, AreAllThatThePageHas) {
  const auto page = read_file(std::filesystem::path(HARNESS_SOURCE_DIR) / "trainers/methods/README.md");
  std::size_t blocks = 0;
  for (auto at = page.find("```cpp"); at != std::string::npos; at = page.find("```cpp", at + 1)) ++blocks;
  EXPECT_GE(blocks, 6U);
  EXPECT_EQ(examples().size(), blocks);
}

TEST(PageExamples, TrainAsTheyStand) {
  const TemporaryFolder scratch;
  for (const auto& name : examples()) {
    const auto outcome = train_line(LineMethod::make(name, kLoop), {.folder = scratch.path() / name});
    ASSERT_TRUE(outcome.done) << name;
    EXPECT_EQ(outcome.updates.size(), 6U) << name;
    EXPECT_TRUE(std::isfinite(outcome.gain) && std::isfinite(outcome.bias)) << name;
    double pull = 0;
    for (const auto& update : outcome.updates) pull += update.stats.at("grad_norm");
    EXPECT_GT(pull, 0) << name << " has no gradient";
  }
}

}  // namespace
}  // namespace harness
