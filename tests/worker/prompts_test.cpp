#include "tests/chain.h"

// What the text encoders and the reader of images make of prompts.

namespace harness {
namespace {

namespace fs = std::filesystem;

class Prompts : public Chain {
 protected:
  const std::string weights_ = (kTree / "tests/data/parity/sd3_pipeline_sd35m/model").string();

  static std::string words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "a quiet harbour ";
    return text;
  }

  /// Two rows of two images, scored for these prompts: the values of a metric, by row and prompt.
  std::string scored(const std::string& out, const std::string& lines, const std::string& metric) const {
    auto text = decode_png(read_file(kTree / "tests/data/ocr/clean.png"),
                           "clean.png");  // "Need 4 Coins" above others
    text.height = 48;
    text.rgb.resize(96 * 48 * 3);
    const auto image = png_bytes(text);
    const Image grey{96, 48, std::vector<std::uint8_t>(96 * 48 * 3, 90)};
    for (const std::string name : {"0.png", "1.png"}) {
      make_folder(root_ / "a");
      make_folder(root_ / "b");
      write_file(root_ / "a" / name, name == "0.png" ? image : png_bytes(grey));
      write_file(root_ / "b" / name, name == "1.png" ? image : png_bytes(grey));
    }
    write_file(root_ / "p.txt", lines);
    output_of(fmt::format("score a={0}/a b={0}/b --prompts {0}/p.txt --out {0}/{1}", root_.string(), out));
    return query(
        out, fmt::format("SELECT m.value FROM metrics m JOIN evaluations e ON e.id = evaluation_id JOIN "
                         "prompts p ON p.id = prompt_id JOIN checkpoints c ON c.id = e.checkpoint_id JOIN "
                         "table_runs t ON t.run_id = c.run_id WHERE m.name = '{}' ORDER BY t.arm, position",
                         metric));
  }
};

TEST_F(Prompts, SampleSaysWhereNoTextEncoderReadsTheEnd) {
  const auto drawn = [&](const std::string& prompt) {
    return output_of(fmt::format("sample '{}' --weights {} --steps 1 -o {}", prompt, weights_,
                                 (root_ / "one.png").string()));
  };
  EXPECT_PROBLEM(
      drawn(words(60) + "with \"OPEN\""),
      "note: the prompt is longer than the 128 tokens of T5: what follows is not read, the quoted text "
      "included");
  const auto behind = drawn("a sign \"OPEN\" at " + words(60));
  EXPECT_PROBLEM(behind, "what follows is not read");
  EXPECT_EQ(behind.find("the quoted text included"), std::string::npos);
  EXPECT_EQ(drawn("a sign \"OPEN\"").find("note:"), std::string::npos);
}

TEST_F(Prompts, ThatAreLongerThanTheTextEncodersReadAreCountedInTheDryRunAndUnderTheTable) {
  write_file(root_ / "p.txt",
             words(20) + "\"A\"\na sign \"B\" at " + words(20) + "\na sign \"C\"\na sign \"D\"\n");
  const std::string note =
      "2 of the 4 evaluation prompts are longer than the 128 tokens of T5: what follows is not read, the quoted text "
      "of 1 included (line 1, line 2).";
  const auto more = fmt::format(
      "--backbone sd35-medium --weights {} --prompts {} --methods ratio-norm --set trained_steps=6 --set ema_interval=1 --set updates_per_epoch=1",
      weights_, (root_ / "p.txt").string());
  EXPECT_PROBLEM(ended(reproduce("work", more + " --dry-run"), 0), note);
  const auto longer = shell(reproduce("work", more + " --dry-run --set text_tokens=512 2>&1"));
  EXPECT_EQ(longer.out.find("what follows is not read"), std::string::npos) << longer.out;
  EXPECT_PROBLEM(longer.out,
                 "2 of the 4 evaluation prompts are longer than the 77 tokens of CLIP: only the 512 "
                 "tokens of T5 read their ends (line 1, line 2).");
}

TEST_F(Prompts, ThatAreLongerThanAClipScorerReadsAreCounted) {
  scored("out", words(60) + "\na sign\n", "jpeg_kb");
  make_folder(root_ / "scorers");
  fs::create_directory_symlink(kTree / "tests/data/scorers/pickscore", root_ / "scorers/pickscore");
  EXPECT_PROBLEM(
      output_of(fmt::format("score a={0}/a b={0}/b --prompts {0}/p.txt --scorers {0}/scorers --dry-run --out "
                            "{0}/other",
                            root_.string())),
      "1 of the 2 evaluation prompts is longer than the 77 tokens that pickscore reads: it scores their "
      "beginnings (line 1).");
}

TEST_F(Prompts, ATargetIsScoredTheSameInEveryNormalForm) {
  const auto lines = [](const std::string& letter) {
    return fmt::format("a sign \"Need 4 Caf{0}\"\na sign \"Caf{0}\"\n", letter);
  };
  for (const std::string metric : {"ocr_reward", "cer"}) {
    const auto composed = scored("nfc", lines("\u00e9"), metric),
               apart = scored("nfd", lines("e\u0301"), metric);
    EXPECT_EQ(std::ranges::count(composed, '\n'), 5);
    EXPECT_EQ(apart, composed);
  }
  EXPECT_PROBLEM(on("check images", "nfd"), "rules hold;");
  const auto verified = output_of(fmt::format("verify --out {}", (root_ / "nfd").string()));
  EXPECT_PROBLEM(verified, "same bits");
}

TEST_F(Prompts, CharactersThatTesseractHasNoLetterForAreNamed) {
  scored("out", "a lift \"Floor \u00bd\"\na door \"caf\u00e9 \u20ac5 ~#{}_|\u2014\"\n", "ocr_reward");
  EXPECT_PROBLEM(
      read_file(root_ / "out/images/table.md"),
      "The targets of 1 of the 2 evaluation prompts hold characters that the reader of ocr-glyph cannot "
      "return (\u00bd): line 1: \"Floor \u00bd\". No image scores 1 there.");
}

}  // namespace
}  // namespace harness
