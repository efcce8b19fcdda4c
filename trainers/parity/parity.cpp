#include "trainers/parity/parity.h"

#include <fmt/format.h>

#include "backbones/flux_folder.h"
#include "backbones/sd3_folder.h"
#include "models/configs/scheduler_config.h"
#include "models/loading.h"
#include "models/nn/lora.h"
#include "trainers/optimisation/ema.h"
#include "trainers/optimisation/optimiser.h"
#include "trainers/parity/method_cases.h"
#include "trainers/parity/rows.h"
#include "trainers/sampling/schedule.h"
#include "trainers/sampling/sde.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

void record_schedule(const ParityCase& c, const Schedule& schedule, std::size_t step,
                     const std::string& label, TensorMap& out) {
  out[label + ".sigmas"] = torch::tensor(schedule.sigmas);
  out[label + ".timesteps"] = torch::tensor(schedule.timesteps);
  if (step >= schedule.timesteps.size()) {
    throw Error(fmt::format("step_index {} is beyond {} steps", step, schedule.steps()), c.folder.string());
  }
  out[label + ".stepped"] =
      euler_step(schedule.sigmas[step], schedule.sigmas[step + 1], c.input("sample"), c.input("velocity"));
}

TensorMap run_scheduler(const ParityCase& c) {
  auto params = c.param_fields();
  const auto config = read_scheduler_config(c.folder / "model" / "scheduler_config.json");
  const auto step = params.required<std::size_t>("step_index");
  const auto family = params.required<std::string>("family");
  TensorMap out;
  for (const int steps : params.required<std::vector<int>>("steps")) {
    if (family == "sd3") {
      record_schedule(
          c, shifted_schedule(NoiseGrid::kDiffusers, steps, config.shift, config.num_train_timesteps), step,
          fmt::format("{}", steps), out);
      continue;
    }
    for (const int tokens : params.required<std::vector<int>>("image_seq_lens")) {
      const auto label = fmt::format("{}.{}", steps, tokens);
      out[label + ".mu"] = torch::tensor(config.mu(tokens), torch::kFloat64);
      record_schedule(
          c,
          shifted_schedule(NoiseGrid::kUniform, steps, config.shift_for(tokens), config.num_train_timesteps),
          step, label, out);
    }
  }
  return out;
}

TensorMap run_sde_step(const ParityCase& c) {
  const auto noise_level = c.param_fields().required<double>("noise_level");
  const auto sigmas = floats(c.input("sigmas"));
  Rows rows;
  for (const auto& [prefix, dtype] : kPrecisions) {
    const auto row = [&, &p = prefix](const char* name) { return std::string(p) + name; };
    const auto at = [&, &d = dtype](const char* name, int k) { return c.input(name)[k].to(d); };
    for (int k = 0; k + 1 < static_cast<int>(sigmas.size()); ++k) {
      const auto step = sde_step(sigmas, k, noise_level);
      const auto t = step_transition(step, at("x", k), at("v", k), at("noise", k));
      const auto mean_new = step_mean(step, at("x", k), at("v_new", k));
      rows.add(row("mean"), t.mean);
      rows.add(row("mean_new"), mean_new);
      rows.add(row("next"), t.next);
      rows.add(row("log_prob"), sde_log_prob(step, t.mean, t.next));
      rows.add(row("log_prob_new"), sde_log_prob(step, mean_new, t.next));
      rows.add(row("std"), step.std, dtype);
      rows.add(row("sqrt_dt"), step.sqrt_dt(), dtype);
    }
  }
  return rows.stacked();
}

AdamWOptions adamw_options(Fields& params) {
  const auto betas = params.required<std::vector<double>>("betas");
  if (betas.size() != 2) throw Error("betas are not two numbers", params.where());
  return {.lr = params.required<double>("lr"),
          .beta1 = betas[0],
          .beta2 = betas[1],
          .eps = params.required<double>("eps"),
          .weight_decay = params.required<double>("weight_decay")};
}

