#include <memory>

#include "harness/commands/command.h"
#include "harness/plan/worker_request.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

const std::vector<std::string> kModels = {"glyph", "glyph-flux", "shapes-flux", "glyph-clip"};

struct Options {
  std::string model, out;
  std::int64_t seed = 0;
  std::optional<int> threads;
  bool json = false;
};

int pretrain(const Options& o) {
  require_choice(o.model, kModels, "model to pretrain", "harness pretrain");
  if (o.threads) require_range(*o.threads, 1, 1024, "--threads");
  become_worker("pretrain", {{"backbone", o.model},
                             {"seed", noise_seed(o.seed, "--seed")},
                             {"output", o.out.empty() ? o.model + "-weights" : o.out},
                             {"json", o.json},
                             {"threads", o.threads ? *o.threads : core_count()}});
}

Command make_pretrain() {
  auto o = std::make_shared<Options>();
  Command command{"pretrain", "Train an embedded model or scorer from nothing", R"(
Examples:
  harness pretrain glyph -o my-glyph           # about 25 minutes on two cores
  harness pretrain glyph-flux -o my-flux       # FLUX's classes, about 35 minutes
  harness pretrain shapes-flux -o my-shapes    # the same for coloured shapes, 40 minutes
  harness pretrain glyph-clip -o my-clip       # scorer of table sd35-pickscore, 15 minutes
  harness reproduce --table sd35-ocr --weights my-glyph)"};
  command.add("backbone", &o->model, "glyph, glyph-flux, shapes-flux or glyph-clip",
              {.required = true, .offers = choices(kModels)});
  command.add("--seed", &o->seed, "seed of weights and data");
  command.add("-o,--output", &o->out, "model folder to write (default: BACKBONE-weights)", kFolder);
  command.add("--threads", &o->threads, "threads, which never change the result (default: one per core)");
  return with_json(std::move(command), o, pretrain);
}

const bool kRegistered = register_command(CommandGroup::kRun, 30, make_pretrain);

}  // namespace
}  // namespace harness
