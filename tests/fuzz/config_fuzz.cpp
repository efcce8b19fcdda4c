// The first byte chooses the kind of file, the rest is its text. Either it is refused with one clean line
// that names it, or the configuration survives being written and read again.

#include <cstdint>

#include "embedded/glyph_text_config.h"
#include "models/configs/autoencoder_config.h"
#include "models/configs/clip_config.h"
#include "models/configs/model_index.h"
#include "models/configs/scheduler_config.h"
#include "models/configs/sd3_config.h"
#include "models/configs/t5_config.h"
#include "tests/fuzz/checks.h"

namespace harness {
namespace {

constexpr auto kWhere = "fuzz";

template <class Config>
void check_round_trip(const Json& document) {
  const auto written = Config::from_json(document, kWhere).to_json();
  require(Config::from_json(written, kWhere).to_json() == written);
}

void check_sizes(const Json& document) {
  const auto config = Sd3Config::from_json(document, kWhere);
  const auto position_table = config.pos_embed_max_size * config.pos_embed_max_size * config.width();
  require(position_table > 0 && 9 * config.width() * config.width() > 0);
}

void read(int kind, const Json& document) {
  switch (kind) {
    case 0:
      check_sizes(document);
      return check_round_trip<Sd3Config>(document);
    case 1:
      return check_round_trip<AutoencoderConfig>(document);
    case 2:
      SchedulerConfig::from_json(document, kWhere);
      return;
    case 3:
      GlyphTextConfig::from_json(document, kWhere);
      return;
    case 4:
      ClipTextConfig::from_json(document, kWhere);
      return;
    case 5:
      T5Config::from_json(document, kWhere);
      return;
    default:
      ModelIndex::from_json(document, kWhere).require("vae", "AutoencoderKL");
  }
}

void check(int kind, std::string_view text) {
  try {
    read(kind, parse_json(text, kWhere));
  } catch (const Error& error) {
    require_clean(error, kWhere);
  }
}

}  // namespace
}  // namespace harness

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) harness::check(data[0] % 7, {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
