#include "harness/commands/completion.h"

#include <memory>

#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

Command make_completion() {
  auto shell = std::make_shared<std::string>();
  Command command{"completion", "Print a script that completes commands and names in your shell", R"(
Completes commands, options, and the names that this build knows: tables, methods, metrics, backbones,
settings. Ids of runs and numbers of experiments are those of the workspace (--out, --db).
Examples:
  source <(harness completion bash)    # in ~/.bashrc
  source <(harness completion zsh)     # in ~/.zshrc, after compinit
  harness completion fish | source     # in ~/.config/fish/config.fish)"};
  command.add("shell", shell.get(), "bash, zsh or fish", {.required = true, .offers = choices(kShells)});
  command.run = [shell] {
    require_choice(*shell, kShells, "shell", "harness completion");
    put_exactly(*shell == "bash" ? kBashCompletion : *shell == "zsh" ? kZshCompletion : kFishCompletion);
    return 0;
  };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 50, make_completion);

}  // namespace
}  // namespace harness
