#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/files.h"
#include "trainers/pretrain_glyph.h"
#include "worker/commands.h"

namespace harness {

int pretrain_command(const Json& request) {
  Fields fields(request, "pretrain");
  fields.required<std::string>("backbone");
  const auto as_json = fields.required<bool>("json");
  PretrainOptions options;
  options.seed = static_cast<std::uint64_t>(fields.required<std::int64_t>("seed"));
  options.threads = fields.required<int>("threads");
  options.out = fields.required<std::string>("output");
  options.atlas = find_data_file("backbones/glyph/atlas.png");
  fields.finish();
  make_folder(options.out);
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  pretrain_glyph(options, [&](const PretrainProgress& p) {
    if (!terminal && p.step % 500 != 0 && p.step != p.steps) return;
    fmt::print(stderr, "{}stage {} step {}/{}  loss {:.4f}  {:.0f} images/s{}", terminal ? "\r\033[K" : "",
               p.stage, p.step, p.steps, p.loss, p.images_per_second,
               terminal && p.step != p.steps ? "" : "\n");
    std::fflush(stderr);
  });
  write_file_atomically(options.out / "atlas.png", read_file(options.atlas));
  if (as_json) {
    fmt::print("{}\n", Json{{"path", options.out.string()}, {"seed", options.seed}}.dump());
  } else {
    fmt::print("{}\n", options.out.string());
  }
  return 0;
}

}  // namespace harness
