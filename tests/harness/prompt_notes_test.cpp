// What a table says of its prompts, in the dry run and under the table: where a score is bounded by the
// prompt.
#include <fmt/format.h>

#include "core/text.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AllOf;

class PromptNotes : public SmokeTest {
 protected:
  /// `lines` and enough others for a table.
  Words with_prompts(const Words& lines, const Words& more = {}) {
    std::string text = join(lines, "\n") + (lines.empty() ? "" : "\n");
    for (int i = 0; i < 8; ++i) text += fmt::format("a sign that reads \"NUMBER {}\"\n", i);
    place.write_text("p.txt", text);
    return smoke(with({"--prompts", "p.txt", "--methods", "ratio-norm"}, more));
  }

  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  /// Says each once in the dry run, and once under the table.
  void expect_noted(const Words& command, const Words& notes) {
    const auto planned = ok(with(command, {"--dry-run"})).out;
    ok(command);
    const auto table = read_file(runs / "sd35-ocr/table.md");
    for (const auto& note : notes) {
      EXPECT_EQ(count(planned, note), 1) << note << "\n" << planned;
      EXPECT_EQ(count(table, note), 1) << note << "\n" << table;
    }
  }

  std::string notes_of(const Words& command) {
    return place.json(with(command, {"--dry-run", "--json"})).at("notes").dump();
  }
};

TEST_F(PromptNotes, NameTheTargetThatWasTakenFromOddOrNestedQuotes) {
  expect_noted(
      with_prompts({"a 12\" pizza box with \"HOT\"", "\"the \"big\" sign\"", "a sign \"to the end",
                    "two signs, \"LEFT\" and \"RIGHT\"", "a sign \"PLAIN\""}),
      {"4 of the 13 evaluation prompts hold one double quote, or more than two. The target is what follows "
       "the first, up to the second: line 1: \" pizza box with \", line 2: \"the \", line 3: \"to the end\" "
       "and 1 more."});
  EXPECT_THAT(notes_of(with_prompts({"a sign \"PLAIN\""})), Not(HasSubstr("quote")));
}

TEST_F(PromptNotes, NameCharactersThatTheReaderCannotReturn) {
  expect_noted(
      with_prompts({"a shop \"\u4f60\u597d\"", "a lift \"Floor \u00bd\"", "a door \"NO\u00a0ENTRY\"",
                    "a bar \"DON\u2019T\"", "a caf\u00e9 \"CAFE\u0301\"", "a sign \"Se\u00f1or\""}),
      {"The targets of 4 of the 14 evaluation prompts hold characters that the reader of ocr cannot return "
       "(U+00A0 \u00bd \u00f1 \u4f60 \u597d): line 1: \"\u4f60\u597d\", line 2: \"Floor \u00bd\", line 3: "
       "\"NO\u00a0ENTRY\" and 1 more. No image scores 1 there, and 1 can score nothing but 0.",
       "The targets of 1 of the 14 evaluation prompts hold typographic quotes"});
}

