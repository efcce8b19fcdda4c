#include "core/paths/shown_path.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/host.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

TEST(ShownPath, InsideTheWorkingFolderIsNamedFromThere) {
  const auto here = fs::current_path();
  EXPECT_EQ(shown_path(here / "out/run-1/images"), "out/run-1/images");
  EXPECT_EQ(shown_path(here / "out/../images/"), "images");
  EXPECT_EQ(shown_path("out/images"), "out/images");
}

TEST(ShownPath, OutsideItTheLastTwoNamesAreShown) {
  EXPECT_EQ(shown_path("/data/lab/study/run-1/images"), "run-1/images");
  EXPECT_EQ(shown_path("/data/lab/study/run-1/images/"), "run-1/images");
  EXPECT_EQ(shown_path("/images"), "images");
  EXPECT_EQ(shown_path("../../lab/images"), "lab/images");
}

TEST(ShownPath, NoNameOfAUserOrHostIsShown) {
  EXPECT_EQ(shown_path("/home/somebody/images"), "images");
  EXPECT_EQ(shown_path("/Users/somebody"), "~");
  EXPECT_EQ(shown_path("/scratch/" + host_name() + "/images"), "images");
}

TEST(ShownPath, APatternKeepsWhatTellsItsPlacesApart) {
  EXPECT_EQ(shown_path("/data/lab/step-{step}/lora/best/weights"), "step-{step}/lora/best/weights");
  EXPECT_EQ(shown_path("/data/lab/run/step-{step}"), "run/step-{step}");
}

TEST(LastNames, DoNotDependOnTheWorkingFolder) {
  EXPECT_EQ(last_names(fs::current_path() / "a/b/c"), "b/c");
  EXPECT_EQ(last_names("a/b/c"), "a/b/c");
}

TEST(WithLastNames, ShortensEveryAbsolutePathOfATextAndNothingElse) {
  EXPECT_EQ(with_last_names("cannot read '/data/lab/run/a.png': gone (in /data/lab/run)"),
            "cannot read 'run/a.png': gone (in lab/run)");
  EXPECT_EQ(with_last_names("3/4 of a/b/c, 5 images/s, / and /x"), "3/4 of a/b/c, 5 images/s, / and /x");
}

}  // namespace
}  // namespace harness
