#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "models/clip_tokenizer.h"
#include "models/loading.h"
#include "models/parity.h"
#include "models/parity_check.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

fs::path case_folder(const std::string& name) {
  return fs::path(HARNESS_SOURCE_DIR) / "tests/data/parity" / name;
}

/// What `action` throws as an Error; empty if nothing.
template <class Action>
std::string problem_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_PROBLEM(text, expected) EXPECT_NE((text).find(expected), std::string::npos) << (text)

/// A copy of a case's model/, gone after the test.
class ModelCopy {
 public:
  explicit ModelCopy(const std::string& name) {
    static int count = 0;
    folder_ = fs::temp_directory_path() / fmt::format("harness-clip-{}-{}", ::getpid(), count++);
    fs::copy(case_folder(name) / "model", folder_, fs::copy_options::recursive);
  }
  ~ModelCopy() { fs::remove_all(folder_); }
  ModelCopy(const ModelCopy&) = delete;
  ModelCopy& operator=(const ModelCopy&) = delete;

  const fs::path& folder() const { return folder_; }

  void write(const std::string& file, const std::string& text) const { write_file(folder_ / file, text); }
  std::string read(const std::string& file) const { return read_file(folder_ / file); }

  /// Replaces the first occurrence.
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    auto text = read(file);
    const auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    write(file, text.replace(place, from.size(), to));
  }

  void edit(const std::string& file, const Json& patch) const {
    auto document = read_json(folder_ / file);
    document.merge_patch(patch);
    write(file, document.dump());
  }

 private:
  fs::path folder_;
};

class ClipParity : public testing::TestWithParam<const char*> {};

TEST_P(ClipParity, OutputsMatchTheReference) {
  const auto folder = case_folder(GetParam());
  const auto result = compare_with_case(folder, run_model_case(folder));
  EXPECT_TRUE(result.passed) << result.message;
}

// make_cases.py --seed 110 --variant 1
INSTANTIATE_TEST_SUITE_P(Cases, ClipParity,
                         testing::Values("clip_text_pooled", "clip_text_projection_gelu",
                                         "clip_text_projection_quick_gelu", "tokenizer_clip",
                                         "tokenizer_clip_pad_bang"));

TEST(TokenizerParity, AnUnknownFamilyIsAnError) {
  const ModelCopy copy("tokenizer_clip");
  copy.write("case.json", R"({"kind": "tokenizer", "params": {"family": "bert"}})");
  fs::copy(case_folder("tokenizer_clip") / "inputs.safetensors", copy.folder());
  EXPECT_PROBLEM(problem_of([&] { run_model_case(copy.folder()); }),
                 "tokenizer family \"bert\" is not known");
}

// --- Text encoder ---

constexpr auto kPooledCase = "clip_text_pooled", kProjectionCase = "clip_text_projection_gelu";

Tensor case_ids(const std::string& name) {
  return load_tensors(case_folder(name) / "inputs.safetensors").at("input_ids");
}

ClipTextOutput run_folder(const fs::path& folder, const Tensor& ids, const Placement& placement = {}) {
  const torch::NoGradGuard no_grad;
  return load_clip_text_model(folder, placement)->forward(ids);
}

ClipTextOutput run(const std::string& name, const Tensor& ids, const Placement& placement = {}) {
  return run_folder(case_folder(name) / "model", ids, placement);
}

ClipTextConfig config_with(const Json& patch) {
  auto document = read_json(case_folder(kPooledCase) / "model/config.json");
  document.merge_patch(patch);
  return ClipTextConfig::from_json(document, "config.json");
}

TEST(ClipTextModel, KeysWithAndWithoutTheTowersPrefixAreTheSameWeights) {
  for (const char* name : {kPooledCase, kProjectionCase}) {
    const ModelCopy copy(name);
    const auto ids = case_ids(name);
    const auto before = run_folder(copy.folder(), ids);
    TensorMap renamed;
    const std::string prefix = "text_model.";
    for (const auto& [key, tensor] : load_tensors(copy.folder() / "model.safetensors")) {
      if (key.starts_with("text_projection")) {
        renamed[key] = tensor;
      } else {
        renamed[key.starts_with(prefix) ? key.substr(prefix.size()) : prefix + key] = tensor;
      }
    }
    save_tensors(copy.folder() / "model.safetensors", renamed);
    EXPECT_TRUE(run_folder(copy.folder(), ids).pooled.equal(before.pooled)) << name;
  }
}