TEST_F(PromptNotes, NameWhatDiffersInCaseBlanksOrFormAlone) {
  Words lines;
  for (int i = 0; i < 4; ++i) lines.push_back(fmt::format("a caf\u00e9 that reads \"number {}\"", i));
  for (int i = 0; i < 4; ++i) lines.push_back(fmt::format("A cafe\u0301 that  reads \"number {}\" ", i));
  for (int i = 0; i < 3; ++i) lines.push_back(fmt::format("a sign that reads \"number {}\"", i));
  lines.emplace_back("a sign\u00a0that reads \"NUMBER 0\"");
  place.write_text("sets/ocr/test.txt", join(lines, "\n"));
  place.write("mine.json", {{"extends", "sd35-ocr"},
                            {"id", "mine"},
                            {"reproduces", ""},
                            {"methods", {"ratio-norm", "dual"}},
                            {"prompts", {{"first", 12}}},
                            {"split", {{"seed", nullptr}, {"take", nullptr}, {"first", 4}}}});
  const auto made = smoke_of("mine.json", {"--prompts", "sets", "--seeds", "1,2"});
  const Words said = {
      "4 of the 8 test prompts have the text of a validation prompt (4 of them but for case, blanks or Unicode form)",
      "The 8 test prompts are 7 different texts; intervals resample texts, with all their images. Texts that differ "
      "in case, blanks or Unicode form alone are one: lines 9 and 12."};
  ok(with(made, {"--dry-run"}), said);
  const auto table = place.json(with(made, {"--json"}));
  for (const auto& comparison : table.at("comparisons")) {
    if (comparison.at("runs").is_null()) continue;
    EXPECT_EQ(comparison.at("runs").at("clusters"), 6) << "one of the 7 texts has no score: " << comparison;
  }
  ok({"table", "mine"}, said);
  ok({"check", "mine"});
  const auto left_out = with(made, {"--set", "leave_out_validation_prompts=true"});
  ok(left_out, {"Left out of the test split: 4 prompts"});
  ok({"check", "mine"}, {"first divides 12 prompts in 4 and 4 without those of validation"});
}

TEST_F(PromptNotes, ATrainingPromptThatIsEvaluatedButForCaseAndBlanksIsRefusedWithItsLine) {
  place.write_text("train.txt",
                   "a sign \"QX 1\"\n A SIGN  that reads \"number 3\"\na sign \"QX 2\"\na sign \"QX 3\"\n");
  fails(
      2, with_prompts({}, {"--train-prompts", "train.txt"}),
      {"train.txt: 1 of its prompts is one of validation or test (same text or target): line 2 (1 of them but for "
       "case, blanks or Unicode form)"});
  place.write_text("scenes.txt", "A harbour at dawn\na mill\n");
  place.write_text("more.txt", "a lake\na  harbour at Dawn\n");
  fails(1, {"datasets", "verify", "scenes.txt", "--task", "pickscore", "--train-prompts", "more.txt"}, {},
        {"1 texts, 0 targets", "line 1 is line 2 of the training set, but for case, blanks or Unicode form"});
}

TEST_F(PromptNotes, TargetsInAnotherNormalFormHaveIdsOfTheirOwnAndOthersKeepTheirs) {
  const auto identities = [&](const std::string& target) {
    ok(with_prompts({fmt::format("a house \"{}\"", target)}));
    ok({"check", "sd35-ocr"});
    return query("SELECT count(*), sum(json_extract(config, '$.target_form') = 'NFC') FROM evaluations");
  };
  EXPECT_THAT(identities("CAF\u00c9"), HasSubstr("\n6,\n"));
  EXPECT_THAT(identities("CAFE\u0301"), HasSubstr("\n12,6\n"));
}

TEST_F(PromptNotes, AFileWithLineEndsOfWindowsOrAByteOrderMarkHasTheIdsOfItsLines) {
  const auto command = with_prompts({"a house \"HOUSE\""});
  const auto text = read_file(place.folder() / "p.txt");
  const auto ids = job_ids(place, command, "evaluate");
  std::string windows = "\xef\xbb\xbf";
  for (const char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
  place.write_text("p.txt", windows);
  EXPECT_EQ(job_ids(place, command, "evaluate"), ids);
  ok(command);
  ok({"check", "sd35-ocr"});
  ok({"export", "sd35-ocr", "-o", "x.tar.zst"}, {}, {});
  ok({"import", "x.tar.zst", "--out", "there"});
  ok({"check", "--db", "there/results.sqlite", "sd35-ocr"});
}

TEST_F(PromptNotes, AFileOfOnePromptSaysSo) {
  place.write_text("one.txt", "a sign \"A\"\n");
  fails(2, smoke({"--prompts", "one.txt"}),
        {"one.txt: holds a single prompt; give two or more: scores are compared over prompts"});
}

}  // namespace
}  // namespace harness::test
