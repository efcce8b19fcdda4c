#include "core/other_names.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace harness {
namespace {

const std::map<std::string, std::vector<std::string>, std::less<>> kOtherNames = {
    // Settings, as diffusers, TRL, the public code of Flow-GRPO and papers have them.
    {"learning_rate", {"lr"}},
    {"batch_size", {"prompts_per_epoch", "group_size"}},
    {"train_batch_size", {"prompts_per_epoch", "group_size"}},
    {"num_batches_per_epoch", {"prompts_per_epoch"}},
    {"group", {"group_size"}},
    {"num_generations", {"group_size"}},
    {"num_image_per_prompt", {"group_size"}},
    {"num_images_per_prompt", {"group_size"}},
    {"images_per_prompt", {"group_size"}},
    {"epochs", {"updates", "inner_epochs"}},
    {"num_epochs", {"updates", "inner_epochs"}},
    {"num_inner_epochs", {"inner_epochs"}},
    {"ppo_epochs", {"inner_epochs"}},
    {"max_steps", {"updates"}},
    {"iterations", {"updates"}},
    {"num_updates", {"updates"}},
    {"steps", {"updates", "sampling_steps"}},
    {"num_steps", {"updates", "sampling_steps"}},
    {"num_inference_steps", {"sampling_steps", "eval_steps"}},
    {"inference_steps", {"sampling_steps", "eval_steps"}},
    {"eval_num_steps", {"eval_steps"}},
    {"num_train_timesteps", {"trained_steps"}},
    {"timestep_fraction", {"trained_steps", "drawn_steps", "sde_steps", "times"}},
    {"cfg", {"guidance", "eval_guidance"}},
    {"cfg_scale", {"guidance", "eval_guidance"}},
    {"guidance_scale", {"guidance", "eval_guidance"}},
    {"beta", {"kl", "kl_weight", "velocity_kl", "reference_weight", "beta_max"}},
    {"kl_beta", {"kl", "kl_weight", "velocity_kl", "reference_weight"}},
    {"kl_coef", {"kl", "kl_weight", "velocity_kl"}},
    {"kl_coeff", {"kl", "kl_weight", "velocity_kl"}},
    {"kl_weight", {"kl", "velocity_kl"}},
    {"ema_beta", {"ema_kl"}},
    {"eta", {"noise_level", "level"}},
    {"noise", {"noise_level", "level"}},
    {"clip_range", {"clip"}},
    {"cliprange", {"clip"}},
    {"clip_eps", {"clip"}},
    {"epsilon", {"clip"}},
    {"adv_clip_max", {"advantage_limit", "advantage_range"}},
    {"adv_max", {"advantage_max"}},
    {"global_std", {"advantage_std", "advantage"}},
    {"norm_adv_by_std", {"advantage"}},
    {"per_prompt_stat_tracking", {"advantage"}},
    {"sde_type", {"sampler"}},
    {"sde_window_size", {"window"}},
    {"sde_window_range", {"window_from", "window_to"}},
    {"num_sde_steps", {"window", "sde_steps", "drawn_steps"}},
    {"same_latent", {"shared_start"}},
    {"init_same_noise", {"shared_start"}},
    {"sample_strategy", {"strategy"}},
    {"window_strategy", {"strategy"}},
    {"window_size", {"window"}},
    {"iters_per_group", {"stay"}},
    {"min_iters_per_group", {"min_stay"}},
    {"overlap_size", {"stride"}},
    {"overlap_step", {"stride"}},
    {"roll_back", {"at_the_end"}},
    {"tree_split_points", {"splits"}},
    {"tree_prob_weighted", {"node_reward"}},
    {"chunk_sizes", {"chunks"}},
    {"ref_update_step", {"reference_every"}},
    {"ref_update_steps", {"reference_every"}},
    {"beta_dpo", {"beta"}},
    {"use_ema_ref", {"anchor"}},
    {"ema", {"ema_decay"}},
    {"ema_rate", {"ema_decay"}},
    {"ema_update_interval", {"ema_interval"}},
    {"ema_step_interval", {"ema_interval"}},
    {"adam_beta1", {"beta1"}},
    {"adam_beta2", {"beta2"}},
    {"adam_epsilon", {"adam_eps"}},
    {"adam_weight_decay", {"weight_decay"}},
    {"wd", {"weight_decay"}},
    {"grad_clip", {"max_grad_norm"}},
    {"clip_grad_norm", {"max_grad_norm"}},
    {"warmup", {"lr_warmup"}},
    {"warmup_steps", {"lr_warmup"}},
    {"lr_warmup_steps", {"lr_warmup"}},
    {"flow_shift", {"shift"}},
    {"time_shift", {"shift"}},
    // Metrics.
    {"ocr", {"ocr_reward"}},
    {"ocr_accuracy", {"ocr_reward"}},
    {"exact", {"exact_match"}},
    {"accuracy", {"exact_match"}},
    {"clipscore", {"clip_score"}},
    {"substring", {"substring_match"}},
    {"geneval", {"geneval_score", "geneval_correct"}},
    // Methods.
    {"grpo", {"flow-grpo"}},
    {"guard", {"ratio-norm"}},
    {"grpo_guard", {"ratio-norm"}},
    {"fast", {"flow-grpo-fast"}},
    {"cps", {"flow-cps"}},
    {"dppo", {"flow-dppo"}},
    {"tempflow", {"tempflow-grpo", "tempflow-weight"}},
    {"granular_grpo", {"g2rpo"}},
    {"nft", {"diffusion-nft"}},
    {"fpo", {"awm"}},
    {"dpo", {"online-dpo"}},
    {"diffusion_dpo", {"online-dpo"}},
    {"sft", {"raft"}},
    {"best_of_n", {"raft"}}};

/// Lower-case, with underscores for hyphens.
std::string plain(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  return text;
}

/// `plain` without separators: MixGRPO and mix-grpo are one name.
std::string joined(std::string_view name) {
  auto text = plain(name);
  std::erase(text, '_');
  return text;
}

}  // namespace

std::vector<std::string> otherwise_named(std::string_view word, std::span<const std::string> candidates) {
  const auto name = plain(word);
  std::vector<std::string> meant;
  const auto add = [&](const std::string& candidate) {
    if (std::ranges::count(meant, candidate) == 0) meant.push_back(candidate);
  };
  for (const auto& candidate : candidates) {
    if (joined(candidate) == joined(word)) add(candidate);
  }
  const auto found = kOtherNames.find(name);
  if (found == kOtherNames.end()) return meant;
  for (const auto& other : found->second) {
    if (std::ranges::count(candidates, other) > 0) add(other);
  }
  return meant;
}

}  // namespace harness
