#include <memory>

#include "core/error.h"
#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/worker_request.h"

namespace harness {

void add_pretrain_command(CLI::App& app, Actions& actions) {
  struct Options {
    std::string backbone, out;
    std::int64_t seed = 0;
    int threads = 0;
    bool json = false;
  };
  auto* command = app.add_subcommand("pretrain", "Train the embedded model or scorer from nothing");
  command->footer(R"(
Examples:
  harness pretrain glyph -o my-glyph            about 25 minutes on two cores
  harness pretrain glyph-clip -o my-clip        the scorer of `--table sd35-pickscore` there, about 15 minutes
  harness reproduce --table sd35-ocr --weights my-glyph)");
  auto o = std::make_shared<Options>();
  command->add_option("backbone", o->backbone, "glyph or glyph-clip")->required();
  command->add_option("--seed", o->seed, "seed of weights and data")->capture_default_str();
  command->add_option("-o,--output", o->out,
                      "model folder to write; unset: glyph-weights or glyph-clip-weights");
  command->add_option("--threads", o->threads, "worker threads; unset: one a core. Never changes the result");
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o, command]() -> int {
    require_choice(o->backbone, {"glyph", "glyph-clip"}, "model to pretrain", "harness pretrain");
    if (command->count("--threads") > 0 && o->threads < 1) throw Error("must be 1 or more", "--threads");
    if (o->out.empty()) o->out = o->backbone + "-weights";
    Json request = {{"backbone", o->backbone}, {"seed", o->seed}, {"output", o->out}, {"json", o->json}};
    request["threads"] = o->threads > 0 ? o->threads : core_count();
    become_worker("pretrain", request);
  };
}

}  // namespace harness
