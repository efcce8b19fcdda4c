#include "models/tokenizers/clip_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr auto kEndCase = "tokenizer_clip", kBangCase = "tokenizer_clip_pad_bang";

ClipTokenizer tokenizer_of(const std::string& name) {
  return ClipTokenizer::load(case_folder(name) / "model");
}

/// The tokens of a text between start and end.
std::vector<std::string> folder_tokens(const fs::path& folder, const std::string& text) {
  const auto tokenizer = ClipTokenizer::load(folder);
  const auto vocabulary = read_json(folder / "vocab.json").get<std::map<std::string, std::int64_t>>();
  std::map<std::int64_t, std::string> names;
  for (const auto& [token, id] : vocabulary) names[id] = token;
  const auto ids = tokenizer.encode(text);
  EXPECT_EQ(ids.front(), tokenizer.start_id());
  EXPECT_EQ(ids.back(), tokenizer.end_id());
  std::vector<std::string> found;
  for (std::size_t i = 1; i + 1 < ids.size(); ++i) found.push_back(names.at(ids[i]));
  return found;
}

std::vector<std::string> tokens(const std::string& name, const std::string& text) {
  return folder_tokens(case_folder(name) / "model", text);
}

using Words = std::vector<std::string>;

TEST(ClipTokenizer, TruncationKeepsTheEndToken) {
  const auto tokenizer = tokenizer_of(kEndCase);
  const std::vector<std::string> texts{"1 2 3 4 5 6", "1 2"};
  const auto whole = tokenizer.encode(texts[0]);
  const auto padded = tokenizer.encode_padded(texts, 5);
  const std::vector<std::int64_t> cut{whole[0], whole[1], whole[2], whole[3], tokenizer.end_id()};
  EXPECT_TRUE(std::equal(cut.begin(), cut.end(), padded.ids.begin()));
  EXPECT_EQ(padded.attention_mask, (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(padded.ids.back(), tokenizer.padding_id());
}

TEST(ClipTokenizer, TheShortestLengthHoldsStartAndEnd) {
  const auto tokenizer = tokenizer_of(kEndCase);
  const std::vector<std::string> texts{"hello"};
  const std::vector<std::int64_t> both{tokenizer.start_id(), tokenizer.end_id()};
  EXPECT_EQ(tokenizer.encode_padded(texts, 2).ids, both);
  EXPECT_EQ(tokenizer.encode(""), both);
  EXPECT_PROBLEM(message_of([&] { tokenizer.encode_padded(texts, 1); }), "no room for start and end");
}

TEST(ClipTokenizer, SizesAndIdsAreThoseOfTheFolder) {
  const auto tokenizer = tokenizer_of(kBangCase);
  EXPECT_EQ(tokenizer.padding_id(), 0);
  EXPECT_EQ(tokenizer.end_id(), tokenizer.vocab_size() - 1);
  EXPECT_EQ(tokenizer.start_id(), tokenizer.vocab_size() - 2);
  EXPECT_EQ(tokenizer.model_max_length(), 77);
  EXPECT_EQ(tokenizer_of(kEndCase).padding_id(), tokenizer_of(kEndCase).end_id());
}

TEST(ClipTokenizer, SpecialTokensInATextBecomeTheirIds) {
  EXPECT_EQ(tokens(kEndCase, "a<|endoftext|>b <|startoftext|>"),
            (Words{"a</w>", "<|endoftext|>", "b</w>", "<|startoftext|>"}));
}

TEST(ClipTokenizer, SpecialTokensInUpperCaseAreFoundOnlyInNormalisedText) {
  EXPECT_EQ(tokens(kEndCase, "<|ENDOFTEXT|>"), (Words{"<|endoftext|>"}));
  const auto spelled = tokens(kBangCase, "<|ENDOFTEXT|>?");
  EXPECT_EQ((Words{spelled[0], spelled[1]}), (Words{"<", "|</w>"}));
  EXPECT_EQ((Words{spelled.end()[-3], spelled.end()[-2], spelled.end()[-1]}), (Words{"|", "></w>", "?</w>"}));
}

TEST(ClipTokenizer, AnExclamationMarkThatPadsIsCutOutOfTheText) {
  EXPECT_EQ(tokens(kBangCase, "b!?"), (Words{"b</w>", "!", "?</w>"}));
  EXPECT_EQ(tokens(kBangCase, "'!s"), (Words{"'</w>", "!", "s</w>"}));
  EXPECT_EQ(tokens(kEndCase, "b!?"), (Words{"b</w>", "!", "?</w>"}));
  EXPECT_EQ(tokens(kEndCase, "'!s"), (Words{"'", "!</w>", "s</w>"}));
}

TEST(ClipTokenizer, EveryDigitIsAWordAndContractionsEndOne) {
  EXPECT_EQ(tokens(kEndCase, "12½"), (Words{"1</w>", "2</w>", "Â", "½</w>"}));
  EXPECT_EQ(tokens(kEndCase, "B'Mb"), (Words{"b</w>", "'", "m</w>", "b</w>"}));
}

TEST(ClipTokenizer, LowerCaseGoesByCodePoint) {
  EXPECT_EQ(tokens(kEndCase, "ΟΣ"), (Words{"Î", "¿", "Ï", "ĥ</w>"}));     // not the final sigma
  EXPECT_EQ(tokens(kEndCase, "\u0130"), (Words{"i</w>", "Ì", "ĩ</w>"}));  // i, then U+0307
  EXPECT_EQ(tokens(kEndCase, "E\u0301"), tokens(kEndCase, "\u00e9"));     // composed first
  EXPECT_EQ(tokens(kEndCase, "b\u00a0\u3000b\u0085b"), (Words{"b</w>", "b</w>", "b</w>"}));  // white space
  EXPECT_EQ(tokens(kEndCase, "\u200b"), (Words{"â", "Ģ", "ĭ</w>"}));  // a mark, not a space
}

TEST(ClipTokenizer, TheLowestRankMergesFirstAndTheLeftmostOfEqualOnes) {
  const ModelCopy copy(kEndCase);
  auto vocabulary = read_json(copy.folder() / "vocab.json");
  for (const char* token : {"zz", "zzz", "zz</w>"}) {
    const auto next = vocabulary.size();
    if (!vocabulary.contains(token)) vocabulary[token] = next;
  }
  copy.write("vocab.json", vocabulary.dump());
  copy.write("merges.txt", "#version: 0.2\nz z\nzz z\nz z</w>\n");
  EXPECT_EQ(folder_tokens(copy.folder(), "zzzz"), (Words{"zzz", "z</w>"}));
  copy.write("merges.txt", "z z</w>\nz z\nzz z\n");  // the line of the version is no condition
  EXPECT_EQ(folder_tokens(copy.folder(), "zzzz"), (Words{"zz", "zz</w>"}));
}

TEST(ClipTokenizer, FoldersWithoutAddedTokensDecoderTakeSpecialTokensFromTheirMap) {
  const ModelCopy copy(kEndCase);
  copy.edit("tokenizer_config.json", {{"added_tokens_decoder", nullptr}});
  copy.write("special_tokens_map.json", R"({"pad_token": "!"})");
  EXPECT_EQ(ClipTokenizer::load(copy.folder()).padding_id(), 0);
  EXPECT_EQ(folder_tokens(copy.folder(), "b!"), (Words{"b</w>", "!"}));
  EXPECT_EQ(folder_tokens(copy.folder(), "<|ENDOFTEXT|>").front(), "<");  // not found in the normalised text
  copy.write("tokenizer.json", R"({"added_tokens": [{"id": 0, "content": "?", "normalized": true}]})");
  EXPECT_PROBLEM(message_of([&] { ClipTokenizer::load(copy.folder()); }), "\"?\" has the id 0, but");
}

TEST(ClipTokenizer, TextThatIsNotUtf8IsAnError) {
  EXPECT_PROBLEM(message_of([&] { tokenizer_of(kEndCase).encode("ab\xff"); }), "invalid UTF-8 at byte 2");
}

constexpr auto kVocab = "vocab.json", kMerges = "merges.txt", kConfig = "tokenizer_config.json";
constexpr auto kAny = "\"errors\"";  // a key of the configuration; what goes before it is one more

TEST(ClipTokenizer, EveryBrokenFileIsRefusedWithItsNameAndTheReason) {
  const std::string start = "\"content\": \"<|startoftext|>\"", pad = "\"pad_token\": \"<|endoftext|>\"";
  const std::vector<std::array<std::string, 4>> rows = {
      {kVocab, "{", "[", "not valid JSON"},
      {kVocab, "{", "{,", "not valid JSON"},
      {kVocab, "\"#\": 2", "\"#\": 3", "\"#\" and \"$\" have the same id 3"},
      {kVocab, "\"#\": 2", "\"#\": 99999", "\"#\" has the id 99999, but"},
      {kVocab, "\"#\": 2", "\"#\": -1", "\"#\" has the id -1, but"},
      {kVocab, "\"#\": 2", "\"#\": \"2\"", "has the id \"2\", which is not an integer"},
      {kVocab, "\"#\": 2", "\"!\": 2", "key \"!\" occurs twice"},
      {kVocab, "\"#\": 2", "\"##\": 2", "lacks \"#\", which stands for byte 35"},
      {kVocab, "\"#</w>\"", "\"##\"", "lacks \"#</w>\", which stands for byte 35"},
      {kVocab, "<|endoftext|>", "<|end|>", "\"<|endoftext|>\" is not in vocab.json"},
      {kMerges, "\n", "\nab\n", "line 2: \"ab\" is not a pair of tokens"},
      {kMerges, "\n", "\na b c\n", "\"a b c\" is not a pair"},
      {kMerges, "\n", "\na \n", "\"a \" is not a pair"},
      {kMerges, "\n", "\n\n", "\"\" is not a pair"},
      {kMerges, "\n", "\nqx z\n", "line 2: \"qx\" is not in the vocabulary"},
      {kMerges, "\n", "\nz qx\n", "\"qx\" is not in the vocabulary"},
      {kMerges, "\n", "\nq x\n", "\"qx\" is not in the vocabulary"},
      {kMerges, "\n", "\nt h\nt h\n", "line 3: \"t h\" is given a second time"},
      {kConfig, "{", "", "not valid JSON"},
      {kConfig, "\"CLIPTokenizer\"", "\"T5Tokenizer\"", "\"tokenizer_class\" is \"T5Tokenizer\", which"},
      {kConfig, "\"add_prefix_space\": false", "\"add_prefix_space\": true", "\"add_prefix_space\" is true"},
      {kConfig, "\"do_lower_case\": true", "\"do_lower_case\": false", "\"do_lower_case\" is false"},
      {kConfig, kAny, "\"padding_side\": \"left\", ", "\"padding_side\" is \"left\", which"},
      {kConfig, kAny, "\"extra_special_tokens\": [\"x\"], ", "\"extra_special_tokens\" is [\"x\"], which"},
      {kConfig, kAny, "\"image_token\": \"x\", ", "unknown key \"image_token\""},
      {kConfig, "\"lstrip\": false", "\"lstrip\": true", "\"lstrip\" is true, which is not implemented"},
      {kConfig, "\"special\": true", "\"strict\": true", "unknown key \"strict\""},
      {kConfig, "\"normalized\"", "\"normalised\"", "\"normalized\" is missing"},
      {kConfig, start, "\"content\": \"\"", "an empty token"},
      {kConfig, start, "\"content\": \"<cat>\"", "\"<cat>\" is not in vocab.json"},
      {kConfig, start, "\"content\": \"?\"", "\"?\" has the id"},
      {kConfig, "\"added_tokens_decoder\": {", "\"added_tokens_decoder\": {\"x\": {},", "is not a token id"},
      {kConfig, "\"model_max_length\": 77", "\"model_max_length\": 1", "\"model_max_length\" is 1, outside"},
      {kConfig, pad, "\"pad_token\": null", "has no pad_token"},
      {kConfig, pad, "\"pad_token\": 7", "\"pad_token\" has the wrong type"},
      {kConfig, pad, "\"pad_token\": \"<pad>\"", "\"<pad>\" is not in vocab.json"}};
  for (const auto& [file, from, to, expected] : rows) {
    const ModelCopy copy(kEndCase);
    copy.replace(file, from, from == kAny ? to + from : to);
    const auto problem = message_of([&copy] { ClipTokenizer::load(copy.folder()); });
    EXPECT_PROBLEM(problem, expected);
    EXPECT_PROBLEM(problem, copy.folder().string());
  }
}

TEST(ClipTokenizer, AnUnknownSettingThatChangesNoTokenIsAWarning) {
  const ModelCopy copy(kEndCase);
  copy.replace(kConfig, kAny, "\"colour\": \"red\", \"errors\"");
  testing::internal::CaptureStderr();
  EXPECT_EQ(ClipTokenizer::load(copy.folder()).encode("a b"), tokenizer_of(kEndCase).encode("a b"));
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      fmt::format("warning: {}: ignores unknown keys \"colour\"\n", (copy.folder() / kConfig).string()));
}

TEST(ClipTokenizer, AFolderWithoutOneOfItsFilesIsAnError) {
  for (const char* file : {kVocab, kMerges, kConfig}) {
    const ModelCopy copy(kEndCase);
    fs::remove(copy.folder() / file);
    EXPECT_PROBLEM(message_of([&copy] { ClipTokenizer::load(copy.folder()); }), file);
  }
}

}  // namespace
}  // namespace harness
