#include "evaluators/clip/clip_scorer.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "models/loading.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Tiny models and scores made with transformers by make_clip_folders.py there.
fs::path data_folder() {
  return fs::path(HARNESS_SOURCE_DIR) / "tests/data/scorers";
}

struct Expected {
  Image image;
  std::string prompt;
  double score;
};

std::vector<Expected> expected_scores(const std::string& column) {
  std::vector<Expected> rows;
  for (const auto& row : read_json(data_folder() / "expected.json"))
    rows.push_back({read_png(data_folder() / row.at("image").get<std::string>()),
                    row.at("prompt").get<std::string>(), row.at(column).get<double>()});
  return rows;
}

const ClipScorerInfo& info(const std::string& name) {
  return *find_clip_scorer(name);
}

std::unique_ptr<ClipScorer> scorer(const std::string& name, const std::string& profile,
                                   const fs::path& folder = {}) {
  return std::make_unique<ClipScorer>(folder.empty() ? data_folder() / name : folder, info(name),
                                      info(name).profile(profile, "test"), torch::kCPU);
}

/// Values of a metric in the order of the rows; NaN where there is none.
std::vector<double> scores(ClipScorer& one, const std::string& metric, const std::vector<Expected>& rows) {
  std::vector<std::future<SampleScore>> futures;
  for (const auto& row : rows) futures.push_back(one.submit(row.prompt, row.image));
  std::vector<double> values;
  for (auto& future : futures) values.push_back(future.get().metrics.at(metric).value_or(NAN));
  return values;
}

TEST(ClipScorer, EveryProfileGivesTheScoresOfTransformers) {
  for (const auto& [name, profile, column] : {std::array{"pickscore", "pickscore", "pickscore"},
                                              {"clip_score", "clip", "clip"},
                                              {"clip_score", "flow-grpo", "flow-grpo"}}) {
    const auto rows = expected_scores(column);
    const auto values = scores(*scorer(name, profile), name, rows);
    ASSERT_EQ(values.size(), 16U);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(values[i], rows[i].score, 3e-5) << profile << " " << i;
  }
  EXPECT_STREQ(info("clip_score").profiles.front().name, "clip") << "the default";
}

/// [1,3,H,W] in 0..1.
torch::Tensor pixels_of(const Image& image) {
  const auto bytes = torch::tensor(at::ArrayRef<std::uint8_t>(image.rgb), torch::kUInt8);
  return (bytes.view({1, image.height, image.width, 3}).permute({0, 3, 1, 2}).to(torch::kFloat32) / 255)
      .contiguous();
}

TEST(ClipScorer, TheScoreWithGradientIsTheScoreButForRoundingToBytes) {
  for (const auto& [name, profile, column] : {std::array{"pickscore", "pickscore", "pickscore"},
                                              {"clip_score", "clip", "clip"},
                                              {"clip_score", "flow-grpo", "flow-grpo"}}) {
    const auto one = scorer(name, profile);
    const auto rows = expected_scores(column);
    double spread = 0;
    for (const auto& row : rows) spread = std::max(spread, std::abs(row.score - rows[0].score));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const torch::NoGradGuard no_grad;
      const auto value = one->score_with_gradient({rows[i].prompt}, pixels_of(rows[i].image));
      EXPECT_NEAR(value.item<double>(), rows[i].score, 0.02 * spread) << profile << " " << i;
    }
  }
}

// Float32: a step along the gradient itself, long enough to be seen.
TEST(ClipScorer, ItsGradientIsTheDerivativeOfTheScore) {
  for (const auto& [name, profile] : {std::pair{"pickscore", "pickscore"}, {"clip_score", "flow-grpo"}}) {
    const auto one = scorer(name, profile);
    const auto row = expected_scores("clip")[1];
    const auto pixels = (0.8 * pixels_of(row.image) + 0.1).requires_grad_();
    const auto score = [&](const torch::Tensor& x) {
      return one->score_with_gradient({row.prompt}, x).sum();
    };
    const auto gradient = torch::autograd::grad({score(pixels)}, {pixels})[0];
    const double length = gradient.norm().item<double>();
    ASSERT_GT(length, 0) << profile;
    const torch::NoGradGuard no_grad;
    const double h = 0.02;
    const auto step = gradient * (h / length);
    const double numeric = (score(pixels + step) - score(pixels - step)).item<double>() / (2 * h);
    EXPECT_NEAR(numeric, length, 0.02 * length) << profile;
  }
}

TEST(ClipScorer, AScoreDependsOnNeitherItsNeighboursNorItsPlaceInABatch) {
  const auto rows = expected_scores("clip");
  const auto together = scores(*scorer("clip_score", "clip"), "clip_score", rows);
  const auto alone = scorer("clip_score", "clip");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(scores(*alone, "clip_score", {rows[i]})[0], together[i]) << i;
  }
  const auto reversed = scores(*scorer("clip_score", "clip"), "clip_score", {rows.rbegin() + 3, rows.rend()});
  for (std::size_t i = 0; i < reversed.size(); ++i)
    EXPECT_EQ(reversed[i], together[rows.size() - 4 - i]) << i;
}

TEST(ClipScorer, ManyThreadsGetTheScoresOfOne) {
  const auto rows = expected_scores("pickscore");
  const auto one = scores(*scorer("pickscore", "pickscore"), "pickscore", rows);
  const auto shared = scorer("pickscore", "pickscore");
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) found[t] = scores(*shared, "pickscore", rows);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& values : found) EXPECT_EQ(values, one);
}