TEST(ClipTextModel, OneWeightUnderBothKeysIsAnError) {
  const ModelCopy copy(kProjectionCase);
  auto weights = load_tensors(copy.folder() / "model.safetensors");
  weights["final_layer_norm.bias"] = weights.at("text_model.final_layer_norm.bias");
  save_tensors(copy.folder() / "model.safetensors", weights);
  EXPECT_PROBLEM(
      problem_of([&] { load_clip_text_model(copy.folder()); }),
      "\"final_layer_norm.bias\" and \"text_model.final_layer_norm.bias\", which are the same weight");
}

TEST(ClipTextModel, StoredPositionIdsAreIgnored) {
  for (const char* key : {"embeddings.position_ids", "text_model.embeddings.position_ids"}) {
    const ModelCopy copy(kPooledCase);
    auto weights = load_tensors(copy.folder() / "model.safetensors");
    weights[key] = torch::arange(77).unsqueeze(0);
    save_tensors(copy.folder() / "model.safetensors", weights);
    EXPECT_EQ(problem_of([&] { load_clip_text_model(copy.folder()); }), "");
  }
}

TEST(ClipTextModel, ShardsLoadLikeOneFile) {
  const ModelCopy copy(kProjectionCase);
  const auto ids = case_ids(kProjectionCase);
  const auto before = run_folder(copy.folder(), ids);
  TensorMap shards[2];
  Json index{{"metadata", {{"total_size", 1}}}, {"weight_map", Json::object()}};
  std::size_t count = 0;
  for (const auto& [key, tensor] : load_tensors(copy.folder() / "model.safetensors")) {
    const auto shard = count++ % 2;
    shards[shard][key] = tensor;
    index["weight_map"][key] = fmt::format("model-0000{}-of-00002.safetensors", shard + 1);
  }
  fs::remove(copy.folder() / "model.safetensors");
  for (std::size_t i = 0; i < 2; ++i)
    save_tensors(copy.folder() / fmt::format("model-0000{}-of-00002.safetensors", i + 1), shards[i]);
  copy.write("model.safetensors.index.json", index.dump());
  EXPECT_TRUE(run_folder(copy.folder(), ids).text_embeds.equal(before.text_embeds));
}

TEST(ClipTextModel, AProjectionIsThereIfAndOnlyIfTheConfigurationNamesIt) {
  EXPECT_FALSE(run(kPooledCase, case_ids(kPooledCase)).text_embeds.defined());
  EXPECT_FALSE(config_with({{"architectures", nullptr}}).with_projection);
  const ModelCopy with(kProjectionCase);
  with.edit("config.json", {{"architectures", {"CLIPTextModel"}}});
  EXPECT_PROBLEM(problem_of([&] { load_clip_text_model(with.folder()); }),
                 "unexpected text_projection.weight");
  const ModelCopy without(kPooledCase);
  without.edit("config.json", {{"architectures", {"CLIPTextModelWithProjection"}}});
  EXPECT_PROBLEM(problem_of([&] { load_clip_text_model(without.folder()); }),
                 "missing text_projection.weight");
}

/// Pooled states and all states for one row of ids under an eos_token_id.
std::pair<Tensor, Tensor> pool(std::int64_t eos, const std::vector<std::int64_t>& ids) {
  const ModelCopy copy(kPooledCase);
  copy.edit("config.json", {{"eos_token_id", eos}});
  const auto out = run_folder(copy.folder(), torch::tensor(ids, torch::kInt64).unsqueeze(0));
  return {out.pooled[0], out.last_hidden_state[0]};
}

TEST(ClipTextModel, EosTokenId2PoolsAtTheFirstOfTheLargestId) {
  const auto [pooled, states] = pool(2, {5, 2, 90, 7, 90, 2});
  EXPECT_TRUE(pooled.equal(states[2]));
}

