#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "models/loading.h"
#include "models/parity.h"
#include "models/parity_check.h"
#include "models/parity_kinds.h"
#include "models/t5_tokenizer.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;
using torch::Tensor;

const fs::path kCases = fs::path(HARNESS_SOURCE_DIR) / "tests/data/parity";

/// The message of the Error that `function` throws; empty if it throws none.
template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

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

  void copy_model(const std::string& name) { fs::copy(kCases / name / "model", folder_); }
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

class T5Parity : public testing::TestWithParam<const char*> {};

TEST_P(T5Parity, OutputsMatchTheReference) {
  torch::set_num_threads(1);
  const auto folder = kCases / GetParam();
  const auto result = compare_with_case(folder, run_model_case(folder));
  EXPECT_TRUE(result.passed) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Cases, T5Parity,
                         testing::Values("t5_encoder", "t5_encoder_relu", "tokenizer_t5",
                                         "tokenizer_t5_map"));

TEST(TokenizerCase, AnUnknownFamilyIsRefused) {
  ParityCase c{.folder = "case", .kind = "tokenizer", .params = {{"family", "bert"}}, .inputs = {}};
  EXPECT_EQ(message_of([&] { run_tokenizer_case(c); }),
            "case: tokenizer family \"bert\" is not known; known: \"clip\", \"t5\"");
}

// ---- Encoder

class T5Weights : public T5Folder {
 protected:
  void SetUp() override {
    T5Folder::SetUp();
    copy_model("t5_encoder");
    ids_ = load_tensors(kCases / "t5_encoder/inputs.safetensors").at("input_ids.6");
  }

  template <class Change>
  void edit_weights(const Change& change) {
    auto weights = load_tensors(folder_ / "model.safetensors");
    change(weights);
    save_tensors(folder_ / "model.safetensors", weights, {{"format", "pt"}});
  }

  Tensor run(torch::ScalarType dtype = torch::kFloat32) {
    return load_t5_encoder(folder_, {.dtype = dtype})->forward(ids_);
  }

  Tensor ids_;
};

double relative_error(const Tensor& a, const Tensor& reference) {
  return ((a.to(torch::kFloat32) - reference).abs().max() / reference.abs().max()).item<double>();
}

TEST_F(T5Weights, TheDuplicateOfTheEmbeddingIsNotRead) {
  const auto before = run();
  edit_weights([](TensorMap& weights) {
    weights["encoder.embed_tokens.weight"] = torch::full_like(weights["shared.weight"], NAN);
  });
  EXPECT_TRUE(run().equal(before));
}

TEST_F(T5Weights, AMissingWeightIsNamed) {
  edit_weights([](TensorMap& weights) { weights.erase("encoder.final_layer_norm.weight"); });
  EXPECT_NE(message_of([this] { run(); }).find("missing encoder.final_layer_norm.weight"), std::string::npos);
}

TEST_F(T5Weights, AMaskHidesPaddingAndNothingElse) {
  auto model = load_t5_encoder(folder_);
  const auto ids = torch::tensor({{5, 9, 1, 0, 0}}), other = torch::tensor({{5, 9, 1, 7, 0}});
  const auto mask = torch::tensor({{1, 1, 1, 0, 0}});
  const auto kept = [](const Tensor& x) { return x.narrow(1, 0, 3); };
  EXPECT_TRUE(kept(model->forward(ids, mask)).equal(kept(model->forward(other, mask))));
  EXPECT_FALSE(torch::allclose(kept(model->forward(ids)), kept(model->forward(other)), 0, 1e-4));
  EXPECT_TRUE(model->forward(ids, torch::ones_like(mask)).equal(model->forward(ids)));
}

TEST_F(T5Weights, ARowWithoutAnyTokenToAttendToIsFinite) {
  const auto nothing = torch::zeros_like(ids_);
  for (const auto dtype : {torch::kFloat32, torch::kFloat16, torch::kBFloat16}) {
    EXPECT_TRUE(
        load_t5_encoder(folder_, {.dtype = dtype})->forward(ids_, nothing).isfinite().all().item<bool>());
  }
}

