#include "worker/backbone_source.h"

#include "models/device.h"
#include "trainers/backbone_settings.h"

namespace harness {

BackboneSource backbone_source(const Job& job) {
  const auto name = job.get<std::string>("backbone");
  auto choices = read_model_choices(name, job.get<Json>("settings"), job.file() + ": identity.settings");
  if (job.paths.contains("checkpoint")) {
    if (const auto lora = LoraConfig::of_folder(job.path("checkpoint") / "adapter")) choices.lora = *lora;
  }
  return {.name = name,
          .folder = job.path("weights"),
          .device = open_device(job.device),
          .seed = static_cast<std::uint32_t>(job.get<std::int64_t>("seed")),
          .choices = std::move(choices),
          .text_cache = job.path("text_cache"),
          .weights_sha256 = job.get<std::string>("weights_sha256")};
}

}  // namespace harness
