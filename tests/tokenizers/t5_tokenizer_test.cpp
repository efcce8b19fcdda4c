#include "models/tokenizers/t5_tokenizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

/// A folder of its own for each test, with a copy of a recorded case's model.
class T5Folder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / (std::string("harness-t5-") + std::to_string(::getpid()) + test->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void copy_model(const std::string& name) { fs::copy(case_folder(name) / "model", folder_); }
  void copy_tokenizer() { copy_model("tokenizer_t5"); }

  /// Changes a JSON file of the folder.
  template <class Change>
  void edit(const std::string& file, const Change& change) {
    Json document = read_json(folder_ / file);
    change(document);
    write_file(folder_ / file, document.dump());
  }
  std::string load_message() {
    return message_of([this] { T5Tokenizer::load(folder_); });
  }

  fs::path folder_;
};

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
  const auto cut = tokenizer.encode_padded({"the old lighthouse"}, 4);
  EXPECT_EQ(cut.ids, (Ids{whole[0], whole[1], whole[2], 1}));
  EXPECT_EQ(cut.attention_mask, (Ids{1, 1, 1, 1}));
  EXPECT_EQ(tokenizer.encode_padded({"the", ""}, 1).ids, (Ids{1, 1}));
  EXPECT_THROW(tokenizer.encode_padded({"the"}, 0), Error);
}

