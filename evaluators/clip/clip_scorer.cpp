#include "evaluators/clip/clip_scorer.h"

#include <cmath>
#include <optional>

#include "models/encoders/clip_image_processor.h"
#include "models/nn/one_thread.h"

namespace harness {

using torch::Tensor;

ClipScorer::ClipScorer(const std::filesystem::path& folder, const ClipScorerInfo& scorer,
                       const ClipProfile& profile, torch::Device device)
    : scorer_(scorer),
      profile_(profile),
      device_(device),
      clip_(ClipFolder::load(folder, scorer, profile, {.device = device})),
      batches_(
          kBatch, [this](const auto& pairs) { return scores_of(pairs); },
          [this](const std::string& reason) { return without_score(reason); }) {
  for (auto& weight : clip_.model->parameters()) weight.requires_grad_(false);
  const auto learned = clip_.model->logit_scale().detach().exp().item<float>();
  scale_ = profile.factor * (profile.learned_scale ? learned : 1.0F);
}

Tensor ClipScorer::unit_text(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = texts_.find(text); found != texts_.end()) return found->second;
  }
  const auto length = clip_.model->config().text.max_position_embeddings;
  const auto ids = torch::tensor(clip_.tokenizer->encode(text, length), torch::kInt64).view({1, length});
  const auto embed = [&] {
    const torch::NoGradGuard no_grad;
    const OneThread one_thread;
    std::unique_lock lock(device_mutex_, std::defer_lock);
    if (device_.is_cuda()) lock.lock();
    return unit_rows(clip_.model->text_embeds(ids.to(device_)).to(torch::kCPU))[0];
  }();
  const std::lock_guard lock(mutex_);
  return texts_.emplace(text, embed).first->second;
}

std::future<SampleScore> ClipScorer::submit(const std::string& text, const Image& image) {
  return batches_.submit({profile_.whole_bytes ? clip_pixel_values(clip_.images, image)
                                               : clip_pixel_values_without_rounding(clip_.images, image),
                          unit_text(text)});
}

Tensor ClipScorer::score_with_gradient(const std::vector<std::string>& texts, const Tensor& pixels) {
  std::vector<Tensor> rows;
  for (const auto& text : texts) rows.push_back(unit_text(text));
  // On the CPU: a GPU has no deterministic gradient of these interpolations.
  const auto prepared = clip_pixel_values(clip_.images, pixels.to(torch::kCPU), profile_.whole_bytes);
  const auto images = unit_rows(clip_.model->image_embeds(prepared.to(device_)));
  return (images * torch::stack(rows).to(device_)).sum(1) * scale_ / profile_.divisor;
}

std::vector<SampleScore> ClipScorer::scores_of(const std::vector<Pair>& pairs) {
  const torch::NoGradGuard no_grad;
  const OneThread one_thread;
  std::vector<Tensor> pixels;
  for (const auto& pair : pairs) pixels.push_back(pair.pixels);
  if (!device_.is_cpu()) pixels.resize(kBatch, pixels.back());
  std::unique_lock lock(device_mutex_, std::defer_lock);
  if (device_.is_cuda()) lock.lock();
  const auto embeds = clip_.model->image_embeds(torch::stack(pixels).to(device_)).to(torch::kCPU);
  std::vector<SampleScore> scores;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto image = unit_rows(embeds.narrow(0, static_cast<std::int64_t>(i), 1))[0];
    scores.push_back(as_sample(((image * pairs[i].text).sum() * scale_ / profile_.divisor).item<double>()));
  }
  return scores;
}

SampleScore ClipScorer::as_sample(double score) const {
  if (!std::isfinite(score)) return without_score("the score is not finite");
  SampleScore sample;
  sample.metrics[scorer_.metric] = score;
  return sample;
}

SampleScore ClipScorer::without_score(const std::string& reason) const {
  SampleScore sample;
  sample.metrics[scorer_.metric] = std::nullopt;
  sample.reasons[scorer_.metric] = reason;
  return sample;
}

}  // namespace harness
