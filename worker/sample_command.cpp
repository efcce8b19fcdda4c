#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "core/text.h"
#include "datasets/prompt_set.h"
#include "models/device.h"
#include "models/tokenizers/glyph_layout.h"
#include "models/torch.h"
#include "trainers/backbone_settings.h"
#include "trainers/loop_settings.h"
#include "trainers/rollout.h"
#include "trainers/run_state.h"
#include "trainers/schedule.h"
#include "worker/commands.h"
#include "worker/threads.h"

namespace harness {

namespace {

struct SampleRequest {
  PromptText prompt;
  std::string output;
  std::uint32_t seed = 0;
  BackboneSource source;
  std::string lora;
  std::optional<int> steps;
  std::optional<double> guidance;
  bool json = false;
};

SampleRequest read_request(const Json& request) {
  Fields fields(request, "sample");
  SampleRequest r;
  r.prompt.text = fields.required<std::string>("prompt");
  r.output = fields.required<std::string>("output");
  r.seed = static_cast<std::uint32_t>(fields.required<std::int64_t>("seed"));
  r.json = fields.required<bool>("json");
  r.lora = fields.optional<std::string>("lora", "");
  if (fields.has("steps")) r.steps = static_cast<int>(fields.required<std::int64_t>("steps"));
  if (fields.has("guidance")) r.guidance = fields.required<double>("guidance");
  r.source.name = fields.required<std::string>("backbone");
  // The embedded model draws the quoted text alone.
  if (r.source.name == "glyph" || r.prompt.text.find('"') != std::string::npos)
    r.prompt.target = ocr_target(r.prompt.text);
  r.source.folder = fields.required<std::string>("weights");
  r.source.seed = r.seed;
  Json choices = Json::object();
  if (fields.has("image_size")) choices["image_size"] = fields.get("image_size");
  if (!without_model_choices(choices, r.source.name).empty())
    throw Error(fmt::format("backbone {} draws images of one size", r.source.name), "--image-size",
                "leave it out");
  r.source.choices = read_model_choices(r.source.name, choices, "sample");
  if (const auto lora = LoraConfig::of_folder(std::filesystem::path(r.lora) / "adapter");
      lora && !r.lora.empty()) {
    if (r.source.name == "glyph")
      throw Error("is a checkpoint of another backbone", "--lora " + r.lora,
                  "give the model folder that it was trained from with --weights");
    r.source.choices.lora = *lora;
  }
  r.source.device = open_device(fields.required<std::string>("device"));
  fields.finish();
  if (r.steps && *r.steps < 1)
    throw Error(fmt::format("{} is not a number of steps", *r.steps), "--steps", "give 1 or more");
  if (r.guidance && (!(*r.guidance >= 0) || !std::isfinite(*r.guidance)))
    throw Error(fmt::format("{} is not a guidance scale", *r.guidance), "--guidance", "give 0 or more");
  return r;
}

/// How a backbone is usually sampled: a folder that holds a scheduler says its shift.
struct UsualSampler {
  Schedule schedule;
  double guidance = 1;
};

UsualSampler usual_sampler(const SampleRequest& r) {
  const auto settings = read_evaluate_settings(Json::object(), "sample");
  const auto scheduler = r.source.folder / "scheduler/scheduler_config.json";
  if (!std::filesystem::exists(scheduler)) {
    return {shifted_schedule(settings.grid, r.steps.value_or(settings.steps), settings.shift),
            r.guidance.value_or(settings.guidance)};
  }
  constexpr int kSteps = 40;
  constexpr double kGuidance = 4.5;
  const auto config = read_scheduler_config(scheduler);
  return {
      shifted_schedule(Grid::kDiffusers, r.steps.value_or(kSteps), config.shift, config.num_train_timesteps),
      r.guidance.value_or(kGuidance)};
}

void apply_checkpoint(const std::filesystem::path& folder, Backbone& backbone) {
  if (backbone.adapter() != nullptr && !std::filesystem::exists(folder / "manifest.json")) {
    backbone.load_adapter(folder);  // of another program
  } else {
    read_checkpoint(folder, true, trainable_weights(backbone));
  }
  if (auto* adapter = backbone.adapter()) adapter->merge();
}

/// ", without 漢 字 and the last 4 characters"; empty where accents alone were taken off.
std::string loss_text(const std::string& target) {
  const auto loss = glyph_loss(target);
  std::vector<std::string> parts;
  if (!loss.dropped.empty()) parts.push_back(join(loss.dropped, " "));
  if (loss.cut > 0) parts.push_back(fmt::format("the last {} characters", loss.cut));
  return parts.empty() ? std::string() : ", without " + join(parts, " and ");
}

}  // namespace

int sample_command(const Json& request) {
  const auto r = read_request(request);
  use_one_thread();
  auto backbone = Backbone::load(r.source);
  if (!r.lora.empty()) apply_checkpoint(r.lora, backbone);
  const auto usual = usual_sampler(r);
  auto noise = shard_noise(r.seed, 0, NoiseStream::kEvaluationLatent, 0, {SampleAddress{}}, backbone.latent(),
                           backbone.device());
  const auto images = backbone.decode(
      sample_ode(backbone, usual.schedule, usual.guidance, std::move(noise), backbone.encode({r.prompt})),
      {r.prompt});
  const auto bytes = png_bytes(images.front());
  write_file_atomically(r.output, bytes);
  Json answer{{"path", r.output},
              {"target", r.prompt.target},
              {"sha256", sha256_hex(bytes)},
              {"width", images[0].width},
              {"height", images[0].height}};
  if (r.source.name == "glyph") {
    const auto layout = glyph_layout(r.prompt.target);
    answer["fits"] = layout.fits;
    if (!layout.fits)
      tell(
          "note: the text does not fit the glyph backbone's {} lines of {} printable ASCII characters; "
          "drawn as \"{}\"{}\n",
          kGlyphLines, kGlyphColumns, squeeze_white_space(layout.cells), loss_text(r.prompt.target));
  }
  put("{}\n", r.json ? answer.dump() : r.output);
  return 0;
}

}  // namespace harness
