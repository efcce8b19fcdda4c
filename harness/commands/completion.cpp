#include <memory>

#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

// Each script asks `harness __complete WORDS...` (harness/cli/completion.h).

constexpr const char* kBash = R"(# bash completion of harness. Load it with
#   source <(harness completion bash)
_harness() {
  local line=${COMP_LINE:0:COMP_POINT} words typed=${2//\\/}
  read -a words <<< "$line"  # which takes a backslash before a blank as the shell does
  if [[ $line == *[[:blank:]] ]]; then words+=(""); fi
  words[-1]=${words[-1]#[\"\']}
  mapfile -t COMPREPLY < <("${1/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null | cut -f1)
  if [[ ${COMPREPLY-} == "<files>" ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$2")
    return
  fi
  COMPREPLY=("${COMPREPLY[@]#"${words[-1]%"$typed"}"}")  # of --option=value bash takes the value for the word
  if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [[ $line != *[\"\']"$typed" ]]; then COMPREPLY=("${COMPREPLY[@]// /\\ }"); fi
}
complete -F _harness harness
)";

constexpr const char* kZsh = R"(#compdef harness
# zsh completion of harness. Load it with
#   source <(harness completion zsh)
# or store it as _harness in a folder of $fpath.
_harness() {
  local -a found
  found=("${(@f)$(${~words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null | cut -f1)}")
  if [[ ${found[1]} == "<files>" ]]; then
    compset -P '--*='
    _files
  else
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
  fi
}
if [[ ${funcstack[1]-} == _harness ]]; then _harness "$@"; else compdef _harness harness; fi
)";

constexpr const char* kFish = R"(# fish completion of harness. Load it with
#   harness completion fish | source
function __harness_complete
    set -l words (commandline -opc)
    set -l last (string replace -ar '^["\']|\\\\' '' -- (commandline -ct))
    set -l found ($words[1] __complete $words[2..] "$last" 2>/dev/null)
    if test "$found[1]" = "<files>"
        set -l head (string match -r -- '^--[^=]*=' "$last")
        printf "$head%s\n" (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$last"))
    else
        printf '%s\n' $found
    end
end
complete -c harness -f -a '(__harness_complete)'
)";

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
    put_exactly(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return 0;
  };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 50, make_completion);

}  // namespace
}  // namespace harness
