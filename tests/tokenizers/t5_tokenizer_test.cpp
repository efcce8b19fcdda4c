#include "models/tokenizers/t5_tokenizer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Ids = TokenIds;
using Texts = std::vector<std::string>;

TEST(T5Tokenizer, SpecialTokensInATextBecomeTheirIds) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  const auto last = tokenizer.size() - 1;
  EXPECT_EQ(tokenizer.encode("<pad></s> <unk>"), (Ids{0, 1, 2, 1}));
  EXPECT_EQ(tokenizer.encode("<extra_id_0><extra_id_99>"), (Ids{last, last - 99, 1}));
  EXPECT_EQ(tokenizer.encode("the</s>the"), [&] {
    auto ids = tokenizer.encode("the");
    const auto again = ids;
    ids.insert(ids.end(), again.begin(), again.end());
    return ids;
  }());
}

TEST(T5Tokenizer, TruncationKeepsTheEndToken) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  const auto whole = tokenizer.encode("the old lighthouse");
  ASSERT_GT(whole.size(), 4U);
  const auto cut = tokenizer.encode_padded(Texts{"the old lighthouse"}, 4);
  EXPECT_EQ(cut.ids, (Ids{whole[0], whole[1], whole[2], 1}));
  EXPECT_EQ(cut.attention_mask, (Ids{1, 1, 1, 1}));
  EXPECT_EQ(tokenizer.encode_padded(Texts{"the", ""}, 1).ids, (Ids{1, 1}));
  EXPECT_THROW(tokenizer.encode_padded(Texts{"the"}, 0), Error);
}

TEST(T5Tokenizer, ShortTextsArePaddedAndMasked) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  const auto padded = tokenizer.encode_padded(Texts{"", "<unk> <unk>"}, 4);
  EXPECT_EQ(padded.ids, (Ids{1, 0, 0, 0, 2, 2, 1, 0}));
  EXPECT_EQ(padded.attention_mask, (Ids{1, 0, 0, 0, 1, 1, 1, 0}));
}

TEST(T5Tokenizer, ARunOfUnknownCharactersIsOneIdAWord) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  const auto one = tokenizer.encode("\u9f98");
  EXPECT_EQ(one.at(one.size() - 2), 2);
  EXPECT_EQ(tokenizer.encode("\u9f98\u9f98\u9f98"), one);
  EXPECT_EQ(tokenizer.encode("\u9f98 \u3000\u9f98").size(), 2 * one.size() - 1);
}

TEST(T5Tokenizer, TextThatIsNotUtf8IsRefused) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  EXPECT_EQ(message_of([&] { tokenizer.encode("a\xFF"); }), "text to tokenize: is not UTF-8 at byte 1");
}

TEST(T5Folder, WithoutSettingsTheSpecialTokensAreThoseOfT5) {
  const ModelCopy copy("tokenizer_t5");
  const auto& folder = copy.folder();
  const auto given = T5Tokenizer::load(folder);
  fs::remove(folder / "tokenizer_config.json");
  fs::remove(folder / "special_tokens_map.json");
  const auto own = T5Tokenizer::load(folder);
  const std::string text = "a sign <extra_id_3> reading</s> <unk>!";
  EXPECT_EQ(own.encode(text), given.encode(text));
  EXPECT_EQ(own.size(), given.size());
}

TEST(T5Folder, AnAddedTokenBehindThePiecesIsFound) {
  const ModelCopy copy("tokenizer_t5");
  const auto& folder = copy.folder();
  const auto before = T5Tokenizer::load(folder);
  const Json token = {
      {"content", "<sign>"}, {"normalized", false}, {"special", false}, {"single_word", false}};
  copy.edit("tokenizer_config.json", {{"added_tokens_decoder", {{std::to_string(before.size()), token}}}});
  const auto after = T5Tokenizer::load(folder);
  EXPECT_EQ(after.size(), before.size() + 1);
  EXPECT_EQ(after.encode("<sign>"), (Ids{before.size(), 1}));
}

TEST(T5Folder, AnUnknownSettingThatChangesNoIdIsAWarning) {
  const ModelCopy copy("tokenizer_t5");
  copy.edit("tokenizer_config.json", {{"colour", "red"}, {"do_lower_case", false}});
  testing::internal::CaptureStderr();
  T5Tokenizer::load(copy.folder());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            fmt::format("warning: {}: ignores unknown keys \"colour\", \"do_lower_case\"\n",
                        (copy.folder() / "tokenizer_config.json").string()));
}

