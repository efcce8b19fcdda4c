#include <array>

#include "tests/chain.h"

// What a table of images that other systems drew says of them.

namespace harness {
namespace {

class ImageVerdicts : public Chain {
 protected:
  /// So many prompts, each with a text of its own.
  void write_prompts(int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("a sign reading \"WORD{}\"\n", i);
    write_file(root_ / "p.txt", text);
  }

  /// An image of stripes, the larger as a JPEG the more of them there are.
  void write_image(const std::string& file, int stripes) const {
    make_folder((root_ / file).parent_path());
    Image image{96, 48, std::vector<std::uint8_t>(96 * 48 * 3, 255)};
    for (std::size_t x = 0; x < static_cast<std::size_t>(stripes); ++x) {
      for (std::size_t y = 0; y < 48; ++y) image.rgb[(y * 96 + 3 * x) * 3] = 0;
    }
    write_file(root_ / file, png_bytes(image));
  }

  /// The document of rows a and b, and the texts of their table by the ends of the files' names.
  Json scored(const std::string& out, const std::string& more, const std::string& a = "a",
              const std::string& b = "b") const {
    const auto run = shell(fmt::format(
        "{} score a={}/{} b={}/{} --prompts {}/p.txt --out {}/{} {} --json 2>&1 1>{}/said", kHarness,
        root_.string(), a, root_.string(), b, root_.string(), root_.string(), out, more, root_.string()));
    EXPECT_EQ(run.status, 0) << run.out;
    return read_json(root_ / "said");
  }
  std::string table(const std::string& out, const std::string& end) const {
    return read_file(root_ / out / "images" / ("table." + end));
  }
};

TEST_F(ImageVerdicts, MarkMeansOverFewerImagesAndSpeakOfImages) {
  write_prompts(20);
  for (int i = 0; i < 20; ++i) {
    if (i % 5 != 2) write_image(fmt::format("a/{}.png", i), 8 + i % 3);
    write_image(fmt::format("b/{}.png", i), 20 + i % 4);
  }
  const auto document = scored("o", "");
  const auto text = table("o", "md");
  EXPECT_PROBLEM(text, "# Missing values of a: ");
  EXPECT_PROBLEM(text, "ocr_reward 4 of 20 (mean over 16)");
  EXPECT_PROBLEM(text, " 0.0000 # ");
  EXPECT_PROBLEM(text, "ocr_reward of b \u2212 a: 16 of 16 pairs tie at 0, the only value");
  EXPECT_PROBLEM(text, "differences are between these images and say nothing about the methods");
  EXPECT_EQ(text.find("these checkpoints"), std::string::npos) << text;
  EXPECT_PROBLEM(table("o", "tex"), "\\textsuperscript{\\#}");
  EXPECT_PROBLEM(table("o", "html"), "<sup>#</sup>");
  EXPECT_PROBLEM(table("o", "csv"), "method,,a,1,1,test,ocr_reward,16,4,");
  EXPECT_PROBLEM(table("o", "csv"), "note,");
  const auto& rows = document.at("rows");
  EXPECT_EQ(rows.at(0).at("metrics").at("ocr_reward").at("n"), 16);
  EXPECT_EQ(rows.at(0).at("metrics").at("ocr_reward").at("n_missing"), 4);
  EXPECT_FALSE(rows.at(1).at("metrics").at("ocr_reward").contains("n_missing")) << "b has all";
  EXPECT_PROBLEM(document.at("notes").dump(), "(mean over 16)");
  EXPECT_PROBLEM(on("compare a b --metric edge_density", "o"), "These images of b and a");
  EXPECT_PROBLEM(on("compare a b --metric edge_density", "o"), "these images differ");
}

TEST_F(ImageVerdicts, CountWinsByPromptWhicheverSampleStandsBesideWhichAndCallNoSizeAReward) {
  write_prompts(20);
  for (int i = 0; i < 20; ++i) {
    // As means b has more stripes but for every fourth prompt, and sample by sample now more, now fewer.
    const std::array<int, 3> ours = {4, 12, 24}, theirs = {i % 4 == 0 ? 2 : 6, 10, 26 + i % 2};
    for (std::size_t sample = 0; sample < 3; ++sample) {
      write_image(fmt::format("a/{}_{}.png", i, sample), ours.at(sample));
      write_image(fmt::format("b/{}_{}.png", i, sample), theirs.at(sample));
      write_image(fmt::format("turned/{}_{}.png", i, sample), theirs.at((sample + 1) % 3));
    }
  }
  const auto straight = scored("o", "--metric jpeg_kb"),
             turned = scored("t", "--metric jpeg_kb", "a", "turned");
  const auto outcomes = [](const Json& document) {
    const auto& c = document.at("comparisons").at(0);
    return std::array<int, 3>{c.at("wins"), c.at("ties"), c.at("losses")};
  };
  EXPECT_EQ(outcomes(straight), outcomes(turned));
  EXPECT_EQ(outcomes(straight)[0] + outcomes(straight)[1] + outcomes(straight)[2], 20) << "prompts";
  EXPECT_NE(query("o", "SELECT wins FROM comparisons WHERE metric = 'jpeg_kb'"),
            query("t", "SELECT wins FROM comparisons WHERE metric = 'jpeg_kb'"))
      << "by place, which the test is about";
  EXPECT_EQ(straight.at("comparisons").at(0).at("n"), 60);
  const auto text = table("o", "md");
  EXPECT_PROBLEM(text, "W / T / L: prompts (each by its mean");
  EXPECT_EQ(text.find("reward"), std::string::npos) << text;
  EXPECT_TRUE(straight.value("guardrails", Json()).is_null()) << straight.at("guardrails");
  const auto compared = shell(
      fmt::format("{} compare a b --metric jpeg_kb --json --out {}/t 2>/dev/null", kHarness, root_.string()));
  EXPECT_EQ(parse_json(compared.out, "stdout").at("comparisons").at(0).at("wins"), outcomes(turned)[0]);
  EXPECT_PROBLEM(on("check images", "t"), "rules hold;");
}

}  // namespace
}  // namespace harness