TensorMap run_adamw_ema(const ParityCase& c) {
  auto params = c.param_fields();
  const auto names = params.required<std::vector<std::string>>("parameters");
  const auto max_norm = params.required<double>("max_grad_norm");
  std::vector<NamedTensor> weights;
  for (const auto& name : names) weights.push_back({name, c.input(name + ".initial").clone()});

  AdamW optimiser(weights, adamw_options(params));
  std::pair<std::string, Ema> averages[] = {
      {"ema_plain", {weights, {EmaRule::kPlain, params.required<double>("ema_decay")}}},
      {"ema_diffusers",
       {weights,
        {EmaRule::kDiffusers, params.required<double>("diffusers_decay"), 1,
         params.required<std::int64_t>("diffusers_update_after_step")}}},
      {"ema_flow_grpo",
       {weights,
        {EmaRule::kFlowGrpo, params.required<double>("flow_grpo_decay"),
         params.required<int>("flow_grpo_interval")}}}};

  Rows rows;
  for (int step = 0; step < params.required<int>("steps"); ++step) {
    std::vector<torch::Tensor> gradients;
    for (const auto& name : names) gradients.push_back(c.input(name + ".grad")[step]);
    rows.add("grad_norm", optimiser.step(gradients, max_norm).grad_norm, torch::kFloat32);
    for (const auto& w : weights) rows.add("weights." + w.name, w.tensor);
    for (auto& [label, ema] : averages) {
      const auto decay = ema.update(weights);
      if (label == "ema_diffusers") rows.add(label + ".decay", decay.value(), torch::kFloat64);
      for (const auto& a : ema.averages()) rows.add(label + "." + a.name, a.tensor);
    }
  }
  return rows.stacked();
}

/// Euler steps from given noise by a velocity, the latents kept after each as `shown`, then the image.
TensorMap run_pipeline(const ParityCase& c, Backbone& backbone, const Schedule& schedule,
                       const std::function<torch::Tensor(const torch::Tensor&, double)>& velocity,
                       torch::Tensor (*shown)(const torch::Tensor&)) {
  auto x = c.input("latents");
  TensorMap out;
  for (std::size_t i = 0; i < schedule.timesteps.size(); ++i) {
    x = euler_step(schedule.sigmas[i], schedule.sigmas[i + 1], x, velocity(x, schedule.sigmas[i]));
    out[fmt::format("latents.{}", i)] = shown(x);
  }
  out["image"] = backbone.decode_pixels(x);
  out["image_u8"] = out["image"].mul(255).round().to(torch::kUInt8);
  return out;
}

/// The folder of a pipeline's case, and its parameters.
struct PipelineCase {
  explicit PipelineCase(const ParityCase& c)
      : params(c.param_fields()),
        source{.name = c.kind,
               .folder = c.model(),
               .choices = {.text_tokens = params.required<std::int64_t>("max_sequence_length")}},
        scheduler(read_scheduler_config(c.model() / "scheduler/scheduler_config.json")),
        steps(params.required<int>("num_inference_steps")),
        guidance(params.required<double>("guidance_scale")) {}

  Fields params;
  BackboneSource source;
  SchedulerConfig scheduler;
  int steps;
  double guidance;
};

TensorMap run_sd3_pipeline(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  const PipelineCase p(c);
  const auto backbone = load_sd3_folder(p.source);
  const auto positive = backbone->encode(c.prompts("prompts")),
             negative = backbone->encode(c.prompts("negative_prompts"));
  return run_pipeline(
      c, *backbone,
      shifted_schedule(NoiseGrid::kDiffusers, p.steps, p.scheduler.shift, p.scheduler.num_train_timesteps),
      [&](const torch::Tensor& x, double sigma) {
        const auto sigmas = torch::full({x.size(0)}, sigma, torch::kFloat64);
        return backbone->guided_velocity(x, sigmas, positive, negative, p.guidance);
      },
      [](const torch::Tensor& x) { return x; });
}

