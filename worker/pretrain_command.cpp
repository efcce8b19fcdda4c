#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/files.h"
#include "core/streams.h"
#include "embedded/pretrain_backbones.h"
#include "embedded/pretrain_glyph_clip.h"
#include "worker/commands.h"

namespace harness {

namespace {

void print_progress(const PretrainProgress& p) {
  static const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (!terminal && p.step % 200 != 0 && p.step != p.steps) return;
  write_or_forget(stderr, fmt::format("{}stage {} step {}/{}  loss {:.4f}  {:.0f} images/s{}",
                                      terminal ? "\r\033[K" : "", p.stage, p.step, p.steps, p.loss,
                                      p.images_per_second, terminal && p.step != p.steps ? "" : "\n"));
}

}  // namespace

int pretrain_command(const Json& request) {
  Fields fields(request, "pretrain");
  const auto what = fields.required<std::string>("backbone");
  const auto as_json = fields.required<bool>("json");
  PretrainClipOptions options;
  options.seed = static_cast<std::uint64_t>(fields.required<std::int64_t>("seed"));
  options.threads = fields.required<int>("threads");
  options.out = fields.required<std::string>("output");
  options.atlas = find_data_file("backbones/glyph/atlas.png");
  options.report = print_progress;
  fields.finish();
  make_folder(options.out);
  if (what == "glyph-clip") {
    pretrain_glyph_clip(options);
  } else if (what == "shapes-flux") {
    pretrain_shapes_flux(options);
  } else {
    (what == "glyph-flux" ? pretrain_glyph_flux : pretrain_glyph)(options);
    write_file_atomically(options.out / "atlas.png", read_file(options.atlas));
  }
  if (as_json) {
    put("{}\n", Json{{"path", options.out.string()}, {"seed", options.seed}}.dump());
  } else {
    put("{}\n", options.out.string());
  }
  return 0;
}

}  // namespace harness