TEST(ClipTextModel, AnyOtherEosTokenIdPoolsAtItsFirstPlace) {
  const auto [pooled, states] = pool(7, {5, 2, 90, 7, 90, 7});
  EXPECT_TRUE(pooled.equal(states[3]));
}

TEST(ClipTextModel, ARowWithoutEosPoolsAtPosition0AsTheReferenceDoes) {
  const auto [pooled, states] = pool(8, {5, 2, 90, 7, 90, 7});
  EXPECT_TRUE(pooled.equal(states[0]));
}

TEST(ClipTextModel, NoStateDependsOnLaterTokens) {
  const auto ids = case_ids(kProjectionCase);
  auto other = ids.clone();
  other.slice(1, 40).fill_(3);
  const auto a = run(kProjectionCase, ids), b = run(kProjectionCase, other);
  EXPECT_TRUE(a.last_hidden_state.slice(1, 0, 40).equal(b.last_hidden_state.slice(1, 0, 40)));
  EXPECT_FALSE(a.last_hidden_state.slice(1, 40).equal(b.last_hidden_state.slice(1, 40)));
}

TEST(ClipTextModel, ARowDoesNotDependOnItsNeighbours) {
  const auto ids = case_ids(kProjectionCase);
  const auto last = ids.size(0) - 1;
  const auto here = run(kProjectionCase, ids), there = run(kProjectionCase, ids.flip(0));
  EXPECT_TRUE(here.text_embeds[0].equal(there.text_embeds[last]));
  EXPECT_TRUE(here.penultimate[0].equal(there.penultimate[last]));
}

TEST(ClipTextModel, HalfPrecisionIsNearFloat32) {
  const auto ids = case_ids(kProjectionCase);
  const auto exact = run(kProjectionCase, ids).text_embeds;
  for (const auto& [dtype, digits] : {std::pair(torch::kBFloat16, 0.05), std::pair(torch::kFloat16, 0.01)}) {
    const auto rough = run(kProjectionCase, ids, {.dtype = dtype}).text_embeds;
    EXPECT_EQ(rough.scalar_type(), dtype);
    const auto error = (rough.to(torch::kFloat32) - exact).abs().max() / exact.abs().max();
    EXPECT_LT(error.item<double>(), digits);
    EXPECT_GT(error.item<double>(), 0);
  }
}

TEST(ClipTextModel, TheInputOfAnOnlyLayerIsTheSumOfTheEmbeddings) {
  const torch::NoGradGuard no_grad;
  const auto config = config_with({{"num_hidden_layers", 1}});
  ClipTextModel model(config);
  for (auto& p : model->parameters()) p.fill_(0.25);
  const auto out = model->forward(torch::tensor({{1, 2, 3}}, torch::kInt64));
  EXPECT_TRUE(out.penultimate.equal(torch::full({1, 3, config.hidden_size}, 0.5)));
}

TEST(ClipTextConfig, FlagsOfTextConfigsWithinOldClipModelsAreAccepted) {
  const auto config = config_with(Json::parse(R"({"_name_or_path": "", "add_cross_attention": false,
      "architectures": [], "bad_words_ids": [], "chunk_size_feed_forward": 0, "diversity_penalty": 0.0,
      "do_sample": false, "dropout": 0.0, "early_stopping": false, "encoder_no_repeat_ngram_size": 0,
      "id2label": {"0": "LABEL_0"}, "is_decoder": false, "is_encoder_decoder": false,
      "label2id": {"LABEL_0": 0}, "length_penalty": 1.0, "max_length": 20, "min_length": 0,
      "no_repeat_ngram_size": 0, "num_beam_groups": 1, "num_beams": 1, "num_return_sequences": 1,
      "output_attentions": false, "output_hidden_states": false, "output_scores": false, "pruned_heads": {},
      "remove_invalid_values": false, "repetition_penalty": 1.0, "return_dict": true,
      "return_dict_in_generate": false, "temperature": 1.0, "tf_legacy_loss": false,
      "tie_encoder_decoder": false, "tie_word_embeddings": true, "top_k": 50, "top_p": 1.0,
      "torch_dtype": "float16", "torchscript": false, "typical_p": 1.0, "use_bfloat16": false})"));
  EXPECT_FALSE(config.with_projection);
  EXPECT_EQ(config.max_position_embeddings, 77);
}

