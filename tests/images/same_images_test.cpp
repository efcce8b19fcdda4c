#include "harness/images/same_images.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/image.h"
#include "core/paths/shown_path.h"
#include "core/sha256.h"
#include "tests/png_chunk.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

class SameImages : public testing::Test {
 protected:
  /// An image of one shade. Two files of it differ by their notes.
  struct Shade {
    int position = 0, sample = 0, shade = 0;
  };
  ImagesOfRun run(const std::string& row, const std::vector<std::vector<Shade>>& checkpoints,
                  const std::string& note) {
    ImagesOfRun made{.row = row, .checkpoints = {}};
    for (const auto& shades : checkpoints) {
      const auto folder = folder_.path() / std::to_string(lists_.size());
      fs::create_directories(folder);
      auto& list = *lists_.emplace_back(std::make_unique<std::vector<SummedImage>>());
      for (const auto& [position, sample, shade] : shades) {
        const auto name = fmt::format("{}_{}.png", position, sample);
        const Image image{4, 4, std::vector<std::uint8_t>(4 * 4 * 3, static_cast<std::uint8_t>(shade))};
        const auto bytes = with_chunk(png_bytes(image), "tEXt", "copy" + std::string(1, '\0') + note);
        write_file(folder / name, bytes);
        list.push_back({{position, sample, name}, sha256_hex(bytes)});
      }
      made.checkpoints.push_back({folder, &list});
    }
    return made;
  }

  static std::string refused(const std::vector<ImagesOfRun>& runs) {
    try {
      const auto notes = require_different_images(runs);
      return "accepted" + (notes.empty() ? std::string() : ": " + notes.front());
    } catch (const Error& error) {
      return error.what();
    }
  }

  static std::string shown(const ImagesOfRun& run) { return shown_path(run.checkpoints.front().folder); }

  /// `count` prompts with shades from `first` on.
  static std::vector<Shade> shades(int count, int first) {
    std::vector<Shade> made;
    for (int i = 0; i < count; ++i) made.push_back({i, 0, first + i});
    return made;
  }

  const TemporaryFolder folder_;
  std::vector<std::unique_ptr<std::vector<SummedImage>>> lists_;
};

TEST_F(SameImages, RunsOfARowWithMostPixelsInCommonAreOneHoweverTheirFilesWereSaved) {
  const auto a = run("a", {shades(20, 0)}, "one"), again = run("a", {shades(20, 0)}, "two");
  EXPECT_PROBLEM(refused({a, again}), "are the same images: 20 of 20 have the same pixels");
  auto most = shades(20, 0), half = shades(20, 0);
  for (int i = 0; i < 9; ++i) most[static_cast<std::size_t>(i)].shade += 100;
  for (int i = 0; i < 10; ++i) half[static_cast<std::size_t>(i)].shade += 100;
  auto fewer = half;
  fewer[10].shade += 100;
  EXPECT_PROBLEM(refused({a, run("a", {most}, "3")}), "11 of 20 have the same pixels");
  EXPECT_PROBLEM(refused({a, run("a", {half}, "4")}), "10 of 20 have the same pixels");
  const auto with_fewer = run("a", {fewer}, "4");
  EXPECT_EQ(refused({a, with_fewer}), "accepted: Images of runs of a have the same pixels: 9 of 20 in " +
                                          shown(a) + " and " + shown(with_fewer) + ".");
  EXPECT_EQ(refused({a, run("a", {shades(20, 100)}, "5")}), "accepted");
  // Only prompts that both have count, and every checkpoint.
  EXPECT_PROBLEM(refused({a, run("a", {shades(3, 0)}, "6")}), "3 of 3 have the same pixels");
  EXPECT_PROBLEM(refused({a, run("a", {shades(20, 50), shades(20, 0)}, "7")}), "20 of 20");
}

TEST_F(SameImages, RunsOfARowWhoseImagesAreCopiesButForNoiseOrSizeAreOne) {
  // As a model draws them: what differs from image to image is in parts of each.
  const auto pictures = [&](const std::string& name, unsigned seed, int noise, int times) {
    ImagesOfRun made{.row = "a", .checkpoints = {}};
    const auto folder = folder_.path() / name;
    fs::create_directories(folder);
    auto& list = *lists_.emplace_back(std::make_unique<std::vector<SummedImage>>());
    std::minstd_rand drawn(seed), off(7);
    for (int position = 0; position < 20; ++position) {
      Image image{32 * times, 32 * times,
                  std::vector<std::uint8_t>(std::size_t(32 * 32 * 3 * times * times))};
      for (int area = 0; area < 64; ++area) {
        const auto shade = 20 + static_cast<int>(drawn() % 8);
        for (int y = area / 8 * 4 * times; y < (area / 8 + 1) * 4 * times; ++y) {
          for (int x = area % 8 * 4 * times; x < (area % 8 + 1) * 4 * times; ++x) {
            for (std::size_t c = 0; c < 3; ++c)
              image.rgb[3 * static_cast<std::size_t>(y * image.width + x) + c] =
                  static_cast<std::uint8_t>(shade + static_cast<int>(off() % (2U * noise + 1)) - noise);
          }
        }
      }
      const auto bytes = png_bytes(image);
      const auto file = fmt::format("{}.png", position);
      write_file(folder / file, bytes);
      list.push_back({{position, 0, file}, sha256_hex(bytes)});
    }
    made.checkpoints.push_back({folder, &list});
    return made;
  };
  const auto drawn = pictures("drawn", 1, 0, 1);
  EXPECT_PROBLEM(refused({drawn, pictures("noisy", 1, 4, 1)}),
                 "20 of 20 differ no more than copies that were compressed or resized");
  EXPECT_PROBLEM(refused({drawn, pictures("large", 1, 0, 2)}), "20 of 20 differ no more");
  EXPECT_EQ(refused({drawn, pictures("other", 2, 0, 1)}), "accepted");
  auto of_another_row = pictures("of another row", 1, 4, 1);
  of_another_row.row = "b";
  EXPECT_EQ(refused({drawn, of_another_row}), "accepted");
}

