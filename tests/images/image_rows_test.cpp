#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/outside_runs.h"
#include "harness/score/score_table.h"
#include "tests/refusals.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// The checkpoints of the only run of a row.
OutsideRun run_of(const ImageRows& rows, const std::string& name) {
  const ArmSpec arm{.name = name, .method = kImagesMethod, .places = rows.places.at(name)};
  return outside_runs(arm, {1}, "/").at(0);
}

TEST(ImageRows, APlaceThatIsThereAsAWholeKeepsTheCommasOfItsName) {
  const TemporaryFolder folder;
  const auto place = folder.path() / "lr=1e-5,seed=42";
  fs::create_directories(place);
  const auto rows = read_image_rows({"a=" + place.string()});
  EXPECT_EQ(rows.places.at("a"), (std::vector<std::string>{place.string()}));
  EXPECT_FALSE(rows.has_steps());
  EXPECT_EQ(run_of(rows, "a"), (OutsideRun{{1, place}}));
}

TEST(ImageRows, OtherPlacesWithCommasAreCheckpointsEachWithAPathOfItsOwn) {
  const auto rows = read_image_rows({"a=absent/step-10, absent/step-20"});
  const auto above = fs::current_path() / "absent";
  EXPECT_TRUE(rows.has_steps());
  EXPECT_EQ(run_of(rows, "a"), (OutsideRun{{10, above / "step-10"}, {20, above / "step-20"}}));
}

}  // namespace
}  // namespace harness