TEST(ClipTextConfig, EveryFlagThatIsNotImplementedHasItsOwnMessage) {
  const auto problem = [](const Json& patch) { return problem_of([&] { config_with(patch); }); };
  EXPECT_EQ(problem(Json::object()), "");
  EXPECT_PROBLEM(problem({{"quantization_config", 1}}), "unknown key \"quantization_config\"");
  EXPECT_PROBLEM(problem({{"use_attention_mask", true}}), "unknown key \"use_attention_mask\"");
  EXPECT_PROBLEM(problem({{"hidden_act", "relu"}}), "hidden_act \"relu\" is not known");
  EXPECT_PROBLEM(problem({{"model_type", "clip"}}), "is a clip, not a clip_text_model");
  EXPECT_PROBLEM(problem({{"architectures", {"CLIPModel"}}}), "architectures [\"CLIPModel\"] is not known");
  EXPECT_PROBLEM(problem({{"is_decoder", true}}), "is_decoder is not implemented");
  EXPECT_PROBLEM(problem({{"add_cross_attention", true}}), "add_cross_attention is not implemented");
  EXPECT_PROBLEM(problem({{"pruned_heads", {{"0", {1}}}}}), "pruned_heads is not implemented");
  EXPECT_PROBLEM(problem({{"eos_token_id", {2, 3}}}), "\"eos_token_id\" has the wrong type");
  EXPECT_PROBLEM(problem({{"num_attention_heads", 7}}), "is not a multiple of num_attention_heads 7");
  EXPECT_PROBLEM(problem({{"hidden_size", 0}}), "\"hidden_size\" = 0 is out of range");
  EXPECT_PROBLEM(problem({{"layer_norm_eps", 0.0}}), "\"layer_norm_eps\" = 0 is out of range");
}

// --- Tokenizer ---

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
  EXPECT_PROBLEM(problem_of([&] { tokenizer.encode_padded(texts, 1); }), "no room for start and end");
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
  EXPECT_PROBLEM(problem_of([&] { ClipTokenizer::load(copy.folder()); }), "\"?\" has the id 0, but");
}

TEST(ClipTokenizer, TextThatIsNotUtf8IsAnError) {
  EXPECT_PROBLEM(problem_of([&] { tokenizer_of(kEndCase).encode("ab\xff"); }), "invalid UTF-8 at byte 2");
}

struct Damage {
  const char *file, *from, *to, *message;
};

void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.message;
}

class DamagedTokenizer : public testing::TestWithParam<Damage> {};

TEST_P(DamagedTokenizer, IsRefusedWithFileAndReason) {
  const auto& [file, from, to, message] = GetParam();
  const ModelCopy copy(kEndCase);
  copy.replace(file, from, to);
  const auto problem = problem_of([&copy] { ClipTokenizer::load(copy.folder()); });
  EXPECT_PROBLEM(problem, message);
  EXPECT_PROBLEM(problem, copy.folder().string());
}

constexpr auto kVocab = "vocab.json", kMerges = "merges.txt", kConfig = "tokenizer_config.json";

INSTANTIATE_TEST_SUITE_P(
    Vocabulary, DamagedTokenizer,
    testing::Values(Damage{kVocab, "{", "[", "not valid JSON"}, Damage{kVocab, "{", "{,", "not valid JSON"},
                    Damage{kVocab, "\"#\": 2", "\"#\": 3", "\"#\" and \"$\" have the same id 3"},
                    Damage{kVocab, "\"#\": 2", "\"#\": 99999", "\"#\" has the id 99999, but"},
                    Damage{kVocab, "\"#\": 2", "\"#\": -1", "\"#\" has the id -1, but"},
                    Damage{kVocab, "\"#\": 2", "\"#\": \"2\"", "has the id \"2\", which is no integer"},
                    Damage{kVocab, "\"#\": 2", "\"!\": 2", "key \"!\" occurs twice"},
                    Damage{kVocab, "\"#\": 2", "\"##\": 2", "lacks \"#\", which stands for byte 35"},
                    Damage{kVocab, "\"#</w>\"", "\"##\"", "lacks \"#</w>\", which stands for byte 35"},
                    Damage{kVocab, "<|endoftext|>", "<|end|>", "\"<|endoftext|>\" is not in vocab.json"}));

