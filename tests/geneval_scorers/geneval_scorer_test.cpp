#include "evaluators/detection/geneval_scorer.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/files.h"
#include "models/nn/random_weights.h"
#include "models/nn/weights_io.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

const fs::path kClip = fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers/clip_score";

const GenevalScorerInfo& info(const std::string& name) {
  return *std::ranges::find(geneval_scorers(), name, &GenevalScorerInfo::name);
}

Mask2FormerConfig small_config(const GenevalVocabulary& vocabulary) {
  Mask2FormerConfig config;
  config.backbone = {.embed_dim = 8, .window_size = 4, .depths = {1, 1, 1, 1}, .num_heads = {1, 2, 2, 4}};
  config.feature_size = config.mask_feature_size = config.hidden_dim = 32;
  config.encoder_layers = 1, config.encoder_feedforward_dim = 32;
  config.decoder_layers = 2, config.dim_feedforward = 32;
  config.num_attention_heads = 4, config.num_queries = 6;
  config.labels.assign(vocabulary.classes.begin(), vocabulary.classes.end());
  return config;
}

void write_document(const fs::path& file, const Json& document) {
  write_file(file, document.dump(2));
}

/// A scorer's folder with random weights that find something in every picture.
void write_folder(const fs::path& folder, const GenevalVocabulary& vocabulary,
                  const std::string& framework = "mmdetection") {
  const auto config = small_config(vocabulary);
  Mask2Former model(config);
  initialise_uniform(*model, 5);
  TensorMap state;
  for (const auto& [name, tensor] : state_of(*model)) state[name] = tensor.detach().clone();
  // Random logits are alike; larger ones are sure of a class, and masks cover the picture.
  state.at("class_predictor.weight") *= 40;
  fs::create_directories(folder / "detector");
  auto json = config.to_json();
  if (!framework.empty()) json["harness_source"] = {{"framework", framework}};
  DetectionImageConfig pictures;
  pictures.shortest_edge = pictures.longest_edge = 64;
  write_document(folder / "detector/config.json", json);
  write_document(folder / "detector/preprocessor_config.json", pictures.to_json());
  save_tensors(folder / "detector/model.safetensors", state);
  fs::copy(kClip, folder / "clip", fs::copy_options::recursive);
}

Image picture(int number, int width = 48, int height = 48) {
  Image image{width, height, {}};
  for (int i = 0; i < width * height; ++i) {
    for (int c = 0; c < 3; ++c)
      image.rgb.push_back(static_cast<std::uint8_t>((i * (c + 2) / 3 * (number + 1) + 60 * number) % 256));
  }
  return image;
}

const std::string kPrompt = "a photo of a red star and a ring";
const std::string kTarget =
    R"({"tag": "color_attr", "include": [{"class": "star", "count": 1, "color": "red"}, {"class": "ring", "count": 1}]})";

class GenevalScorers : public testing::Test {
 protected:
  GenevalScorers() { write_folder(folder_.path(), shapes_vocabulary()); }

  std::unique_ptr<GenevalScorer> scorer(const std::string& name = "geneval-shapes") const {
    return std::make_unique<GenevalScorer>(folder_.path(), info(name), info(name).profiles.front(),
                                           torch::kCPU);
  }
  /// Empty where the folder is taken.
  std::string refusal(const std::string& name, const std::string& profile) const {
    return message_of([&] {
      GenevalFolder::load(folder_.path(), info(name), info(name).profile(profile, "test"), {.read = false});
    });
  }

  TemporaryFolder folder_;
};

std::string text_of(const SampleScore& score) {
  std::string text = score.judgement.value_or("-");
  for (const auto& [name, value] : score.metrics) text += fmt::format(" {}={}", name, value.value_or(-99));
  for (const auto& found : score.detections)
    text += fmt::format(" {} {} {} {}", found.name, found.score, fmt::join(found.box, ","),
                        found.colour.value_or("-"));
  return text;
}

