#include "worker/backbone_source.h"

#include <fmt/format.h>

#include "core/unicode/normal_form.h"
#include "core/weights/weights_folder.h"
#include "models/nn/device.h"
#include "worker/commands.h"

namespace harness {

void use_one_thread() {
  torch::set_num_threads(1);
}

BackboneSource backbone_source(const WorkerJob& job) {
  const auto name = job.get<std::string>("backbone");
  auto choices = read_model_choices(name, job.get<Json>("settings"), job.file() + ": identity.settings");
  if (job.paths.contains("checkpoint")) {
    if (const auto lora = LoraConfig::of_folder(job.path("checkpoint") / "adapter")) choices.lora = *lora;
  }
  return {.name = name,
          .folder = job.path("weights"),
          .device = open_device(job.device),
          .seed = job.seed(),
          .choices = std::move(choices),
          .text_cache = job.path("text_cache"),
          .weights_sha256 = job.get<std::string>("weights_sha256")};
}

PromptText prompt_text(const Prompt& prompt) {
  return {prompt.text, prompt.target.words()};
}

std::vector<Prompt> planned_prompts(const WorkerJob& job, const std::string& name, const char* what) {
  // Whether each must quote a target was decided in the plan.
  auto set = load_prompt_set(job.path(name), task_of_file(job.path(name)));
  if (set.sha256 != job.get<std::string>(name + "_sha256")) {
    throw Error(fmt::format("was changed since the {} was planned", what), job.path(name).string(),
                "repeat the command");
  }
  if (job.identity.value(kTargetForm, "") == kNormalFormC) {
    for (auto& prompt : set.prompts) {
      if (!prompt.target.record()) prompt.target = Target(to_nfc(prompt.target.words()));
    }
  }
  return std::move(set.prompts);
}

HeldFiles hold_weights(const WorkerJob& job) {
  const std::filesystem::path folder = job.path("weights");
  if (folder.empty()) return {};
  std::vector<std::filesystem::path> files;
  for (const auto& file : model_files(folder)) files.push_back(folder / file);
  HeldFiles held(files);  // before they are read: what changes meanwhile is noticed
  if (const auto sum = weights_checksum(folder); sum != job.get<std::string>("weights_sha256")) {
    throw Error(fmt::format("holds other weights ({:.12}) than the run was planned with ({:.12})", sum,
                            job.get<std::string>("weights_sha256")),
                folder.string(),
                "put the planned weights back, or repeat the command to plan with the present ones",
                Status::kFailed);
  }
  return held;
}

}  // namespace harness