TEST(ClipScorer, TheCallersNumberOfThreadsDoesNotChangeAScore) {
  const auto rows = expected_scores("pickscore");
  torch::set_num_threads(1);
  const auto one = scores(*scorer("pickscore", "pickscore"), "pickscore", rows);
  torch::set_num_threads(2);
  EXPECT_EQ(scores(*scorer("pickscore", "pickscore"), "pickscore", rows), one);
  EXPECT_EQ(torch::get_num_threads(), 2);
  torch::set_num_threads(1);
}

/// A copy of a scorer's folder.
class FolderCopy : public ModelCopy {
 public:
  explicit FolderCopy(const std::string& name) {
    fs::copy(data_folder() / name, folder(), fs::copy_options::recursive);
  }
  void set_weight(const std::string& name, double value) const {
    auto weights = load_tensors(folder() / "model.safetensors");
    weights.at(name).fill_(value);
    save_tensors(folder() / "model.safetensors", weights);
  }
};

TEST(ClipScorer, AScoreThatIsNotFiniteIsAFailureWithAReason) {
  const FolderCopy copy("clip_score");
  copy.set_weight("visual_projection.weight", 0);  // an embedding of length 0 has no direction
  const auto rows = expected_scores("clip");
  const auto score = scorer("clip_score", "clip", copy.folder())->submit("a", rows[0].image).get();
  EXPECT_FALSE(score.metrics.at("clip_score").has_value());
  EXPECT_EQ(score.reasons.at("clip_score"), "the score is not finite");
  EXPECT_FALSE(score.transcript.has_value());
}

// --- What check reads ---

std::string problem_of(const FolderCopy& copy, const std::string& name = "clip_score",
                       const std::string& profile = "clip") {
  return message_of([&] {
    ClipFolder::load(copy.folder(), info(name), info(name).profile(profile, "test"), {.read = false});
  });
}

TEST(ClipFolder, AWholeFolderPassesAndCountsItsWeights) {
  const FolderCopy copy("clip_score");
  const auto clip =
      ClipFolder::load(copy.folder(), info("clip_score"), info("clip_score").profiles[0], {.read = false});
  std::int64_t values = 0;
  for (const auto& [_, tensor] : load_tensors(copy.folder() / "model.safetensors")) values += tensor.numel();
  EXPECT_EQ(clip.bytes(), 4 * values);
}

TEST(ClipFolder, EachMissingFileIsNamedWithTheModelThatHasIt) {
  for (const std::string file : {"config.json", "model.safetensors", "preprocessor_config.json",
                                 "tokenizer_config.json", "vocab.json", "merges.txt"}) {
    const FolderCopy copy("pickscore");
    fs::remove(copy.folder() / file);
    const auto problem = problem_of(copy, "pickscore", "pickscore");
    EXPECT_PROBLEM(problem, file);
    if (file == "vocab.json" || file == "merges.txt") continue;  // the tokenizer's
    EXPECT_PROBLEM(problem, "lacks " + file);
    EXPECT_PROBLEM(problem, "yuvalkirstain/PickScore_v1");
  }
}

TEST(ClipFolder, FilesThatDoNotFitOneAnotherAreNamedWithTheRule) {
  struct Misfit {
    const char* file;
    Json patch;
    const char* problem;
  };
  const std::vector<Misfit> misfits = {
      {"preprocessor_config.json",
       {{"crop_size", 32}},
       "gives images of 32 x 32 pixels, and the model takes 40 x 40"},
      {"preprocessor_config.json", {{"do_center_crop", false}}, "gives images of any size"},
      {"config.json",
       {{"text_config", {{"eos_token_id", 7}}}},
       "pools at token 7, and the tokenizer ends texts with 633"},
      {"config.json", {{"text_config", {{"vocab_size", 600}}}}, "token_embedding.weight"}};
  for (const auto& [file, patch, problem] : misfits) {
    const FolderCopy copy("clip_score");
    copy.edit(file, patch);
    EXPECT_PROBLEM(problem_of(copy), problem);
  }
  const FolderCopy squeezed("clip_score");
  squeezed.edit("preprocessor_config.json",
                {{"size", {{"shortest_edge", nullptr}, {"height", 40}, {"width", 40}}}});
  EXPECT_EQ(problem_of(squeezed), "");
  EXPECT_PROBLEM(problem_of(squeezed, "clip_score", "flow-grpo"), "needs do_resize to a shortest edge");
}

TEST(ClipFolder, AByteTokenizerTakesThePlaceOfVocabularyFiles) {
  const FolderCopy copy("clip_score");
  for (const char* file : {"vocab.json", "merges.txt", "special_tokens_map.json"})
    fs::remove(copy.folder() / file);
  copy.write("tokenizer_config.json", R"({"tokenizer_class": "ByteTokenizer"})");
  copy.edit("config.json", {{"text_config", {{"eos_token_id", 257}}}});
  EXPECT_EQ(problem_of(copy), "");
  const auto rows = expected_scores("clip");
  const auto one = scorer("clip_score", "clip", copy.folder());
  EXPECT_NE(one->submit("OPEN", rows[0].image).get().metrics.at("clip_score"),
            one->submit("SHUT", rows[0].image).get().metrics.at("clip_score"));
}

TEST(ClipScorers, AnUnknownProfileIsAnErrorWithTheNearestName) {
  EXPECT_PROBLEM(message_of([] { info("clip_score").profile("flow-gpro", "job.json"); }),
                 "did you mean \"flow-grpo\"");
}

}  // namespace
}  // namespace harness
