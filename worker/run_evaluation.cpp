#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "core/sha256.h"
#include "trainers/loop/run_state.h"
#include "trainers/loop_settings.h"
#include "trainers/rollout.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"
#include "worker/image_scoring.h"

namespace harness {
namespace {

void load_planned_checkpoint(const WorkerJob& job, Backbone& backbone, bool ema) {
  if (job.get<int>("step") == 0) return;
  if (const auto manifest = job.path("checkpoint") / "manifest.json";
      !job.checkpoint_sha256.empty() && sha256_file(manifest) != job.checkpoint_sha256) {
    throw Error("is not the manifest that the training recorded", manifest.string(),
                "the checkpoint was changed: put it back, or train the run again with --fresh",
                Status::kFailed);
  }
  load_checkpoint(job.path("checkpoint"), ema, backbone);
  auto* adapter = backbone.adapter();
  if (adapter != nullptr && adapter->merges_exactly()) adapter->merge();
}

BackboneSource source_of(const WorkerJob& job, const std::vector<Prompt>& prompts) {
  auto source = backbone_source(job);
  for (const auto& prompt : prompts) source.prompts.push_back({prompt.text, prompt.target});
  return source;
}

/// Writes the image while the caller goes on. Result: the file's checksum. Throws Error where the image was
/// made before and had another one.
std::future<std::string> written(Image image, std::filesystem::path file, std::string before) {
  return std::async(
      std::launch::async, [image = std::move(image), file = std::move(file), before = std::move(before)] {
        const auto bytes = png_bytes(image);
        auto sum = sha256_hex(bytes);
        if (!before.empty() && sum != before)
          throw Error("is gone, and this machine or build draws another image than the one that was scored",
                      file.string(), "put the file back, or draw anew with --fresh", Status::kFailed);
        write_file(file, bytes);
        return sum;
      });
}

class Evaluation {
 public:
  Evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter)
      : job_(job),
        reporter_(reporter),
        settings_(read_evaluate_settings(
            without_model_choices(job.get<Json>("settings"), job.get<std::string>("backbone")),
            job.file() + ": identity.settings")),
        shard_size_(static_cast<std::size_t>(settings_.shard_size)),
        seed_(job.seed()),
        prompts_(evaluated_prompts(job)),
        weights_(hold_weights(job)),
        backbone_(Backbone::load(source_of(job, prompts_))),
        schedule_(schedule_for(*backbone_, settings_.grid, settings_.steps, settings_.shift)),
        scoring_(job, ranks, reporter, keys_of(prompts_), shard_size_),
        pool_(job.shards_at_once(), use_one_thread) {
    load_planned_checkpoint(job, *backbone_, settings_.use_ema);
    weights_.expect_unchanged();
    make_folder(job.folder / "images");
  }

  bool run() {
    const auto text = [this](const ImageKey& key) { return text_of(key); };
    if (!scoring_.run(pool_, text, [this](std::size_t begin) { return draw(begin); })) return false;
    reporter_.completed(summary());
    return true;
  }

 private:
  static std::vector<ImageKey> keys_of(const std::vector<Prompt>& prompts) {
    std::vector<ImageKey> keys;
    for (const auto& prompt : prompts) keys.push_back({prompt.position, 0});
    return keys;
  }

  ScorerText text_of(const ImageKey& key) const {
    const auto& prompt = *std::ranges::find(prompts_, key.position, &Prompt::position);
    return {prompt.text, prompt.target};
  }

  Json summary() {
    std::vector<int> changed;
    Fallback last;
    for (const auto& prompt : prompts_) {
      if (const auto fallback = backbone_->fallback({prompt.text, prompt.target})) {
        changed.push_back(prompt.position);
        last = *fallback;
      }
    }
    Json notes = Json::array();
    if (!changed.empty()) {
      notes.push_back(
          fmt::format("{} of {} targets do not fit {} and are drawn with the fallback described in {}.",
                      changed.size(), prompts_.size(), last.limit, last.rule));
    }
    const auto scorers = scoring_.scorers_report();
    for (const auto& note : scorers.notes) notes.push_back(note);
    return {{"images", prompts_.size()},
            {"scorers_replaced", scorers.replaced},
            {"drawn_by_fallback", changed},
            {"table_notes", std::move(notes)}};
  }

  /// A short last shard is filled up with its last prompt: a row's bits depend on the shard's size.
  std::vector<WaitingImage> draw(std::size_t begin) {
    std::vector<const Prompt*> chosen;
    std::vector<SampleAddress> rows;
    std::vector<PromptText> texts;
    for (std::size_t i = 0; i < shard_size_; ++i) {
      const auto& prompt = prompts_[std::min(begin + i, prompts_.size() - 1)];
      chosen.push_back(&prompt);
      rows.push_back({static_cast<std::uint32_t>(prompt.position), 0});
      texts.push_back({prompt.text, prompt.target});
    }
    auto noise = shard_noise(seed_, 0, NoiseStream::kEvaluationLatent, 0, rows, backbone_->latent(),
                             backbone_->device());
    auto images = backbone_->decode(
        sample_ode(*backbone_, schedule_, settings_.guidance, std::move(noise), backbone_->encode(texts)),
        texts);
    std::vector<WaitingImage> waiting;
    for (std::size_t i = 0; i < images.size() && begin + i < prompts_.size(); ++i) {
      const auto path = fmt::format("images/{:04}.png", chosen[i]->position);
      const ImageKey key{chosen[i]->position, 0};
      if (!scoring_.needs_work(key)) continue;
      auto score = scoring_.score(key, {texts[i].text, texts[i].target}, images[i]);
      waiting.push_back(
          {.key = key,
           .path = path,
           .sha256 = written(std::move(images[i]), job_.folder / path, scoring_.recorded_sha256(key)),
           .score = std::move(score)});
    }
    return waiting;
  }

  const WorkerJob& job_;
  Reporter& reporter_;
  EvaluateSettings settings_;
  std::size_t shard_size_;
  std::uint32_t seed_;
  std::vector<Prompt> prompts_;
  HeldFiles weights_;
  std::unique_ptr<Backbone> backbone_;
  Schedule schedule_;
  ImageScoring scoring_;
  WorkerPool pool_;
};

}  // namespace

bool run_evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  return Evaluation(job, ranks, reporter).run();
}

}  // namespace harness
