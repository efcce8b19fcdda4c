#include <fmt/format.h>

#include <cmath>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "datasets/prompt_set.h"
#include "datasets/seed.h"
#include "models/nn/device.h"
#include "trainers/loop/run_state.h"
#include "trainers/loop_settings.h"
#include "trainers/rollout.h"
#include "trainers/sampling/schedule.h"
#include "worker/commands.h"
#include "worker/outside_weights.h"
#include "worker/text_check.h"

namespace harness {

namespace {

struct SampleRequest {
  PromptText prompt;
  std::string output;
  std::uint32_t seed = 0;
  BackboneSource source;
  std::string lora_place;
  std::optional<OutsideCheckpoint> lora;
  std::optional<int> steps;
  std::optional<double> guidance;
  bool json = false;
};

/// Takes on the adapter's shape of this project's checkpoint if the backbone leaves it as a choice.
void choose_adapter(SampleRequest& r) {
  const auto& found = r.lora.emplace(find_outside_checkpoint(r.lora_place));
  if (found.form != OutsideForm::kHarness) return;
  const auto lora = LoraConfig::of_folder(found.folder / "adapter");
  if (!lora) return;
  const bool has_choices = !backbone_type(r.source.name).choices.empty();
  if (!has_choices && is_imported(found.folder)) return;
  if (!has_choices)
    throw Error("is a checkpoint of another backbone", "--lora " + r.lora_place,
                "give the model folder that it was trained from with --weights");
  r.source.choices.lora = *lora;
}

SampleRequest read_request(const Json& request) {
  Fields fields(request, "sample");
  SampleRequest r;
  r.prompt.text = fields.required<std::string>("prompt");
  r.output = fields.required<std::string>("output");
  r.seed = noise_seed(fields.required<std::int64_t>("seed"), "seed");
  r.json = fields.required<bool>("json");
  r.lora_place = fields.optional<std::string>("lora", "");
  if (fields.has("steps")) r.steps = static_cast<int>(fields.required<std::int64_t>("steps"));
  if (fields.has("guidance")) r.guidance = fields.required<double>("guidance");
  r.source.name = fields.required<std::string>("backbone");
  if (backbone_type(r.source.name).needs_target || r.prompt.text.find('"') != std::string::npos)
    r.prompt.words = ocr_target(r.prompt.text);
  r.source.prompts = {r.prompt};
  r.source.folder = fields.required<std::string>("weights");
  r.source.seed = r.seed;
  Json choices = Json::object();
  if (fields.has("image_size")) choices["image_size"] = fields.get("image_size");
  if (!without_model_choices(choices, r.source.name).empty())
    throw Error(fmt::format("backbone {} draws images of one size", r.source.name), "--image-size",
                "leave it out");
  r.source.choices = read_model_choices(r.source.name, choices, "sample");
  if (!r.lora_place.empty()) choose_adapter(r);
  r.source.device = open_device(fields.required<std::string>("device"));
  fields.finish();
  if (r.steps && *r.steps < 1)
    throw Error(fmt::format("{} is not a number of steps", *r.steps), "--steps", "give 1 or more");
  if (r.guidance && (!(*r.guidance >= 0) || !std::isfinite(*r.guidance)))
    throw Error(fmt::format("{} is not a guidance scale", *r.guidance), "--guidance", "give 0 or more");
  return r;
}

struct Sampler {
  Schedule schedule;
  double guidance = 1;
};

/// The request's values, else the backbone's usual ones.
Sampler sampler_of(const SampleRequest& r, const Backbone& backbone) {
  const auto settings = read_evaluate_settings(Json::object(), "sample");
  const auto usual = backbone.usual_sampler();
  const auto steps = r.steps.value_or(usual ? usual->steps : settings.steps);
  return {schedule_for(backbone, usual ? NoiseGrid::kModel : settings.grid, steps, settings.shift),
          r.guidance.value_or(usual ? usual->guidance : settings.guidance)};
}

void apply_checkpoint(const SampleRequest& r, Backbone& backbone) {
  if (r.lora->form == OutsideForm::kHarness) {
    load_checkpoint(r.lora->folder, true, backbone);
  } else {
    read_outside(*r.lora, r.source.name, backbone);
  }
  merge_adapter(backbone);
}

/// Reports the part of the prompt that no text encoder reads.
void report_truncation(const SampleRequest& r) {
  const TextLimits limits(r.source.folder, r.source.choices.text_tokens);
  const auto found = reading_of(limits, r.prompt.text, r.prompt.words);
  if (found.text != TextLimits::Reading::kCut) return;
  tell("note: the prompt is longer than {}: what follows is not read{}\n", limits.longest(),
       found.is_target_cut ? ", the quoted text included" : "");
}

}  // namespace

int sample_command(const Json& request) {
  const auto r = read_request(request);
  use_one_thread();
  const auto loaded = Backbone::load(r.source);
  auto& backbone = *loaded;
  if (r.lora) apply_checkpoint(r, backbone);
  const auto sampler = sampler_of(r, backbone);
  auto noise = shard_noise(r.seed, 0, NoiseStream::kEvaluationLatent, 0, {SampleAddress{}}, backbone.latent(),
                           backbone.device());
  const auto images = backbone.decode(
      sample_ode(backbone, sampler.schedule, sampler.guidance, std::move(noise), backbone.encode({r.prompt})),
      {r.prompt});
  const auto bytes = png_bytes(images.front());
  write_file_atomically(r.output, bytes);
  Json answer{{"path", r.output},
              {"target", r.prompt.words},
              {"sha256", sha256_hex(bytes)},
              {"width", images[0].width},
              {"height", images[0].height}};
  const auto fallback = backbone.fallback(r.prompt);
  if (backbone_type(r.source.name).needs_target) answer["fits"] = !fallback;
  report_truncation(r);
  if (fallback) tell("note: the text does not fit {}; drawn as {}\n", fallback->limit, fallback->drawn);
  put("{}\n", r.json ? answer.dump() : r.output);
  return 0;
}

}  // namespace harness