TEST_F(SameImages, SamplesOfAPromptMayBeNumberedOtherwise) {
  const auto a = run("a", {{{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 4}}}, "one");
  EXPECT_PROBLEM(refused({a, run("a", {{{0, 1, 1}, {0, 0, 2}, {1, 1, 3}, {1, 0, 4}}}, "two")}), "4 of 4");
  EXPECT_EQ(refused({a, run("a", {{{0, 0, 3}, {0, 1, 4}, {1, 0, 1}, {1, 1, 2}}}, "3")}), "accepted");
}

TEST_F(SameImages, RowsMayShareImagesButNotAll) {
  const auto a = run("a", {shades(20, 0)}, "one");
  auto one_other = shades(20, 0);
  one_other[7].shade = 200;
  EXPECT_PROBLEM(refused({a, run("b", {shades(20, 0)}, "two")}), "a and b");
  const auto b = run("b", {one_other}, "3");
  EXPECT_EQ(refused({a, b}), "accepted: Images of a and b have the same pixels: 19 of 20 in " + shown(a) +
                                 " and " + shown(b) + ".");
  EXPECT_EQ(refused({a, run("b", {shades(20, 0), shades(20, 50)}, "4")}), "accepted")
      << "one of its checkpoints may be a row of its own";
  EXPECT_PROBLEM(refused({a, run("b", {shades(11, 0)}, "5")}), "11 of 11 have the same pixels");
  EXPECT_PROBLEM(refused({run("a", {{{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 4}}}, "6"),
                          run("best", {{{0, 0, 2}, {1, 0, 3}}}, "7")}),
                 "accepted: Images of a and best have the same pixels: 2 of 2 in ");
}

TEST_F(SameImages, ManyOverlapsOfTwoRowsAreOneNoteThatNamesTheirFolders) {
  std::vector<ImagesOfRun> runs;
  for (const char* row : {"a", "b"}) {
    for (int i = 0; i < 2; ++i) {
      auto own = shades(20, static_cast<int>(20 * runs.size()) + 10);
      own[3].shade = 1;
      runs.push_back(run(row, {own}, std::to_string(runs.size())));
    }
  }
  const auto notes = require_different_images(runs);
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_EQ(notes[1],
            fmt::format("Images of a and b have the same pixels: 1 of 20 in {0} and {2}, 1 of 20 in {0} "
                        "and {3}, 1 of 20 in {1} and {2} and 1 more.",
                        shown(runs[0]), shown(runs[1]), shown(runs[2]), shown(runs[3])));
}

TEST_F(SameImages, FilesThatAreAnotherPromptsElsewhereAndOneThatServesMostAreNoted) {
  const auto a = run("a", {shades(20, 0)}, "one"), moved = run("b", {shades(20, 1)}, "one");
  EXPECT_EQ(
      refused({a, moved}),
      fmt::format("accepted: Images of a and b are the same files under different prompts: 19 of 20 in {} "
                  "and {}, such as 1_0.png there and 0_0.png here.",
                  shown(a), shown(moved)));
  EXPECT_PROBLEM(refused({a, run("a", {shades(20, 1)}, "one")}), "Images of runs of a are the same files");
  EXPECT_EQ(refused({a, run("b", {shades(20, 10)}, "one")}), "accepted") << "10 of 20";
  auto one = shades(20, 100);
  for (int i = 0; i < 11; ++i) one[static_cast<std::size_t>(i)].shade = 99;
  const auto blank = run("b", {one}, "one");
  EXPECT_EQ(refused({a, blank}),
            fmt::format("accepted: One picture serves 11 of 20 prompts of b (0_0.png in {}).", shown(blank)));
  one[0].shade = 98;
  EXPECT_EQ(refused({a, run("b", {one}, "one")}), "accepted");
}

TEST_F(SameImages, OfManyImagesSomeAreCompared) {
  std::vector<Shade> many;
  for (int i = 0; i < 2000; ++i) many.push_back({i, 0, i % 250});
  const auto a = run("a", {many}, "one");
  for (int i = 0; i < 900; ++i) many[static_cast<std::size_t>(i)].shade += 5;
  EXPECT_PROBLEM(refused({a, run("a", {many}, "two")}), "of 512 have the same pixels");
}

}  // namespace
}  // namespace harness
