#include "backbones/component_checks.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "models/configs/model_index.h"

namespace harness {

void check_index(const std::filesystem::path& folder, const std::string& wanted, const std::string& backbone,
                 const std::map<std::string, std::string>& components) {
  const auto index = ModelIndex::read(folder / "model_index.json");
  if (index.pipeline != wanted) {
    throw Error(fmt::format("holds a {}, which backbone {} cannot run", in_quotes(index.pipeline), backbone),
                index.where, fmt::format("it needs a {}", wanted));
  }
  for (const auto& [name, class_name] : components) index.require(name, class_name);
}

void check_equal(const char* what, std::int64_t a, const char* other, std::int64_t b,
                 const std::filesystem::path& folder) {
  if (a == b) return;
  throw Error(fmt::format("components do not fit each other: {} is {}, and {} is {}", what, a, other, b),
              folder.string(), "fetch the folder again");
}

void check_channels(std::int64_t in, std::int64_t out, const AutoencoderConfig& vae,
                    const std::filesystem::path& folder) {
  check_equal("in_channels of the transformer", in, "latent_channels of the VAE", vae.latent_channels,
              folder);
  check_equal("out_channels of the transformer", out, "its in_channels", in, folder);
  check_equal("out_channels of the VAE", vae.out_channels, "the number of colours", 3, folder);
}

void check_packing(std::int64_t in, const AutoencoderConfig& vae, const std::filesystem::path& folder) {
  check_equal("in_channels of the transformer", in,
              "4 times latent_channels of the VAE (2 x 2 latent pixels per token)", 4 * vae.latent_channels,
              folder);
  check_equal("out_channels of the VAE", vae.out_channels, "the number of colours", 3, folder);
}

}  // namespace harness
