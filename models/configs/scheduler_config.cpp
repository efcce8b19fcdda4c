#include "models/configs/scheduler_config.h"

#include <fmt/format.h>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr Range kTimesteps{1, 1'000'000}, kTokens{1, 1 << 24};

}  // namespace

SchedulerConfig SchedulerConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, "FlowMatchEulerDiscreteScheduler");
  SchedulerConfig c;
  c.num_train_timesteps =
      static_cast<int>(fields.integer("num_train_timesteps", kTimesteps, c.num_train_timesteps));
  c.shift = fields.positive_number("shift", c.shift);
  c.use_dynamic_shifting = fields.flag("use_dynamic_shifting", c.use_dynamic_shifting);
  c.base_shift = fields.number("base_shift", c.base_shift);
  c.max_shift = fields.number("max_shift", c.max_shift);
  c.base_image_seq_len =
      static_cast<int>(fields.integer("base_image_seq_len", kTokens, c.base_image_seq_len));
  c.max_image_seq_len = static_cast<int>(fields.integer("max_image_seq_len", kTokens, c.max_image_seq_len));
  for (const auto* option : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas",
                             "invert_sigmas", "stochastic_sampling"}) {
    if (!fields.is_null(option) && fields.flag(option, false))
      fields.refuse(option, "is set, which is not implemented", "known: false");
  }
  fields.absent("shift_terminal");
  fields.is_only("time_shift_type", "exponential");
  fields.finish();
  if (c.base_image_seq_len >= c.max_image_seq_len) {
    fields.refuse("max_image_seq_len", fmt::format("is {}, not above \"base_image_seq_len\" = {}",
                                                   c.max_image_seq_len, c.base_image_seq_len));
  }
  return c;
}

SchedulerConfig read_scheduler_config(const std::filesystem::path& file) {
  return SchedulerConfig::from_json(read_json(file), file.string());
}

}  // namespace harness
