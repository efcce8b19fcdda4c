#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/prompt_set.h"
#include "trainers/loop_settings.h"
#include "trainers/rollout.h"
#include "trainers/run_state.h"
#include "worker/commands.h"
#include "worker/device.h"
#include "worker/threads.h"

namespace harness {

int sample_command(const Json& request) {
  Fields fields(request, "sample");
  const auto prompt = fields.required<std::string>("prompt");
  const auto output = fields.required<std::string>("output");
  const auto seed = static_cast<std::uint32_t>(fields.required<std::int64_t>("seed"));
  const auto device = fields.required<std::string>("device");
  const auto as_json = fields.required<bool>("json");
  auto settings = read_evaluate_settings(Json::object(), "sample");
  settings.steps = static_cast<int>(fields.optional<std::int64_t>("steps", settings.steps));
  settings.guidance = fields.optional<double>("guidance", settings.guidance);
  if (settings.steps < 1)
    throw Error(fmt::format("{} is no number of steps", settings.steps), "--steps", "give 1 or more");
  if (!(settings.guidance >= 0) || !std::isfinite(settings.guidance))
    throw Error(fmt::format("{} is no guidance scale", settings.guidance), "--guidance", "give 0 or more");

  use_one_thread();
  auto backbone = Backbone::load(fields.required<std::string>("backbone"),
                                 fields.required<std::string>("weights"), open_device(device));
  if (fields.has("lora")) {
    read_checkpoint(fields.required<std::string>("lora"), settings.use_ema, trainable_weights(backbone));
  }
  fields.finish();
  const PromptText text{prompt, ocr_target(prompt)};
  auto noise = shard_noise(seed, 0, NoiseStream::kEvaluationLatent, 0, {SampleAddress{}}, backbone.latent(),
                           backbone.device());
  const auto schedule = shifted_schedule(settings.grid, settings.steps, settings.shift);
  const auto images = backbone.decode(
      sample_ode(backbone, schedule, settings.guidance, std::move(noise), backbone.encode({text})));
  const auto bytes = png_bytes(images.front());
  write_file_atomically(output, bytes);
  const auto layout = glyph_layout(text.target);
  if (!layout.fits)
    fmt::print(stderr,
               "note: the text does not fit the glyph backbone's {} lines of {} printable ASCII characters; "
               "drawn as \"{}\"\n",
               kGlyphLines, kGlyphColumns, squeeze_white_space(layout.cells));
  if (as_json) {
    const Json answer{{"path", output},           {"fits", layout.fits},
                      {"target", text.target},    {"sha256", sha256_hex(bytes)},
                      {"width", images[0].width}, {"height", images[0].height}};
    fmt::print("{}\n", answer.dump());
  } else {
    fmt::print("{}\n", output);
  }
  return 0;
}

}  // namespace harness
