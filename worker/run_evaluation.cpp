#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/files.h"
#include "core/processes/worker_pool.h"
#include "core/sha256.h"
#include "trainers/loop_settings.h"
#include "trainers/rollout.h"
#include "trainers/run_state.h"
#include "worker/backbone_source.h"
#include "worker/commands.h"
#include "worker/scored_images.h"
#include "worker/scoring.h"

namespace harness {
namespace {

std::vector<Prompt> prompts_of(const WorkerJob& job) {
  const auto all = planned_prompts(job, "prompts", "evaluation");
  const auto file = job.path("positions");
  std::vector<Prompt> prompts;
  for (const auto& position : read_json(file)) {
    const auto i = position.get<std::size_t>();
    if (i >= all.size())
      throw Error(fmt::format("position {} lies outside the {} prompts", i, all.size()), file.string());
    prompts.push_back(all[i]);
  }
  return prompts;
}

void load_planned_checkpoint(const WorkerJob& job, Backbone& backbone, bool ema) {
  if (job.get<int>("step") == 0) return;
  if (const auto manifest = job.path("checkpoint") / "manifest.json";
      !job.checkpoint_sha256.empty() && sha256_file(manifest) != job.checkpoint_sha256) {
    throw Error("is not the manifest that the training recorded", manifest.string(),
                "the checkpoint was changed: put it back, or train the run again with --fresh",
                Status::kFailed);
  }
  load_checkpoint(job.path("checkpoint"), ema, backbone);
  if (auto* adapter = backbone.adapter()) adapter->merge();
}

BackboneSource source_of(const WorkerJob& job, const std::vector<Prompt>& prompts) {
  auto source = backbone_source(job);
  for (const auto& prompt : prompts) source.prompts.push_back({prompt.text, prompt.target});
  return source;
}

Json to_json(const std::vector<Detection>& detections) {
  Json list = Json::array();
  for (const auto& found : detections) {
    list.push_back(
        {{"name", found.name}, {"score", found.score}, {"box", found.box}, {"counted", found.counted}});
    if (found.colour) list.back()["colour"] = *found.colour;
  }
  return list;
}

/// One image that waits for its score.
struct Pending {
  const Prompt* prompt;
  std::string path, sha256;
  std::future<SampleScore> score;
};

class Evaluation {
 public:
  Evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter)
      : job_(job),
        ranks_(ranks),
        reporter_(reporter),
        settings_(read_evaluate_settings(
            without_model_choices(job.get<Json>("settings"), job.get<std::string>("backbone")),
            job.file() + ": identity.settings")),
        shard_size_(static_cast<std::size_t>(settings_.shard_size)),
        seed_(static_cast<std::uint32_t>(job.get<std::int64_t>("seed"))),
        prompts_(prompts_of(job)),
        recorded_(ranks.is_root() ? scored_images(job.folder / "events.log") : ScoredImages()),
        weights_(hold_weights(job)),
        backbone_(Backbone::load(source_of(job, prompts_))),
        schedule_(schedule_for(*backbone_, settings_.grid, settings_.steps, settings_.shift)),
        scoring_(open_scorers(job)),
        pool_(job.shards_at_once(), use_one_thread),
        shown_metric_(job.get<std::vector<std::string>>("metrics").at(0)) {
    load_planned_checkpoint(job, *backbone_, settings_.use_ema);
    weights_.expect_unchanged();
    make_folder(job.folder / "images");
  }

  bool run() {
    const auto shards = shards_to_draw();
    // While a wave of shards is drawn, the scores of the one before come in; events keep the prompts' order.
    const auto wave = static_cast<std::size_t>(2 * pool_.threads() * ranks_.size());
    std::vector<std::vector<Pending>> drawn;
    for (std::size_t i = 0; i < shards.size(); i += wave) {
      if (ranks_.any(reporter_.should_stop())) return false;
      const auto own =
          own_part({shards.begin() + static_cast<std::ptrdiff_t>(i),
                    shards.begin() + static_cast<std::ptrdiff_t>(std::min(i + wave, shards.size()))});
      std::vector<std::vector<Pending>> parts(own.size());
      pool_.run(own.size(), [&](std::size_t j) { parts[j] = draw(own[j]); });
      record(drawn);
      drawn = std::move(parts);
    }
    record(drawn);
    reporter_.completed(summary());
    return true;
  }

 private:
  Json summary() const {
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
    for (auto& note : scoring_.notes()) notes.push_back(std::move(note));
    return {{"images", prompts_.size()},
            {"scorers_replaced", scoring_.replaced()},
            {"drawn_by_fallback", changed},
            {"table_notes", std::move(notes)}};
  }

  /// The first prompts of the shards that are not done, by the root's log, which the scorers go on from.
  std::vector<std::size_t> shards_to_draw() {
    std::vector<std::size_t> shards;
    for (std::size_t begin = 0; begin < prompts_.size(); begin += shard_size_) {
      if (!shard_is_done(begin)) shards.push_back(begin);
    }
    const auto told =
        Json::parse(ranks_.of_root(Json{{"shards", shards}, {"scorers", last_scorers()}}.dump()));
    if (const auto& state = told.at("scorers"); !state.is_null())
      scoring_.restore(state, (job_.folder / "events.log").string());
    return told.at("shards").get<std::vector<std::size_t>>();
  }