INSTANTIATE_TEST_SUITE_P(
    Merges, DamagedTokenizer,
    testing::Values(Damage{kMerges, "\n", "\nab\n", "line 2: \"ab\" is not a pair of tokens"},
                    Damage{kMerges, "\n", "\na b c\n", "\"a b c\" is not a pair"},
                    Damage{kMerges, "\n", "\na \n", "\"a \" is not a pair"},
                    Damage{kMerges, "\n", "\n\n", "\"\" is not a pair"},
                    Damage{kMerges, "\n", "\nqx z\n", "line 2: \"qx\" is not in the vocabulary"},
                    Damage{kMerges, "\n", "\nz qx\n", "\"qx\" is not in the vocabulary"},
                    Damage{kMerges, "\n", "\nq x\n", "\"qx\" is not in the vocabulary"},
                    Damage{kMerges, "\n", "\nt h\nt h\n", "line 3: \"t h\" is given a second time"}));

INSTANTIATE_TEST_SUITE_P(
    Config, DamagedTokenizer,
    testing::Values(
        Damage{kConfig, "{", "", "not valid JSON"},
        Damage{kConfig, "\"errors\"", "\"colour\"", "unknown key \"colour\""},
        Damage{kConfig, "\"CLIPTokenizer\"", "\"T5Tokenizer\"", "is a T5Tokenizer, not a CLIPTokenizer"},
        Damage{kConfig, "\"add_prefix_space\": false", "\"add_prefix_space\": true",
               "add_prefix_space true is not implemented"},
        Damage{kConfig, "\"do_lower_case\": true", "\"do_lower_case\": false",
               "do_lower_case false is not implemented"},
        Damage{kConfig, "\"errors\"", "\"padding_side\": \"left\", \"errors\"",
               "padding_side \"left\" is not implemented"},
        Damage{kConfig, "\"errors\"", "\"extra_special_tokens\": [\"x\"], \"errors\"",
               "extra_special_tokens is not implemented"},
        Damage{kConfig, "\"lstrip\": false", "\"lstrip\": true", "lstrip true is not implemented"},
        Damage{kConfig, "\"normalized\"", "\"normalised\"", "\"normalized\" is missing"},
        Damage{kConfig, "\"content\": \"<|startoftext|>\"", "\"content\": \"\"", "an empty token"},
        Damage{kConfig, "\"content\": \"<|startoftext|>\"", "\"content\": \"<cat>\"",
               "\"<cat>\" is not in vocab.json"},
        Damage{kConfig, "\"content\": \"<|startoftext|>\"", "\"content\": \"?\"", "\"?\" has the id"},
        Damage{kConfig, "\"added_tokens_decoder\": {", "\"added_tokens_decoder\": {\"x\": {},",
               "\"x\" is no id of a token"},
        Damage{kConfig, "\"model_max_length\": 77", "\"model_max_length\": 1", "\"model_max_length\" = 1"},
        Damage{kConfig, "\"pad_token\": \"<|endoftext|>\"", "\"pad_token\": null", "has no pad_token"},
        Damage{kConfig, "\"pad_token\": \"<|endoftext|>\"", "\"pad_token\": 7",
               "\"pad_token\" has the wrong type"},
        Damage{kConfig, "\"pad_token\": \"<|endoftext|>\"", "\"pad_token\": \"<pad>\"",
               "\"<pad>\" is not in vocab.json"}));

TEST(ClipTokenizer, AFolderWithoutOneOfItsFilesIsAnError) {
  for (const char* file : {kVocab, kMerges, kConfig}) {
    const ModelCopy copy(kEndCase);
    fs::remove(copy.folder() / file);
    EXPECT_PROBLEM(problem_of([&copy] { ClipTokenizer::load(copy.folder()); }), file);
  }
}

}  // namespace
}  // namespace harness
