#include "evaluators/clip/clip_scorer.h"

#include <cmath>
#include <optional>

#include "models/encoders/clip_image_processor.h"

namespace harness {
namespace {

using torch::Tensor;

/// Sums of float32 depend on the number of threads.
class OneThread {
 public:
  OneThread() : before_(torch::get_num_threads()) {
    if (before_ != 1) torch::set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) torch::set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// LibTorch's errors end with a stack trace.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

struct ClipScorer::Ticket {
  Tensor pixels;  ///< [3,S,S]
  Tensor text;    ///< [P], of length 1
  bool taken = false, done = false;
  std::optional<double> value;
  std::string reason;
};

ClipScorer::ClipScorer(const std::filesystem::path& folder, const ClipScorerInfo& scorer,
                       const ClipProfile& profile, torch::Device device)
    : scorer_(scorer),
      profile_(profile),
      device_(device),
      clip_(ClipFolder::load(folder, scorer, profile, {.device = device})) {
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
  auto ticket = std::make_shared<Ticket>();
  ticket->pixels = profile_.whole_bytes ? clip_pixel_values(clip_.images, image)
                                        : clip_pixel_values_without_rounding(clip_.images, image);
  ticket->text = unit_text(text);
  Batch full;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(ticket);
    if (waiting_.size() == kBatch) {
      full.swap(waiting_);
      for (const auto& one : full) one->taken = true;
    }
  }
  if (!full.empty()) score(full);
  return std::async(std::launch::deferred, [this, ticket] { return wait_for(*ticket); });
}

SampleScore ClipScorer::wait_for(Ticket& ticket) {
  std::unique_lock lock(mutex_);
  if (!ticket.taken) {
    Batch rest;
    rest.swap(waiting_);
    for (const auto& one : rest) one->taken = true;
    lock.unlock();
    score(rest);
    lock.lock();
  }
  done_.wait(lock, [&ticket] { return ticket.done; });
  return as_sample(ticket);
}

void ClipScorer::score(const Batch& batch) {
  std::vector<double> scores;
  std::string reason;
  try {
    scores = scores_of(batch);
  } catch (const std::exception& error) {
    reason = "the model failed: " + first_line(error.what());
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& ticket = *batch[i];
    if (!reason.empty()) {
      ticket.reason = reason;
    } else if (std::isfinite(scores[i])) {
      ticket.value = scores[i];
    } else {
      ticket.reason = "the score is not finite";
    }
    ticket.pixels = ticket.text = Tensor();
    ticket.done = true;
  }
  done_.notify_all();
}

std::vector<double> ClipScorer::scores_of(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  const OneThread one_thread;
  std::vector<Tensor> pixels;
  for (const auto& ticket : batch) pixels.push_back(ticket->pixels);
  if (!device_.is_cpu()) pixels.resize(kBatch, pixels.back());
  std::unique_lock lock(device_mutex_, std::defer_lock);
  if (device_.is_cuda()) lock.lock();
  const auto embeds = clip_.model->image_embeds(torch::stack(pixels).to(device_)).to(torch::kCPU);
  std::vector<double> values;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto image = unit_rows(embeds.narrow(0, static_cast<std::int64_t>(i), 1))[0];
    values.push_back(((image * batch[i]->text).sum() * scale_ / profile_.divisor).item<double>());
  }
  return values;
}

SampleScore ClipScorer::as_sample(const Ticket& ticket) const {
  SampleScore sample;
  sample.metrics[scorer_.metric] = ticket.value;
  if (!ticket.value) sample.reasons[scorer_.metric] = ticket.reason;
  return sample;
}

}  // namespace harness