TEST(T5Folder, SettingsThatCannotBeMetAreRefused) {
  const ModelCopy copy("tokenizer_t5");
  const auto& folder = copy.folder();
  const auto original = read_file(folder / "tokenizer_config.json");
  const std::vector<std::pair<Json, std::string>> changes = {
      {{{"tokenizer_class", "CLIPTokenizer"}}, "\"tokenizer_class\" is \"CLIPTokenizer\", which"},
      {{{"padding_side", "left"}}, "\"padding_side\" is \"left\", which"},
      {{{"sp_model_kwargs", {{"enable_sampling", true}}}}, "\"sp_model_kwargs\""},
      {{{"do_lower_case", true}}, "unknown key \"do_lower_case\""},
      {{{"extra_ids", -1}}, "\"extra_ids\" is -1, outside 0..100000"},
      {{{"pad_token", "[PAD]"}}, "\"pad_token\" is \"[PAD]\", which is not a piece of spiece.model"},
      {{{"eos_token", 3}}, "\"eos_token\" is not a token"},
      {{{"added_tokens_decoder", {{"7", {{"content", "</s>"}}}}}}, "gives \"</s>\" the id 7, but it is 1"},
      {{{"added_tokens_decoder", {{"x", {{"content", "</s>"}}}}}}, "\"x\" is not an id"},
      {{{"added_tokens_decoder", {{"1", {{"content", "</s>"}, {"single_word", true}}}}}},
       "\"single_word\" is true, which"},
  };
  for (const auto& [change, expected] : changes) {
    Json document = parse_json(original, "original");
    document.update(change);
    write_file(folder / "tokenizer_config.json", document.dump());
    const auto message = message_of([&] { T5Tokenizer::load(folder); });
    EXPECT_NE(message.find("tokenizer_config.json"), std::string::npos) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string number(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string nested(std::uint64_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string piece(const std::string& text, float score, std::uint64_t type = 1) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &score, 4);
  return nested(1, nested(1, text) + varint(2 << 3 | 5) + bytes + number(3, type));
}
/// "<pad>", "</s>", "<unk>" and three pieces.
std::string small_model() {
  return piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) + piece("\u2581", -2) +
         piece("a", -1) + piece("aa", -1.5F);
}
/// A map whose trie has these units, with one target "b".
std::string map_of(std::vector<std::uint32_t> units) {
  units.insert(units.begin(), static_cast<std::uint32_t>(4 * units.size()));
  std::string bytes(4 * units.size(), '\0');
  std::memcpy(bytes.data(), units.data(), bytes.size());
  return bytes + std::string("b\0", 2);
}

class SpieceModel : public testing::Test {
 protected:
  std::string load_message() {
    return message_of([this] { T5Tokenizer::load(folder_); });
  }
  void write(const std::string& bytes) { write_file(folder_ / "spiece.model", bytes); }

  const ModelCopy copy_;
  const fs::path& folder_ = copy_.folder();
};

TEST_F(SpieceModel, TheBestSumOfScoresWins) {
  write(small_model());
  const auto tokenizer = T5Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode("aa"), (Ids{3, 5, 1}));  // -1.5 against -2
  EXPECT_EQ(tokenizer.encode("aab"), (Ids{3, 5, 2, 1}));
  EXPECT_EQ(tokenizer.size(), 106);
}

TEST_F(SpieceModel, AFolderWithoutItIsRefused) {
  write_file(folder_ / "tokenizer.json", "{}");
  EXPECT_EQ(load_message(),
            folder_.string() +
                ": has no spiece.model; a tokenizer.json alone is not enough: add the SentencePiece "
                "model that it was made from");
}

TEST_F(SpieceModel, EveryBrokenOneIsRefusedWithTheReason) {
  constexpr auto kNoModel = "is not a SentencePiece model, or is cut short",
                 kBadPiece = "piece 6 has no text, text that is not UTF-8, or no finite score",
                 kBadMap = "its character map is malformed";
  const auto small = small_model();
  const auto trainer = [&](std::uint64_t field, std::uint64_t value) {
    return small + nested(2, number(field, value));
  };
  const auto map = [&](const std::string& bytes) { return small + nested(3, nested(2, bytes)); };
  std::vector<std::pair<std::string, std::string>> rows = {
      {"", "is empty"},
      {"version https://git-lfs.github.com/spec/v1", kNoModel},
      {"{\"model\": 1}", kNoModel},
      {"\xFF\xFF\xFF", kNoModel},
      {number(9, 1), "holds no pieces: it is not a SentencePiece model"},
      {piece("<pad>", 0, 3) + piece("a", -1), "has 0 pieces for unknown characters instead of one"},
      {small + piece("<unk2>", 0, 2), "has 2 pieces for unknown characters instead of one"},
      {small + piece("a", -3), "holds the piece \"a\" twice"},
      {small + piece("<extra_id_5>", -3), "holds the piece \"<extra_id_5>\" twice"},
      {small + piece("", -1), kBadPiece},
      {small + piece("\xC3", -1), kBadPiece},
      {small + piece("x", NAN), kBadPiece},
      {small + piece("x", 0, 4), "piece 6 \"x\" is of type 4; known: 1 (normal), 2 (unknown), 3 (control)"},
      {trainer(3, 2), "\"model_type\" = 2 is not known; known: 1"},
      {trainer(35, 1), "\"byte_fallback\" = 1 is not known; known: 0"},
      {small + nested(3, number(3, 0)), "\"add_dummy_prefix\" = 0 is not known; known: 1"},
      {map("ab"), kBadMap},
      {map(std::string("\x08\0\0\0abcdefgh", 12)), kBadMap},
      {map(std::string("\3\0\0\0abcd", 8)), kBadMap}};
  for (std::size_t cut = 1; cut < piece("aa", -1.5F).size(); ++cut)
    rows.emplace_back(small.substr(0, small.size() - cut), kNoModel);
  for (const auto& [bytes, expected] : rows) {
    write(bytes);
    EXPECT_EQ(load_message(), (folder_ / "spiece.model").string() + ": " + expected);
  }
}

TEST_F(SpieceModel, ACharacterMapWhoseRootPointsOutsideItIsRefusedWhenItIsUsed) {
  write(small_model() + nested(3, nested(2, map_of({1U << 20}))));
  const auto tokenizer = T5Tokenizer::load(folder_);
  EXPECT_EQ(message_of([&] { tokenizer.encode("a"); }),
            (folder_ / "spiece.model").string() + ": its character map points outside itself");
}

}  // namespace
}  // namespace harness