TensorMap run_flux_pipeline(const ParityCase& c) {
  const torch::NoGradGuard no_grad;
  const PipelineCase p(c);
  const auto backbone = load_flux_folder(p.source);
  const auto condition = backbone->encode(c.prompts("prompts"));
  const auto schedule =
      shifted_schedule(NoiseGrid::kUniform, p.steps, p.scheduler.shift_for(c.input("packed_latents").size(1)),
                       p.scheduler.num_train_timesteps);
  auto out = run_pipeline(
      c, *backbone, schedule,
      [&](const torch::Tensor& x, double sigma) {
        return backbone->velocity(x, sigma, condition, p.guidance);
      },
      packed_latents);
  out["sigmas"] = torch::tensor(schedule.sigmas);
  out["timesteps"] = torch::tensor(schedule.timesteps);
  return out;
}

TensorMap run_lora(const ParityCase& c) {
  auto params = c.param_fields();
  const auto scales = params.required<std::vector<double>>("probe_scales");
  const auto max_norm = params.required<double>("max_grad_norm");
  const auto network = VelocityNetwork::load(c);
  const auto adapter = load_lora(c.folder / "adapter", *network.module);
  const auto weights = adapter->parameters();
  std::vector<torch::Tensor> leaves;
  for (const auto& w : weights) leaves.push_back(w.tensor);
  AdamW optimiser(weights, adamw_options(params));

  TensorMap out;
  Rows norms;
  for (std::size_t step = 1; step <= scales.size(); ++step) {
    const auto sample = network.sample();
    const auto loss = (sample * c.input("probe") * scales[step - 1]).mean();
    const auto gradients = torch::autograd::grad({loss}, leaves, {}, std::nullopt, false, true);
    norms.add("grad_norm", optimiser.step(gradients, max_norm).grad_norm, torch::kFloat32);
    if (step == 1) out["sample"] = sample.detach();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto name = "base_model.model." + weights[i].name;
      if (step == 1)
        out["grad." + name] = gradients[i].defined() ? gradients[i] : torch::zeros_like(leaves[i]);
      out[fmt::format("after.{}.{}", step, name)] = leaves[i].detach().clone();
    }
  }
  const torch::NoGradGuard no_grad;
  out["sample_after"] = network.sample();
  out.merge(norms.stacked());
  return out;
}

}  // namespace

VelocityNetwork VelocityNetwork::load(const ParityCase& c, torch::ScalarType dtype) {
  auto params = c.param_fields();
  const auto family = params.required<std::string>("backbone");
  const Placement placement{torch::kCPU, dtype};
  const auto input = [&c, dtype](const char* name) { return c.input(name).to(dtype); };
  if (family == "sd3") {
    auto model = load_sd3_transformer(c.model(), placement);
    return {model.ptr(), [&c, model, input]() mutable {
              return model->forward(input("hidden_states"), input("encoder_hidden_states"),
                                    input("pooled_projections"), c.input("timestep"));
            }};
  }
  if (family != "flux")
    throw UnknownCase(fmt::format("this build has no backbone \"{}\"", family), params.where());
  auto model = load_flux_transformer(c.model(), placement);
  return {model.ptr(), [&c, model, input]() mutable {
            return model->forward({.tokens = input("hidden_states"),
                                   .text = input("encoder_hidden_states"),
                                   .pooled = input("pooled_projections"),
                                   .sigma = c.input("timestep"),
                                   .guidance = c.input("guidance"),
                                   .image_ids = c.input("img_ids"),
                                   .text_ids = c.input("txt_ids")});
          }};
}

const ParityKinds& trainer_parity_kinds() {
  static const ParityKinds kinds = [] {
    ParityKinds all = {{"adamw_ema", run_adamw_ema},         {"lora", run_lora},
                       {"scheduler", run_scheduler},         {"sd3_pipeline", run_sd3_pipeline},
                       {"flux_pipeline", run_flux_pipeline}, {"sde_step", run_sde_step}};
    for (const auto* part : {&rollout_parity_kinds(), &transition_parity_kinds(), &forest_parity_kinds(),
                             &forward_parity_kinds()})
      all.insert(part->begin(), part->end());
    return all;
  }();
  return kinds;
}

}  // namespace harness