TEST_F(GenevalScorers, GiveAPictureItsScoreWhateverItsNeighboursOrderAndThreads) {
  const auto one = scorer();
  std::vector<std::string> alone, threaded(6);
  for (int i = 0; i < 6; ++i) alone.push_back(text_of(one->submit({kPrompt, kTarget}, picture(i)).get()));
  EXPECT_NE(alone[0], alone[1]);
  const auto other = scorer();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      threaded[5 - i] = text_of(other->submit({kPrompt, kTarget}, picture(static_cast<int>(5 - i))).get());
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(threaded, alone);
}

TEST_F(GenevalScorers, GivePicturesOfSeveralShapesInOneBatchTheScoresThatEachHasAlone) {
  const auto& shapes = info("geneval-shapes");
  GenevalScorer batched(folder_.path(), shapes, shapes.profiles.front(), torch::kCPU, 4);
  const std::vector<Image> pictures = {picture(0), picture(1, 64, 32), picture(2), picture(3, 64, 32)};
  std::vector<std::future<SampleScore>> scores;
  for (const auto& one : pictures) scores.push_back(batched.submit({kPrompt, kTarget}, one));
  const auto alone = scorer();
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto found = scores[i].get();
    const auto expected = alone->submit({kPrompt, kTarget}, pictures[i]).get();
    EXPECT_TRUE(found.reasons.empty()) << i << ": " << text_of(found);
    ASSERT_EQ(found.detections.size(), expected.detections.size()) << i;
    for (std::size_t j = 0; j < found.detections.size(); ++j)
      EXPECT_NEAR(found.detections[j].score, expected.detections[j].score, 1e-3) << i;
  }
}

TEST_F(GenevalScorers, ListEveryObjectAboveTheLowThresholdInsideThePicture) {
  const auto score = scorer()->submit({kPrompt, kTarget}, picture(2)).get();
  ASSERT_TRUE(score.judgement);
  ASSERT_FALSE(score.detections.empty());
  for (const auto& found : score.detections) {
    EXPECT_GT(found.score, 0.3F);
    EXPECT_TRUE(found.counted) << "0.3 is the threshold of all tags but counting";
    EXPECT_LT(found.box[0], found.box[2]);
    EXPECT_LE(found.box[2], 48);
  }
  EXPECT_EQ(score.metrics.at("geneval_correct") == 1.0, score.judgement->empty());
}

TEST_F(GenevalScorers, GiveAPictureWithoutAnyObjectAScore) {
  auto state = load_tensors(folder_.path() / "detector/model.safetensors");
  state.at("class_predictor.weight").zero_();  // every class is as likely as no object
  save_tensors(folder_.path() / "detector/model.safetensors", state);
  const auto score = scorer()->submit({kPrompt, kTarget}, picture(0)).get();
  EXPECT_TRUE(score.detections.empty());
  EXPECT_EQ(score.judgement, "expected star>=1, found 0\nexpected ring>=1, found 0");
  EXPECT_EQ(score.metrics.at("geneval_correct"), 0.0);
  EXPECT_EQ(score.metrics.at("geneval_score"), 0.0);
}

