#include <fmt/format.h>

#include "trainers/loop_settings.h"
#include "trainers/method.h"
#include "worker/commands.h"

namespace harness {

/// Settings that fit alone and not together would otherwise be found by the first job that reads them.
int check_command(const Json& request) {
  constexpr std::int64_t kAnyLatentSize = 65536;  // no rule depends on its value
  Fields fields(request, "check");
  const auto task = fields.required<std::string>("task");
  if (fields.has("evaluation_settings"))
    read_evaluate_settings(fields.get("evaluation_settings"), "evaluation settings");
  for (const auto& row : fields.get("methods")) {
    const auto where = fmt::format("settings of {}", row.at("name").get<std::string>());
    const auto train = read_train_settings(row.at("loop"), where);
    const MethodContext context{.task = task, .latent_size = kAnyLatentSize, .late_steps = train.late_steps};
    make_method(row.at("method"), row.at("settings"), context, where);
  }
  fmt::print("{}\n", Json{{"ok", true}}.dump());
  return 0;
}

}  // namespace harness
