#include <fmt/ranges.h>

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

  /// An image of stripes, the larger as a JPEG the more of them there are; beside them greys of a run, if
  /// any.
  void write_image(const std::string& file, int stripes, int run = 0) const {
    make_folder((root_ / file).parent_path());
    Image image{96, 48, std::vector<std::uint8_t>(96 * 48 * 3, 255)};
    for (std::size_t x = 0; x < static_cast<std::size_t>(stripes); ++x) {
      for (std::size_t y = 0; y < 48; ++y) image.rgb[(y * 96 + 3 * x) * 3] = 0;
    }
    for (std::size_t i = 0; run > 0 && i < 48 * 16; ++i) {
      const std::size_t pixel = (i / 16) * 96 + 80 + i % 16;
      const auto grey = static_cast<std::uint8_t>(100 + i * i * static_cast<std::size_t>(run) % 101);
      for (std::size_t c = 0; c < 3; ++c) image.rgb[pixel * 3 + c] = grey;
    }
    write_file(root_ / file, png_bytes(image));
  }

  /// The document of rows a and b, and the texts of their table by the ends of the files' names.
  Json scored(const std::string& out, const std::string& more, const std::string& a = "a",
              const std::string& b = "b") const {
    return document_of(fmt::format("a={} b={} {}", at(a), at(b), more), out);
  }
  /// The same of any rows.
  Json document_of(const std::string& rows, const std::string& out) const {
    const auto run = shell(fmt::format("{} score {} --prompts {} --out {} --json 2>&1 1>{}", kProgram, rows,
                                       at("p.txt"), at(out), at("document")));
    EXPECT_EQ(run.status, 0) << run.out;
    return read_json(root_ / "document");
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
  const std::string recorded = "SELECT wins, ties, losses FROM comparisons WHERE metric = 'jpeg_kb'";
  EXPECT_EQ(query("o", recorded), query("t", recorded));
  EXPECT_EQ(query("o", recorded), fmt::format("wins,ties,losses\n{}\n", fmt::join(outcomes(straight), ",")));
  EXPECT_EQ(straight.at("comparisons").at(0).at("n"), 60);
  const auto text = table("o", "md");
  EXPECT_PROBLEM(text, "W / T / L: prompts (each by its mean");
  EXPECT_EQ(text.find("reward"), std::string::npos) << text;
  EXPECT_TRUE(straight.value("guardrails", Json()).is_null()) << straight.at("guardrails");
  const auto compared = shell(
      fmt::format("{} compare a b --metric jpeg_kb --json --out {}/t 2>/dev/null", kProgram, root_.string()));
  EXPECT_EQ(parse_json(compared.out, "stdout").at("comparisons").at(0).at("wins"), outcomes(turned)[0]);
  EXPECT_PROBLEM(on("check images", "t"), "rules hold;");

  // An earlier version recorded them sample by sample.
  const auto checked_with = [&](const std::string& sql) {
    const auto done = shell(fmt::format(
        "python3 -c \"import sqlite3; d = sqlite3.connect('{0}/t/results.sqlite'); d.executescript('{1}')\" && "
        "{2} check images --out {0}/t 2>&1",
        root_.string(), sql, kProgram));
    EXPECT_EQ(done.status, 1) << "the journal has other rows";
    return done.out;
  };
  EXPECT_PROBLEM(checked_with("UPDATE comparisons SET wins = 40, losses = 20 WHERE ties = 0; "
                              "UPDATE comparisons SET ties = 60 WHERE ties = 20"),
                 "PASS  comparisons");
  EXPECT_PROBLEM(checked_with("UPDATE comparisons SET wins = 39, losses = 21 WHERE ties = 0"),
                 "wins is stored as 39");
}

TEST_F(ImageVerdicts, OfRunsThatLackImagesTheOrderOfTheFoldersChangesNothing) {
  write_prompts(32);
  for (int i = 0; i < 32; ++i) {
    for (int run = 0; run < 3; ++run) {
      if (i % 8 != run) write_image(fmt::format("a{}/{}.png", run, i), 4 + i % 5 + (i * run) % 3, run);
      if (i % 8 != 2 * run) write_image(fmt::format("b{}/{}.png", run, i), 9 + i % 4 + (i * run) % 2, run);
    }
  }
  const auto judged = [&](const std::string& out, const std::string& turned) {
    std::string rows;
    for (const char run : std::string("012")) rows += fmt::format("a={}{} ", at("a"), run);
    for (const char run : turned) rows += fmt::format("b={}{} ", at("b"), run);
    auto c = document_of(rows + "--index-from 0 --metric jpeg_kb", out).at("comparisons").at(0);
    EXPECT_EQ(c.at("claim"), "methods");
    // Prompts 0, 1, 2 and 4 of every 8 lack an image in some run.
    EXPECT_EQ(c.at("n"), 3 * 16);
    EXPECT_EQ(c.at("runs").at("clusters_left_out"), 16);
    EXPECT_EQ(c.at("wins").get<int>() + c.at("ties").get<int>() + c.at("losses").get<int>(), 16);
    const auto compared = shell(fmt::format("{} compare a b --metric jpeg_kb --json --out {}/{} 2>/dev/null",
                                            kProgram, root_.string(), out));
    EXPECT_EQ(parse_json(compared.out, "stdout").at("comparisons").at(0).at("n"), 3 * 16);
    EXPECT_PROBLEM(on("check images", out), "rules hold;");
    return c;
  };
  const auto straight = judged("o", "012");
  for (const auto& [out, turned] : {std::pair("t", "201"), {"u", "021"}}) {
    const auto other = judged(out, turned);
    for (const char* number : {"delta", "p_value", "n", "wins", "verdict"}) {
      if (straight.at(number).is_number_float())
        EXPECT_NEAR(straight.at(number), other.at(number), 1e-9) << number;
      else
        EXPECT_EQ(straight.at(number), other.at(number)) << number;
    }
  }
}

TEST_F(ImageVerdicts, RunsThatAMetricCannotTellApartHaveNoSpreadToJudgeMethodsBy) {
  write_prompts(20);
  for (int i = 0; i < 20; ++i) {
    for (int run = 0; run < 3; ++run) {
      write_image(fmt::format("a{}/{}.png", run, i), 2 + i / 4, run);
      write_image(fmt::format("b{}/{}.png", run, i), 9 + i / 4 + (i == run ? 1 : 0), run);
    }
  }
  std::string rows;
  for (const char* row : {"a", "b"}) {
    for (int run = 0; run < 3; ++run) rows += fmt::format("{0}={1}/{0}{2} ", row, root_.string(), run);
  }
  const auto document = document_of(rows + "--metric saturated_share,jpeg_kb", "o");
  for (const auto& c : document.at("comparisons"))
    EXPECT_EQ(c.at("claim"), c.at("metric") == "saturated_share" ? "checkpoints" : "methods") << c;
  const std::string note =
      "Copies: runs 1, 2 and 3 of a have the same value on every image in saturated_share";
  EXPECT_PROBLEM(document.at("notes").dump(), note);
  EXPECT_EQ(document.at("notes").dump().find("of b have the same value"), std::string::npos);
  EXPECT_PROBLEM(table("o", "csv"), note);
  EXPECT_PROBLEM(on("compare a b --metric saturated_share", "o"), note);
  EXPECT_PROBLEM(output_of("compare a b --metric saturated_share --claim methods --out " + at("o"), 2),
                 "needs 3 training runs");
}

}  // namespace
}  // namespace harness