TEST_F(T5Weights, OutputsNeedNoGradients) {
  EXPECT_FALSE(run().requires_grad());
}

TEST_F(T5Weights, HalfPrecisionStaysNearFloat32) {
  const auto reference = run();
  for (const auto& [dtype, allowed] : {std::pair(torch::kFloat16, 4e-3), {torch::kBFloat16, 2e-2}}) {
    const auto half = run(dtype);
    EXPECT_EQ(half.scalar_type(), dtype);
    EXPECT_LT(relative_error(half, reference), allowed);
  }
}

TEST_F(T5Weights, OnlyFloat16KeepsTheFeedForwardOutputInFloat32) {
  const auto dtype_of = [this](torch::ScalarType dtype, const std::string& name) {
    return state_of(*load_t5_encoder(folder_, {.dtype = dtype})).at(name).scalar_type();
  };
  const std::string wo = "encoder.block.1.layer.1.DenseReluDense.wo.weight";
  EXPECT_EQ(dtype_of(torch::kFloat16, wo), torch::kFloat32);
  EXPECT_EQ(dtype_of(torch::kFloat16, "shared.weight"), torch::kFloat16);
  EXPECT_EQ(dtype_of(torch::kBFloat16, wo), torch::kBFloat16);
}

TEST_F(T5Weights, Float16SurvivesAFeedForwardBeyondItsRange) {
  edit_weights(
      [](TensorMap& weights) { weights["encoder.block.0.layer.1.DenseReluDense.wo.weight"] *= 1e6; });
  EXPECT_LT(relative_error(run(torch::kFloat16), run()), 5e-3);
}

TEST_F(T5Weights, Float16ClampsAnInfiniteAttention) {
  edit_weights([](TensorMap& weights) {
    auto& o = weights["encoder.block.0.layer.0.SelfAttention.o.weight"];
    o = (o * 1e6).clamp(-60000, 60000);  // within float16 themselves, their products beyond it
  });
  EXPECT_TRUE(run(torch::kFloat16).isfinite().all().item<bool>());
}

TEST(T5Positions, BucketsAreExactNearAndLogarithmicFar) {
  const auto relative = torch::tensor({0, -1, 1, -7, 7, -8, -15, -16, 16, -127, -128, -5000, 5000});
  // 32 buckets up to 128: 8 exact ones, then 8 + floor(8 log(n / 8) / log(16)), 16 more where the key is
  // behind.
  const auto expected = torch::tensor({0, 1, 17, 7, 23, 8, 9, 10, 26, 15, 15, 15, 31});
  EXPECT_TRUE(t5_position_buckets(relative, 32, 128).equal(expected));
}

Json small_config() {
  return read_json(kCases / "t5_encoder/model/config.json");
}

TEST(T5Config, PublishedConfigsOfBothVersionsAreRead) {
  const auto xxl = T5Config::from_json(
      Json::parse(R"({"_name_or_path": "google/t5-v1_1-xxl", "architectures": ["T5EncoderModel"],
        "classifier_dropout": 0.0, "d_ff": 10240, "d_kv": 64, "d_model": 4096, "decoder_start_token_id": 0,
        "dense_act_fn": "gelu_new", "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
        "initializer_factor": 1.0, "is_encoder_decoder": true, "is_gated_act": true, "layer_norm_epsilon": 1e-06,
        "model_type": "t5", "num_decoder_layers": 24, "num_heads": 64, "num_layers": 24, "output_past": true,
        "pad_token_id": 0, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.3",
        "use_cache": true, "vocab_size": 32128})"),
      "config.json");
  EXPECT_TRUE(xxl.gated);
  EXPECT_EQ(xxl.inner_dim(), 4096);
  const auto base = T5Config::from_json(
      Json::parse(R"({"architectures": ["T5EncoderModel"], "d_ff": 3072, "d_kv": 64, "d_model": 768,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
        "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
        "num_heads": 12, "num_layers": 12, "output_past": true, "pad_token_id": 0,
        "relative_attention_num_buckets": 32, "task_specific_params": {"summarization": {"max_length": 200}},
        "vocab_size": 32128})"),
      "config.json");
  EXPECT_FALSE(base.gated);
  EXPECT_EQ(base.d_ff, 3072);
}