TEST_F(GenevalScorers, GiveNoValueWhereAModelsNumbersAreNotFinite) {
  const auto found = scorer()->submit({kPrompt, kTarget}, picture(2)).get().detections;
  ASSERT_FALSE(found.empty());
  // A colour of what is there, so that CLIP looks at it.
  const auto target = fmt::format(
      R"({{"tag": "colors", "include": [{{"class": "{}", "count": 1, "color": "red"}}]}})", found[0].name);
  const auto reason_with_nan = [&](const std::string& file, const std::string& tensor) {
    auto state = load_tensors(folder_.path() / file);
    const auto whole = state.at(tensor).clone();
    state.at(tensor).flatten()[0] = std::nan("");
    save_tensors(folder_.path() / file, state);
    const auto score = scorer()->submit({"a photo of it", target}, picture(2)).get();
    state.at(tensor).copy_(whole);
    save_tensors(folder_.path() / file, state);
    EXPECT_FALSE(score.metrics.at("geneval_score"));
    EXPECT_FALSE(score.judgement);
    EXPECT_TRUE(score.detections.empty());
    return score.reasons.contains("geneval_score") ? score.reasons.at("geneval_score") : "none";
  };
  EXPECT_PROBLEM(reason_with_nan("detector/model.safetensors", "class_predictor.weight"),
                 "the detector's classes are not finite");
  EXPECT_PROBLEM(reason_with_nan("clip/model.safetensors", "visual_projection.weight"),
                 "CLIP's numbers of an object are not finite");
}

TEST_F(GenevalScorers, GiveNoValueAndTheReasonForATargetThatIsNoRecordOfTheirClasses) {
  const auto one = scorer();
  const auto reason = [&](const std::string& target) {
    const auto score = one->submit({"a photo of a dog", target}, picture(0)).get();
    EXPECT_FALSE(score.metrics.at("geneval_score"));
    EXPECT_FALSE(score.judgement);
    return score.reasons.at("geneval_score");
  };
  EXPECT_PROBLEM(reason("Open"), "target");
  EXPECT_PROBLEM(reason(R"({"tag": "single_object", "include": [{"class": "dog", "count": 1}]})"),
                 "vocabulary \"geneval\"");
}

TEST_F(GenevalScorers, RefuseAFolderThatLacksAPartOrHasOtherClasses) {
  EXPECT_PROBLEM(refusal("geneval", "geneval"), "id2label has 8 classes");
  auto config = read_json(folder_.path() / "detector/config.json");
  std::swap(config["id2label"]["0"], config["id2label"]["1"]);
  write_document(folder_.path() / "detector/config.json", config);
  EXPECT_PROBLEM(refusal("geneval-shapes", "embedded"), "label 0 is \"square\"");
  fs::remove(folder_.path() / "detector/preprocessor_config.json");
  EXPECT_PROBLEM(refusal("geneval-shapes", "embedded"), "lacks preprocessor_config.json");
  fs::remove_all(folder_.path() / "clip");
  EXPECT_PROBLEM(refusal("geneval-shapes", "embedded"), "lacks the folder clip");
}

TEST_F(GenevalScorers, RefuseWeightsOfAnotherTrainingUnlessAProfileSaysThatScoresDoNotCompare) {
  fs::remove_all(folder_.path() / "detector");
  fs::remove_all(folder_.path() / "clip");
  write_folder(folder_.path(), benchmark_vocabulary(), "");
  const auto message = refusal("geneval", "geneval");
  EXPECT_PROBLEM(message, "does not say who trained the weights");
  EXPECT_PROBLEM(message, "geneval_profile=other-detector");
  EXPECT_EQ(refusal("geneval", "other-detector"), "");
  EXPECT_PROBLEM(refusal("geneval", "flow-grpo"), "profile flow-grpo is for those of mmdetection");
}

TEST_F(GenevalScorers, SeeAPictureAsTrainingCodeSendsItInItsProfile) {
  fs::remove_all(folder_.path() / "detector");
  fs::remove_all(folder_.path() / "clip");
  write_folder(folder_.path(), benchmark_vocabulary());
  const auto in = [&](const std::string& profile) {
    GenevalScorer one(folder_.path(), info("geneval"), info("geneval").profile(profile, "test"), torch::kCPU);
    return text_of(
        one.submit({"a dog", R"({"tag": "single_object", "include": [{"class": "dog", "count": 1}]})"},
                   picture(3))
            .get());
  };
  EXPECT_EQ(in("geneval"), in("geneval-single-position"));
  EXPECT_NE(in("geneval"), in("flow-grpo"));
}

}  // namespace
}  // namespace harness
