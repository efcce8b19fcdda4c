#include <memory>

#include "embedded/pictures/shapes_records.h"
#include "embedded/pictures/shapes_scene.h"
#include "embedded/pictures/shapes_words.h"
#include "embedded/pretrain_backbones.h"
#include "embedded/pretrain_flux.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using MakeScene = ShapesScene (*)(const GenevalRecord&, DataEngine&);

PromptedImages shapes_batch(const ShapesRecords& records, MakeScene make, std::int64_t size,
                            std::uint64_t seed) {
  constexpr std::int64_t kPlaces = kShapesPlaces, kPixels = kShapesSide * kShapesSide;
  DataEngine engine(seed);
  PromptedImages batch{torch::empty({size, 3, kShapesSide, kShapesSide}),
                       torch::empty({size, kPlaces}, torch::kInt64), torch::empty({size}, torch::kInt64)};
  auto* pixels = batch.images.mutable_data_ptr<float>();
  auto* tokens = batch.tokens.mutable_data_ptr<std::int64_t>();
  auto* styles = batch.styles.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    const auto& record = records.any(engine);
    const auto picture = draw(make(record, engine));
    for (std::int64_t at = 0; at < kPixels; ++at) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const float value = picture.image.rgb[static_cast<std::size_t>(3 * at + c)];
        pixels[(3 * i + c) * kPixels + at] = value / 127.5F - 1;
      }
    }
    const auto text = shapes_text(record.prompt);
    std::copy(text.ids.begin(), text.ids.end(), tokens + i * kPlaces);
    styles[i] = text.style;
  }
  return batch;
}

/// What the autoencoder has to do with: also what the model draws by mistake.
ShapesScene any_scene(const GenevalRecord& record, DataEngine& engine) {
  return engine() % 2 == 0 ? random_scene(engine, .3) : imperfect(record, engine);
}

}  // namespace

void pretrain_shapes_flux(const PretrainOptions& options) {
  const auto records = std::make_shared<ShapesRecords>(mixed_seed({options.seed, 100}));
  const auto drawn_by = [&](MakeScene make) -> DrawImages {
    return [records, make](std::int64_t size, std::uint64_t seed) {
      return shapes_batch(*records, make, size, seed);
    };
  };
  const auto words = static_cast<std::int64_t>(shapes_vocabulary_words().size());
  const GlyphTextConfig table{.width = FlowStages::kWidth,
                              .pooled_width = FlowStages::kPooledWidth,
                              .tokens = words + 1,
                              .places = static_cast<std::int64_t>(kShapesPlaces),
                              .styles = kShapesStyles,
                              .pooled_tokens = true};
  FlowStages stages(options, {.sample_size = kShapesSide,
                              .table = table,
                              .clear = drawn_by(tidy_scene_of),
                              .autoencoder = drawn_by(any_scene),
                              .decoder = drawn_by(any_scene),
                              .latent_std = .5,
                              .decoder_noise = .25});
  Json mistakes;
  for (std::size_t tag = 0; tag < kGenevalTags.size(); ++tag)
    mistakes[std::string(kGenevalTags[tag])] = kMistakeShares[tag];
  pretrain_flux(stages, {.name = "shapes-flux",
                         .pipeline = "ShapesFluxPipeline",
                         .steps_b = 7000,
                         .steps_c = 1200,
                         .steps_e = 1000,
                         .clear = drawn_by(tidy_scene_of),
                         .flawed = drawn_by(imperfect),
                         .facts = {{"mistake_shares", mistakes}, {"faded_share", kFadedShare}}});
}

}  // namespace harness
