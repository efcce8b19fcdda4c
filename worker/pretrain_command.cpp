#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/files.h"
#include "core/streams.h"
#include "embedded/pretrain_glyph.h"
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
  const auto seed = static_cast<std::uint64_t>(fields.required<std::int64_t>("seed"));
  const auto threads = fields.required<int>("threads");
  const std::filesystem::path out = fields.required<std::string>("output");
  fields.finish();
  const auto atlas = find_data_file("backbones/glyph/atlas.png");
  make_folder(out);
  if (what == "glyph-clip") {
    PretrainClipOptions options;
    options.seed = seed;
    options.threads = threads;
    options.atlas = atlas;
    options.out = out;
    pretrain_glyph_clip(options, print_progress);
  } else {
    PretrainOptions options;
    options.seed = seed;
    options.threads = threads;
    options.atlas = atlas;
    options.out = out;
    pretrain_glyph(options, print_progress);
    write_file_atomically(out / "atlas.png", read_file(atlas));
  }
  if (as_json) {
    put("{}\n", Json{{"path", out.string()}, {"seed", seed}}.dump());
  } else {
    put("{}\n", out.string());
  }
  return 0;
}

}  // namespace harness
