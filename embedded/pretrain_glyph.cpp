#include "embedded/glyph_data.h"
#include "embedded/pretrain_backbones.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

constexpr int kStepsB = 1648, kStepsC = 382;
constexpr double kStageCFaded = 0.6;  // of stage C's data

Sd3Config transformer_config() {
  Sd3Config c;
  c.sample_size = 12;
  c.patch_size = 1;
  c.num_layers = 4;
  c.num_attention_heads = 2;
  c.joint_attention_dim = c.caption_projection_dim = FlowStages::kWidth;
  c.pooled_projection_dim = FlowStages::kPooledWidth;
  c.pos_embed_max_size = 12;
  return c;
}

}  // namespace

void pretrain_glyph(const PretrainOptions& options) {
  FlowStages stages(options, glyph_source(options));
  Sd3Transformer transformer(transformer_config());
  initialise_gated(*transformer, transformer->config().width(), mixed_seed({options.seed, 102}));
  const auto train = [&](const StagePlan& plan, const GlyphFading& fading) {
    const auto images = glyph_images(options, fading);
    stages.train_flow(plan, *transformer, true, [&](std::uint64_t seed) {
      const auto flow = stages.flow(images, plan.micro_size, seed, true);
      const auto v =
          transformer->forward(flow.x, flow.condition.text, flow.condition.pooled, 1000 * flow.sigma);
      return torch::mse_loss(v, flow.target);
    });
  };
  stages.train_autoencoder();
  train({"B", 2, kStepsB, 4, 16, 200, 1e-3, false, 0.01, true}, {});
  train({"C", 3, kStepsC, 4, 16, 50, 6e-4, false, 0.01, true}, {kStageCFaded, 0.1, 0.5});
  stages.train_decoder();
  save_sd3_transformer(options.out / "transformer", transformer, torch::kFloat16);
  stages.save(
      "glyph", {{"_class_name", "GlyphPipeline"}, {"transformer", {"diffusers", "SD3Transformer2DModel"}}},
      {{"steps", {{"A", FlowStages::kStepsA}, {"B", kStepsB}, {"C", kStepsC}, {"D", FlowStages::kStepsD}}},
       {"faded_share", kStageCFaded}});
}

}  // namespace harness
