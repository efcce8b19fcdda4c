#include <gtest/gtest.h>

#include <algorithm>

#include "datasets/geneval_generator.h"
#include "embedded/pictures/shapes_scene.h"
#include "evaluators/detection/geneval_scorer.h"

namespace harness {
namespace {

/// The scorer that is shipped, on pictures that the renderer draws.
class EmbeddedGeneval : public testing::Test {
 protected:
  static constexpr int kScenes = 32;

  /// The share of scenes of a tag that are judged right; of those with a mistake in each where `mistaken`.
  double judged_right(std::size_t tag, bool mistaken) {
    static GenevalScorer scorer(*info().embedded_folder(), info(), info().profiles.front(), torch::kCPU);
    double right = 0;
    for (int i = 0; i < kScenes; ++i) {
      const auto record = records_.draw(kGenevalTags[tag]);
      auto drawn = record;
      while (mistaken && to_json(drawn) == to_json(record)) drawn = with_mistake(record, engine_);
      const auto picture = draw(tidy_scene_of(drawn, engine_));
      const auto score = scorer.submit({record.prompt, to_json(record).dump()}, picture.image).get();
      right += score.metrics.at("geneval_correct").value() / kScenes;
    }
    return right;
  }

 private:
  static const GenevalScorerInfo& info() {
    return *std::ranges::find(geneval_scorers(), "geneval-shapes", &GenevalScorerInfo::name);
  }

  GenevalGenerator records_{shapes_vocabulary(), {"a photo of"}, "11"};
  DataEngine engine_{12};
};

TEST_F(EmbeddedGeneval, JudgesPicturesThatMeetTheirRecordRightAndOthersWrong) {
  for (std::size_t tag = 0; tag < kGenevalTags.size(); ++tag) {
    const bool counts = kGenevalTags[tag] == "counting";
    EXPECT_GE(judged_right(tag, false), counts ? .6 : .8) << kGenevalTags[tag];
    EXPECT_LE(judged_right(tag, true), counts ? .3 : .1) << kGenevalTags[tag];
  }
}

}  // namespace
}  // namespace harness
