#include "harness/completion.h"

#include <fmt/format.h>

#include <memory>

#include "core/streams.h"
#include "harness/commands/commands.h"

namespace harness {

void add_completion_command(CLI::App& app, Actions& actions) {
  auto* command =
      app.add_subcommand("completion", "A script that completes commands, options and names in your shell");
  command->footer(R"(
It completes commands, options, and what this build knows: tables, methods, metrics, backbones, settings; ids of
runs are asked of the workspace "runs".
Examples:
  source <(harness completion bash)                     in ~/.bashrc
  source <(harness completion zsh)                      in ~/.zshrc, after compinit
  harness completion fish | source                      in ~/.config/fish/config.fish)");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  actions[command] = [shell, &app] {
    put_exactly(completion_script(command_words(app), *shell));
    return 0;
  };
}

}  // namespace harness
