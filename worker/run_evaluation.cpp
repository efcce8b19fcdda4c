#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/files.h"
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
  const auto folder = job.path("checkpoint");
  if (!job.has_planned_manifest()) {
    throw Error("is not the manifest that the training recorded", (folder / "manifest.json").string(),
                "the checkpoint was changed: put it back, or train the run again with --fresh",
                Status::kFailed);
  }
  load_checkpoint(folder, ema, backbone);
  merge_adapter(backbone);
}

BackboneSource source_of(const WorkerJob& job, const std::vector<Prompt>& prompts) {
  auto source = backbone_source(job);
  for (const auto& prompt : prompts) source.prompts.push_back(prompt_text(prompt));
  return source;
}

/// Writes the image asynchronously. The file's checksum; Error if the image was made before with another one.
std::future<std::string> written(Image image, std::filesystem::path file, std::string before) {
  return std::async(
      std::launch::async, [image = std::move(image), file = std::move(file), before = std::move(before)] {
        const auto bytes = png_bytes(image);
        auto sum = sha256_hex(bytes);
        if (!before.empty() && sum != before)
          throw Error("is missing, and this machine or build generates another image than the scored one",
                      file.string(), "put the file back, or start over with --fresh", Status::kFailed);
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
        scoring_(job, ranks, reporter, prompts_, 1, shard_size_) {
    load_planned_checkpoint(job, *backbone_, settings_.use_ema);
    weights_.expect_unchanged();
  }

  bool run() {
    if (!scoring_.run([this](std::size_t begin) { return generate(begin); })) return false;
    reporter_.completed(summary());
    return true;
  }

 private:
  Json summary() {
    std::vector<int> changed;
    Fallback last;
    for (const auto& prompt : prompts_) {
      if (const auto fallback = backbone_->fallback(prompt_text(prompt))) {
        changed.push_back(prompt.position);
        last = *fallback;
      }
    }
    std::vector<std::string> notes;
    if (!changed.empty()) {
      notes.push_back(
          fmt::format("{} of {} targets do not fit {} and are drawn with the fallback described in {}.",
                      changed.size(), prompts_.size(), last.limit, last.rule));
    }
    auto summary = scoring_.summary(std::move(notes));
    summary["drawn_by_fallback"] = changed;
    return summary;
  }

  /// A short last shard repeats its last prompt: a row's bits depend on the shard's size.
  std::vector<PendingImage> generate(std::size_t begin) {
    std::vector<const Prompt*> chosen;
    std::vector<SampleAddress> rows;
    std::vector<PromptText> texts;
    for (std::size_t i = 0; i < shard_size_; ++i) {
      const auto& prompt = prompts_[std::min(begin + i, prompts_.size() - 1)];
      chosen.push_back(&prompt);
      rows.push_back({static_cast<std::uint32_t>(prompt.position), 0});
      texts.push_back(prompt_text(prompt));
    }
    auto noise = shard_noise(seed_, 0, NoiseStream::kEvaluationLatent, 0, rows, backbone_->latent(),
                             backbone_->device());
    auto images = backbone_->decode(
        sample_ode(*backbone_, schedule_, settings_.guidance, std::move(noise), backbone_->encode(texts)),
        texts);
    std::vector<PendingImage> pending;
    for (std::size_t i = 0; i < images.size() && begin + i < prompts_.size(); ++i) {
      const auto path = fmt::format("images/{:04}.png", chosen[i]->position);
      const ImageKey key{chosen[i]->position, 0};
      if (!scoring_.needs_work(key)) continue;
      auto score = scoring_.score(key, images[i]);
      pending.push_back(
          {.key = key,
           .path = path,
           .sha256 = written(std::move(images[i]), job_.folder / path, scoring_.recorded_sha256(key)),
           .score = std::move(score)});
    }
    return pending;
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
};

}  // namespace

bool run_evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  return Evaluation(job, ranks, reporter).run();
}

}  // namespace harness
