#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "core/command_line/recorded_path.h"
#include "core/error.h"
#include "harness/commands/command.h"
#include "harness/plan/device.h"
#include "harness/plan/model_folder.h"
#include "harness/plan/worker_request.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

struct Options {
  std::string prompt, backbone, weights, lora, out = "sample.png", device = "auto";
  std::int64_t seed = 42;
  std::optional<std::int64_t> image_size;
  std::optional<int> steps;
  std::optional<double> guidance;
  bool json = false;
};

int sample(const Options& o) {
  if (o.guidance && !std::isfinite(*o.guidance))
    throw Error(fmt::format("{} is not a guidance scale", *o.guidance), "--guidance", "give 0 or more");
  if (o.prompt.size() > kLongestPrompt) {
    throw Error(fmt::format("the prompt has {} bytes", o.prompt.size()), "harness sample",
                fmt::format("a prompt has at most {}", kLongestPrompt));
  }
  if (is_working_folder_gone()) throw working_folder_error("harness sample");
  require_no_record(o.out);
  if (std::filesystem::path(o.out).extension() != ".png")
    throw Error("images are written as PNG", "-o " + o.out, "end the name with .png");
  const auto backbone = o.backbone.empty() ? backbone_of_folder(o.weights) : o.backbone;
  Json request = {{"prompt", o.prompt},
                  {"backbone", backbone},
                  {"output", o.out},
                  {"seed", noise_seed(o.seed, "--seed")},
                  {"device", choose_device(o.device)},
                  {"json", o.json}};
  request["weights"] = default_weights(backbone, o.weights).string();
  if (o.image_size.value_or(0) != 0) request["image_size"] = *o.image_size;
  if (!o.lora.empty()) request["lora"] = o.lora;
  if (o.steps) request["steps"] = *o.steps;
  if (o.guidance) request["guidance"] = *o.guidance;
  become_worker("sample", request);
}

Command make_sample() {
  auto o = std::make_shared<Options>();
  Command command{"sample", "Generate one image for a prompt", R"(
Examples:
  harness sample "a sign reading \"OPEN\"" -o open.png
  harness sample "a sign reading \"OPEN\"" --lora runs/RUN/checkpoints/80 --seed 7
  harness sample "a sign reading \"OPEN\"" --weights stable-diffusion-3.5-medium --device cuda:0)"};
  command.add("prompt", &o->prompt, "prompt; backbone glyph draws the text in double quotes",
              {.required = true});
  command.add("--backbone", &o->backbone, "backbone (default: the one of --weights, or glyph)",
              {.offers = backbone_names});
  command.add("--weights", &o->weights, "model folder (default: the backbone's own)", kFolder);
  command.add(
      "--lora", &o->lora,
      "checkpoint of a run or of another program, in any format that `harness reproduce --adapter` takes",
      kFolderOrFile);
  command.add("-o,--output", &o->out, "PNG file to write", kFile);
  command.add("--seed", &o->seed, "seed of the noise");
  command.add("--steps", &o->steps, "sampling steps (default: the backbone's)");
  command.add("--guidance", &o->guidance, "guidance scale (default: the backbone's)");
  command.add("--image-size", &o->image_size, "pixels per side, where the backbone has a choice");
  command.add("--device", &o->device, "auto, cpu, cuda or cuda:N",
              {.offers = choices({"auto", "cpu", "cuda:0"})});
  return with_json(std::move(command), o, sample);
}

const bool kRegistered = register_command(CommandGroup::kRun, 20, make_sample);

}  // namespace
}  // namespace harness
