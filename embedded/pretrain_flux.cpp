#include "embedded/pretrain_flux.h"

#include "core/files.h"
#include "models/loading.h"
#include "models/nn/random_weights.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kMostGuidance = 6;  // least: 1

/// FLUX.1-dev's own.
const Json kScheduler = {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
                         {"num_train_timesteps", 1000},
                         {"shift", 3.0},
                         {"use_dynamic_shifting", true},
                         {"base_shift", 0.5},
                         {"max_shift", 1.15},
                         {"base_image_seq_len", 256},
                         {"max_image_seq_len", 4096}};

FluxConfig transformer_config(bool guidance) {
  FluxConfig c;
  c.num_layers = 2;
  c.num_single_layers = 3;
  c.attention_head_dim = 64;
  c.num_attention_heads = 2;
  c.joint_attention_dim = FlowStages::kWidth;
  c.pooled_projection_dim = FlowStages::kPooledWidth;
  c.guidance_embeds = guidance;
  c.axes_dims_rope = {16, 24, 24};
  return c;
}

/// The second network begins as the first: its guidance embedding adds nothing.
void continue_from(const FluxTransformer& first, FluxTransformer& second) {
  const torch::NoGradGuard no_grad;
  const auto from = first->named_parameters();
  for (const auto& item : second->named_parameters()) {
    auto weights = item.value();
    if (const auto* same = from.find(item.key()); same != nullptr) {
      weights.copy_(*same);
    } else if (item.key().find("linear_2") != std::string::npos) {
      weights.zero_();
    }
  }
}

Tensor velocity(FluxTransformer& transformer, const FlowPoint& flow, const TextCondition& condition,
                const Tensor& guidance = {}) {
  return transformer->velocity(flow.x, condition.text, condition.pooled, flow.sigma, guidance);
}

}  // namespace

void pretrain_flux(FlowStages& stages, const FluxPlan& plan) {
  const auto& options = stages.options();
  FluxTransformer teacher(transformer_config(false)), student(transformer_config(true));
  initialise_gated(*teacher, teacher->config().width(), mixed_seed({options.seed, 105}));
  initialise_uniform(*student, mixed_seed({options.seed, 106}));
  const auto train = [&](const StagePlan& stage, const DrawImages& images) {
    stages.train_flow(stage, *teacher, true, [&](std::uint64_t seed) {
      const auto flow = stages.flow(images, stage.micro_size, seed, true);
      return torch::mse_loss(velocity(teacher, flow, flow.condition), flow.target);
    });
  };
  stages.train_autoencoder();
  train({"B", 2, plan.steps_b, 4, 16, 200, 1e-3, false, 0.01, true}, plan.clear);
  train({"C", 3, plan.steps_c, 4, 16, 50, 6e-4, false, 0.01, true}, plan.flawed);
  continue_from(teacher, student);
  const StagePlan distil{"E", 5, plan.steps_e, 4, 16, 50, 5e-4, false, 0.01, true};
  stages.train_flow(distil, *student, false, [&](std::uint64_t seed) {
    FlowPoint flow;
    Tensor guidance, target;
    {
      const torch::NoGradGuard no_grad;
      flow = stages.flow(plan.flawed, distil.micro_size, seed, false);
      auto random = seeded_generator(mixed_seed({seed, 1}));
      guidance = 1 + (kMostGuidance - 1) * torch::rand({distil.micro_size}, random);
      const auto free = velocity(teacher, flow, stages.empty(distil.micro_size));
      const auto bound = velocity(teacher, flow, flow.condition);
      target = free + guidance.view({-1, 1, 1, 1}) * (bound - free);
    }
    return torch::mse_loss(velocity(student, flow, flow.condition, guidance), target);
  });
  stages.train_decoder();
  save_flux_transformer(options.out / "transformer", student, torch::kFloat16);
  make_folder(options.out / "scheduler");
  stages.save_json("scheduler/scheduler_config.json", kScheduler);
  auto facts = plan.facts;
  facts["steps"] = {{"A", FlowStages::kStepsA},
                    {"B", plan.steps_b},
                    {"C", plan.steps_c},
                    {"E", plan.steps_e},
                    {"D", FlowStages::kStepsD}};
  facts["guidance"] = {1, kMostGuidance};
  stages.save(plan.name,
              {{"_class_name", plan.pipeline},
               {"scheduler", {"diffusers", "FlowMatchEulerDiscreteScheduler"}},
               {"transformer", {"diffusers", "FluxTransformer2DModel"}}},
              std::move(facts));
}

}  // namespace harness
