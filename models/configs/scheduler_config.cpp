#include "models/configs/scheduler_config.h"

#include <fmt/format.h>

#include <cmath>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr Range kTimesteps{1, 1'000'000}, kTokens{1, 1 << 24};

}  // namespace

SchedulerConfig SchedulerConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, "FlowMatchEulerDiscreteScheduler");
  SchedulerConfig c;
  const auto integer = [&fields](const char* key, Range range, int fallback) {
    return static_cast<int>(fields.integer(key, range, fallback));
  };
  c.num_train_timesteps = integer("num_train_timesteps", kTimesteps, c.num_train_timesteps);
  c.shift = fields.positive_number("shift", c.shift);
  c.use_dynamic_shifting = fields.optional("use_dynamic_shifting", c.use_dynamic_shifting);
  c.base_shift = fields.optional_or_null("base_shift", c.base_shift);
  c.max_shift = fields.optional_or_null("max_shift", c.max_shift);
  c.base_image_seq_len = integer("base_image_seq_len", kTokens, c.base_image_seq_len);
  c.max_image_seq_len = integer("max_image_seq_len", kTokens, c.max_image_seq_len);
  for (const char* option : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas",
                             "invert_sigmas", "stochastic_sampling"}) {
    fields.only(option, {false, nullptr});
  }
  fields.only("shift_terminal", {nullptr});
  fields.only("time_shift_type", {"exponential", nullptr});
  fields.finish();
  if (c.base_image_seq_len >= c.max_image_seq_len) {
    fields.fail("max_image_seq_len", fmt::format("is {}, not above \"base_image_seq_len\" = {}",
                                                 c.max_image_seq_len, c.base_image_seq_len));
  }
  return c;
}

double SchedulerConfig::mu(std::int64_t image_tokens) const {
  const double slope = (max_shift - base_shift) / (max_image_seq_len - base_image_seq_len);
  return static_cast<double>(image_tokens) * slope + (base_shift - slope * base_image_seq_len);
}

double SchedulerConfig::shift_for(std::int64_t image_tokens) const {
  return use_dynamic_shifting ? std::exp(mu(image_tokens)) : shift;
}

SchedulerConfig read_scheduler_config(const std::filesystem::path& file) {
  return SchedulerConfig::from_json(read_json(file), file.string());
}

}  // namespace harness