TEST(T5Config, AFlagThatIsNotImplementedIsRefused) {
  const std::vector<std::pair<Json, std::string>> changes = {
      {{{"feed_forward_proj", "gated-silu"}}, "feed_forward_proj \"gated-silu\" is not known"},
      {{{"dense_act_fn", "relu"}}, "\"dense_act_fn\" = \"relu\" is not known"},
      {{{"is_gated_act", false}}, "\"is_gated_act\" = false is not known"},
      {{{"is_decoder", true}}, "\"is_decoder\" = true is not known"},
      {{{"model_type", "umt5"}}, "\"model_type\" = \"umt5\" is not known"},
      {{{"quantization_config", {{"bits", 8}}}}, "unknown key \"quantization_config\""},
      {{{"num_layers", 0}}, "\"num_layers\" = 0 is out of range"},
      {{{"d_model", "wide"}}, "\"d_model\""},
      {{{"layer_norm_epsilon", 0.0}}, "\"layer_norm_epsilon\" is not positive"},
      {{{"relative_attention_num_buckets", 2}}, "2 position buckets do not fit"},
  };
  for (const auto& [change, expected] : changes) {
    auto document = small_config();
    document.update(change);
    const auto message = message_of([&] { T5Config::from_json(document, "config.json"); });
    EXPECT_NE(message.find("config.json: "), std::string::npos) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

// ---- Tokenizer

TEST(T5Tokenizer, SpecialTokensInATextBecomeTheirIds) {
  const auto tokenizer = T5Tokenizer::load(kCases / "tokenizer_t5/model");
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
  const auto tokenizer = T5Tokenizer::load(kCases / "tokenizer_t5/model");
  const auto whole = tokenizer.encode("the old lighthouse");
  ASSERT_GT(whole.size(), 4U);
  const auto cut = tokenizer.encode_padded({"the old lighthouse"}, 4);
  EXPECT_EQ(cut.ids, (Ids{whole[0], whole[1], whole[2], 1}));
  EXPECT_EQ(cut.attention_mask, (Ids{1, 1, 1, 1}));
  EXPECT_EQ(tokenizer.encode_padded({"the", ""}, 1).ids, (Ids{1, 1}));
  EXPECT_THROW(tokenizer.encode_padded({"the"}, 0), Error);
}

TEST(T5Tokenizer, ShortTextsArePaddedAndMasked) {
  const auto tokenizer = T5Tokenizer::load(kCases / "tokenizer_t5/model");
  const auto padded = tokenizer.encode_padded({"", "<unk> <unk>"}, 4);
  EXPECT_EQ(padded.ids, (Ids{1, 0, 0, 0, 2, 2, 1, 0}));
  EXPECT_EQ(padded.attention_mask, (Ids{1, 0, 0, 0, 1, 1, 1, 0}));
}

TEST(T5Tokenizer, ARunOfUnknownCharactersIsOneIdAWord) {
  const auto tokenizer = T5Tokenizer::load(kCases / "tokenizer_t5/model");
  const auto one = tokenizer.encode("\u9f98");
  EXPECT_EQ(one.at(one.size() - 2), 2);
  EXPECT_EQ(tokenizer.encode("\u9f98\u9f98\u9f98"), one);
  EXPECT_EQ(tokenizer.encode("\u9f98 \u3000\u9f98").size(), 2 * one.size() - 1);
}

TEST(T5Tokenizer, TextThatIsNotUtf8IsRefused) {
  const auto tokenizer = T5Tokenizer::load(kCases / "tokenizer_t5/model");
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
      {{{"tokenizer_class", "CLIPTokenizer"}}, "is a CLIPTokenizer, not a T5Tokenizer"},
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