TEST(T5Tokenizer, ShortTextsArePaddedAndMasked) {
  const auto tokenizer = T5Tokenizer::load(case_folder("tokenizer_t5") / "model");
  const auto padded = tokenizer.encode_padded({"", "<unk> <unk>"}, 4);
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

TEST_F(T5Folder, WithoutSettingsTheSpecialTokensAreThoseOfT5) {
  copy_tokenizer();
  const auto given = T5Tokenizer::load(folder_);
  fs::remove(folder_ / "tokenizer_config.json");
  fs::remove(folder_ / "special_tokens_map.json");
  const auto own = T5Tokenizer::load(folder_);
  const std::string text = "a sign <extra_id_3> reading</s> <unk>!";
  EXPECT_EQ(own.encode(text), given.encode(text));
  EXPECT_EQ(own.size(), given.size());
}

TEST_F(T5Folder, AnAddedTokenBehindThePiecesIsFound) {
  copy_tokenizer();
  const auto before = T5Tokenizer::load(folder_);
  edit("tokenizer_config.json", [&](Json& document) {
    document["added_tokens_decoder"][std::to_string(before.size())] = {
        {"content", "<sign>"}, {"normalized", false}, {"special", false}, {"single_word", false}};
  });
  const auto after = T5Tokenizer::load(folder_);
  EXPECT_EQ(after.size(), before.size() + 1);
  EXPECT_EQ(after.encode("<sign>"), (Ids{before.size(), 1}));
}

TEST_F(T5Folder, SettingsThatCannotBeMetAreRefused) {
  copy_tokenizer();
  const auto original = read_file(folder_ / "tokenizer_config.json");
  const std::vector<std::pair<Json, std::string>> changes = {
      {{{"tokenizer_class", "CLIPTokenizer"}}, "is a \"CLIPTokenizer\", not a T5Tokenizer"},
      {{{"padding_side", "left"}}, "\"padding_side\" = \"left\" is not known"},
      {{{"sp_model_kwargs", {{"enable_sampling", true}}}}, "\"sp_model_kwargs\""},
      {{{"do_lower_case", true}}, "unknown key \"do_lower_case\""},
      {{{"extra_ids", -1}}, "\"extra_ids\" = -1 is out of range"},
      {{{"pad_token", "[PAD]"}}, "\"pad_token\" is \"[PAD]\", which is no piece of spiece.model"},
      {{{"eos_token", 3}}, "\"eos_token\" is not a token"},
      {{{"added_tokens_decoder", {{"7", {{"content", "</s>"}}}}}}, "gives \"</s>\" the id 7, but it is 1"},
      {{{"added_tokens_decoder", {{"x", {{"content", "</s>"}}}}}}, "\"x\" is not an id"},
      {{{"added_tokens_decoder", {{"1", {{"content", "</s>"}, {"single_word", true}}}}}},
       "\"single_word\" = true"},
  };
  for (const auto& [change, expected] : changes) {
    Json document = parse_json(original, "original");
    document.update(change);
    write_file(folder_ / "tokenizer_config.json", document.dump());
    const auto message = load_message();
    EXPECT_NE(message.find("tokenizer_config.json"), std::string::npos) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

// ---- The model file, field by field

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

class SpieceModel : public T5Folder {
 protected:
  void SetUp() override {
    T5Folder::SetUp();
    fs::create_directories(folder_);
  }
  void write(const std::string& bytes) { write_file(folder_ / "spiece.model", bytes); }
  std::string message(const std::string& bytes) {
    write(bytes);
    return load_message();
  }
  std::string prefix() const { return (folder_ / "spiece.model").string() + ": "; }
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

TEST_F(SpieceModel, AnEmptyFileIsRefused) {
  EXPECT_EQ(message(""), prefix() + "is empty");
}

TEST_F(SpieceModel, AFileThatIsNoProtobufIsRefused) {
  for (const std::string bytes :
       {"version https://git-lfs.github.com/spec/v1", "{\"model\": 1}", "\xFF\xFF\xFF"})
    EXPECT_EQ(message(bytes), prefix() + "is not a SentencePiece model, or is cut short");
}

TEST_F(SpieceModel, ACutInsideAPieceIsRefused) {
  const auto whole = small_model();
  for (std::size_t cut = 1; cut < piece("aa", -1.5F).size(); ++cut) {
    EXPECT_EQ(message(whole.substr(0, whole.size() - cut)),
              prefix() + "is not a SentencePiece model, or is cut short");
  }
}

TEST_F(SpieceModel, AMessageWithoutPiecesIsRefused) {
  EXPECT_EQ(message(number(9, 1)), prefix() + "holds no pieces: it is not a SentencePiece model");
}

TEST_F(SpieceModel, AModelWithoutOneUnknownPieceIsRefused) {
  EXPECT_EQ(message(piece("<pad>", 0, 3) + piece("a", -1)),
            prefix() + "has 0 pieces for unknown characters instead of one");
  EXPECT_EQ(message(small_model() + piece("<unk2>", 0, 2)),
            prefix() + "has 2 pieces for unknown characters instead of one");
}

TEST_F(SpieceModel, APieceThatOccursTwiceIsRefused) {
  EXPECT_EQ(message(small_model() + piece("a", -3)), prefix() + "holds the piece \"a\" twice");
  EXPECT_EQ(message(small_model() + piece("<extra_id_5>", -3)),
            prefix() + "holds the piece \"<extra_id_5>\" twice");
}

TEST_F(SpieceModel, AMalformedPieceIsRefused) {
  for (const auto& bad : {piece("", -1), piece("\xC3", -1), piece("x", NAN)})
    EXPECT_EQ(message(small_model() + bad),
              prefix() + "piece 6 has no text, text that is not UTF-8, or no finite score");
}

TEST_F(SpieceModel, WhatT5DoesNotHaveIsRefused) {
  const auto trainer = [](std::uint64_t field, std::uint64_t value) {
    return nested(2, number(field, value));
  };
  EXPECT_EQ(message(small_model() + piece("x", 0, 4)),
            prefix() + "piece 6 \"x\" is of type 4; known: 1 (normal), 2 (unknown), 3 (control)");
  EXPECT_EQ(message(small_model() + trainer(3, 2)), prefix() + "\"model_type\" = 2 is not known; known: 1");
  EXPECT_EQ(message(small_model() + trainer(35, 1)),
            prefix() + "\"byte_fallback\" = 1 is not known; known: 0");
  EXPECT_EQ(message(small_model() + nested(3, number(3, 0))),
            prefix() + "\"add_dummy_prefix\" = 0 is not known; known: 1");
}

TEST_F(SpieceModel, AMalformedCharacterMapIsRefused) {
  const auto with_map = [](const std::string& map) { return small_model() + nested(3, nested(2, map)); };
  for (const auto& map :
       {std::string("ab"), std::string("\x08\0\0\0abcdefgh", 12), std::string("\3\0\0\0abcd", 8)})
    EXPECT_EQ(message(with_map(map)), prefix() + "its character map is malformed");
  // The root's children stand outside the trie.
  write(with_map(map_of({1U << 20})));
  const auto tokenizer = T5Tokenizer::load(folder_);
  EXPECT_EQ(message_of([&] { tokenizer.encode("a"); }), prefix() + "its character map points outside itself");
}

}  // namespace
}  // namespace harness
