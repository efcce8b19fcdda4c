#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "datasets/prompt_set.h"
#include "harness/commands/commands.h"
#include "harness/plan.h"
#include "harness/seeds.h"
#include "harness/worker_request.h"

namespace harness {

void add_sample_command(CLI::App& app, Actions& actions) {
  struct Options {
    std::string prompt, backbone, weights, lora, out = "sample.png", device = "auto";
    std::int64_t seed = 42, image_size = 0;
    int steps = 0;
    double guidance = -1;
    bool json = false;
  };
  auto* command = app.add_subcommand("sample", "Draw one image for a prompt");
  command->footer(R"(
Examples:
  harness sample "a sign reading \"OPEN\"" -o open.png
  harness sample "a sign reading \"OPEN\"" --lora runs/RUN/checkpoints/80 --seed 7
  harness sample "a sign reading \"OPEN\"" --weights stable-diffusion-3.5-medium --device cuda:0)");
  auto o = std::make_shared<Options>();
  command->add_option("prompt", o->prompt, "prompt; the glyph backbone draws the text in double quotes")
      ->required();
  command->add_option("--backbone", o->backbone, "backbone; unset: what --weights holds, or glyph");
  command->add_option("--weights", o->weights, "model folder; unset: the backbone's own");
  command->add_option(
      "--lora", o->lora,
      "checkpoint folder of a run, or an adapter of peft or diffusers, applied to the weights");
  command->add_option("-o,--output", o->out, "PNG file")->capture_default_str();
  command->add_option("--seed", o->seed, "seed of the noise")->capture_default_str();
  command->add_option("--steps", o->steps, "sampling steps; unset: the backbone's default");
  command->add_option("--guidance", o->guidance, "guidance scale; unset: the backbone's default");
  command->add_option("--image-size", o->image_size, "pixels a side, for backbones that leave the choice");
  command->add_option("--device", o->device, "auto, cpu or cuda:N (cuda: the first)")->capture_default_str();
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o, command]() -> int {
    if (!std::isfinite(o->guidance))
      throw Error(fmt::format("{} is not a guidance scale", o->guidance), "--guidance", "give 0 or more");
    if (o->prompt.size() > kLongestPrompt) {
      throw Error(fmt::format("the prompt has {} bytes", o->prompt.size()), "harness sample",
                  fmt::format("a prompt has at most {}", kLongestPrompt));
    }
    if (std::filesystem::path(o->out).extension() != ".png")
      throw Error("images are written as PNG", "-o " + o->out, "end the name with .png");
    const auto backbone = o->backbone.empty() ? backbone_of_folder(o->weights) : o->backbone;
    Json request = {{"prompt", o->prompt},
                    {"backbone", backbone},
                    {"output", o->out},
                    {"seed", checked_seed(o->seed, "--seed")},
                    {"device", choose_device(o->device)},
                    {"json", o->json}};
    request["weights"] = default_weights(backbone, o->weights).string();
    if (o->image_size != 0) request["image_size"] = o->image_size;
    if (!o->lora.empty()) request["lora"] = o->lora;
    if (command->count("--steps") > 0) request["steps"] = o->steps;
    if (command->count("--guidance") > 0) request["guidance"] = o->guidance;
    become_worker("sample", request);
  };
}

}  // namespace harness