  /// Images are recorded in the prompts' order: the state with the last one before the first shard that is
  /// drawn again. Scorers begin anew where failures are to be scored again.
  Json last_scorers() const {
    if (recorded_.again) return nullptr;
    std::size_t begin = 0;
    while (begin < prompts_.size() && shard_is_done(begin)) begin += shard_size_;
    if (begin == 0) return nullptr;
    return recorded_.scorers.at(prompts_[std::min(begin, prompts_.size()) - 1].position);
  }

  /// The shards of a wave that this process draws: of each round one.
  std::vector<std::size_t> own_part(const std::vector<std::size_t>& wave) const {
    std::vector<std::size_t> own;
    for (auto i = static_cast<std::size_t>(ranks_.rank()); i < wave.size();
         i += static_cast<std::size_t>(ranks_.size()))
      own.push_back(wave[i]);
    return own;
  }

  bool shard_is_done(std::size_t begin) const {
    return std::ranges::all_of(prompts_ | std::views::drop(begin) | std::views::take(shard_size_),
                               [this](const Prompt& p) { return recorded_.scorers.contains(p.position); });
  }

  /// A short last shard is filled up with its last prompt: a row's bits depend on the shard's size.
  std::vector<Pending> draw(std::size_t begin) {
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
    std::vector<Pending> pending;
    for (std::size_t i = 0; i < images.size() && begin + i < prompts_.size(); ++i) {
      const auto path = fmt::format("images/{:04}.png", chosen[i]->position);
      const auto bytes = png_bytes(images[i]);
      write_file(job_.folder / path, bytes);
      pending.push_back(
          {chosen[i], path, sha256_hex(bytes), scoring_.score({texts[i].text, texts[i].target}, images[i])});
    }
    return pending;
  }

  Json event_of(Pending& one) {
    const auto score = one.score.get();
    if (!score.reasons.empty()) reporter_.expect_no_stop();
    Json metrics = Json::object();
    for (const auto& [name, value] : score.metrics) metrics[name] = or_null(value);
    Json event = {{"type", "sample"},
                  {"position", one.prompt->position},
                  {"sample", 0},
                  {"seed", seed_},
                  {"path", one.path},
                  {"sha256", one.sha256},
                  {"transcript", or_null(score.transcript)},
                  {"transcript_raw", or_null(score.transcript_raw)},
                  {"metrics", metrics},
                  {"reasons", score.reasons}};
    if (!score.detections.empty()) event["detections"] = to_json(score.detections);
    if (score.judgement) event["judgement"] = *score.judgement;
    if (auto state = scoring_.state(); !state.empty()) event["scorers"] = std::move(state);
    return event;
  }

  /// Records a wave's shards in the prompts' order, of all processes.
  void record(std::vector<std::vector<Pending>>& drawn) {
    Json own = Json::array();
    for (auto& shard : drawn) {
      own.push_back(Json::array());
      for (auto& one : shard) own.back().push_back(event_of(one));
    }
    std::vector<Json> of_ranks;
    for (const auto& text : ranks_.gather(own.dump())) of_ranks.push_back(Json::parse(text));
    if (!ranks_.is_root() || of_ranks.front().empty()) return;
    for (std::size_t round = 0; round < of_ranks.front().size(); ++round) {
      for (const auto& theirs : of_ranks) {
        if (round >= theirs.size()) continue;
        for (const auto& event : theirs.at(round)) record(event);
      }
    }
    reporter_.wake();
    const auto done = static_cast<double>(recorded_.scorers.size());
    reporter_.progress(
        done, static_cast<double>(prompts_.size()), "images", done,
        scored_ > 0 ? fmt::format("{} {:.3f}", shown_metric_, shown_ / scored_) : std::string());
  }

  void record(const Json& event) {
    reporter_.event(event);
    recorded_.scorers[event.at("position").get<int>()] = event.value("scorers", Json::object());
    if (const auto& value = event.at("metrics").at(shown_metric_); !value.is_null()) {
      shown_ += value.get<double>();
      ++scored_;
    }
  }

  const WorkerJob& job_;
  const Ranks& ranks_;
  Reporter& reporter_;
  EvaluateSettings settings_;
  std::size_t shard_size_;
  std::uint32_t seed_;
  std::vector<Prompt> prompts_;
  ScoredImages recorded_;
  HeldFiles weights_;
  std::unique_ptr<Backbone> backbone_;
  Schedule schedule_;
  Scorers scoring_;
  WorkerPool pool_;
  std::string shown_metric_;  ///< in the progress line: the first of the job's metrics
  double shown_ = 0, scored_ = 0;
};

}  // namespace

bool run_evaluation(const WorkerJob& job, const Ranks& ranks, Reporter& reporter) {
  return Evaluation(job, ranks, reporter).run();
}

}  // namespace harness
