#include "harness/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "harness/figures.h"
#include "harness/output.h"
#include "harness/registry.h"
#include "harness/table_spec.h"
#include "results/grid.h"
#include "results/saved_queries.h"

namespace harness {
namespace {

Words choices(std::vector<std::string> words, bool by_comma = false) {
  return {.kind = Words::Kind::kChoices, .choices = std::move(words), .by_comma = by_comma};
}

Words files() {
  return {.kind = Words::Kind::kFiles, .choices = {}};
}

/// Names that this build knows, as words for options and places by their own names.
class Vocabulary {
 public:
  Vocabulary() : registry_(load_registry()), tables_(known_tables()) {}

  Words of_option(const std::string& path, const std::string& name) const;
  Words of_argument(const std::string& path, const std::string& name) const;

 private:
  std::vector<std::string> metrics() const;
  std::vector<std::string> settings() const;
  std::vector<std::string> scales() const;

  Registry registry_;
  std::vector<std::string> tables_;
};

std::vector<std::string> Vocabulary::metrics() const {
  std::vector<std::string> names;
  for (const auto& evaluator : registry_.evaluators)
    for (const auto& metric : evaluator.metrics) names.push_back(metric.name);
  return names;
}

/// NAME= for --set.
std::vector<std::string> Vocabulary::settings() const {
  std::vector<std::string> names;
  for (const auto& setting : registry_.settings) names.push_back(setting.name + "=");
  for (const auto& method : registry_.methods) {
    for (const auto& setting : method.settings)
      names.push_back(fmt::format("{}.{}=", method.name, setting.name));
  }
  return names;
}

std::vector<std::string> Vocabulary::scales() const {
  std::vector<std::string> names;
  for (const auto& table : tables_) {
    for (const auto& [name, scale] : load_table_spec(table).scales) names.push_back(name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Words Vocabulary::of_option(const std::string& path, const std::string& name) const {
  if (name == "--table") return choices(tables_);
  if (name == "--backbone") return choices(names_of(registry_.backbones));
  if (name == "--methods") return choices(names_of(registry_.methods), true);
  if (name == "--task") return choices(names_of(registry_.tasks));
  if (name == "--metric") return choices(metrics());
  if (name == "--split") return choices({"validation", "test"});
  if (name == "--scale") return choices(scales());
  if (name == "--device") return choices({"auto", "cpu", "cuda:0"});
  if (name == "--set") return choices(settings());
  if (name == "--pick") return choices(grid_group_names(), true);
  if (name == "--window") return choices({"updates", "epochs"});
  if (name == "--format" && path == "query") return choices({"table", "csv", "json", "jsonl", "md", "latex"});
  if (name == "--format") return choices({"md", "latex", "csv", "json", "html"});
  const std::vector<std::string> places = {"--out", "--output", "--db", "--weights", "--scorers", "--lora"};
  if (std::ranges::count(places, name) > 0) return files();
  // `--prompts` is a folder for some commands and the name of a set for others.
  return name == "--prompts" && (path == "reproduce" || path == "doctor") ? files() : Words{};
}

Words Vocabulary::of_argument(const std::string& path, const std::string& name) const {
  if (path == "list") {
    return choices({"tables", "methods", "tasks", "backbones", "evaluators", "metrics", "figures", "settings",
                    "runs", "experiments"});
  }
  if (path == "completion") return choices({"bash", "zsh", "fish"});
  if (path.starts_with("runs") || path == "verify") return {.kind = Words::Kind::kRuns, .choices = {}};
  if (path == "compare") return choices(names_of(registry_.methods));
  if (path == "pretrain") return choices({"glyph"});
  if (path == "figure") {
    std::vector<std::string> names;
    for (const auto& figure : known_figures()) names.push_back(figure.name);
    return choices(names);
  }
  if (path == "query") {
    std::vector<std::string> names;
    for (const auto& query : saved_queries()) names.emplace_back(query.name);
    return choices(names);
  }
  if (name == "id") return choices(tables_);
  return name == "folders" || name == "path" ? files() : Words{};
}

OptionWords option_words(const CLI::Option& option, const std::string& path, const Vocabulary& vocabulary) {
  OptionWords words{.names = {},
                    .help = option.get_description(),
                    .takes_value = option.get_items_expected_max() > 0,
                    .value = {}};
  for (const auto& name : option.get_snames()) words.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) words.names.push_back("--" + name);
  if (words.takes_value && !words.names.empty()) words.value = vocabulary.of_option(path, words.names.back());
  return words;
}

void collect(const CLI::App& app, const std::string& path, const Vocabulary& vocabulary,
             std::vector<CommandWords>& all) {
  CommandWords words{.path = path, .commands = {}, .options = {}, .argument = {}};
  for (const auto* option : app.get_options()) {
    if (option->get_positional()) {
      words.argument = vocabulary.of_argument(path, option->get_single_name());
    } else {
      words.options.push_back(option_words(*option, path, vocabulary));
    }
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* command : below)
    words.commands.emplace_back(command->get_name(), command->get_description());
  all.push_back(std::move(words));
  for (const auto* command : below)
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), vocabulary, all);
}

/// In single quotes, for any of the three shells.
std::string shell_word(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (fish && c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string option_list(const CommandWords& command) {
  std::vector<std::string> names;
  for (const auto& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

std::string command_list(const CommandWords& command) {
  std::vector<std::string> names;
  for (const auto& [name, help] : command.commands) names.push_back(name);
  return join(names, " ");
}

/// The shell function that offers such words.
std::string offer(const Words& words) {
  switch (words.kind) {
    case Words::Kind::kChoices:
      return fmt::format("_harness_{} {}", words.by_comma ? "list" : "words",
                         shell_word(join(words.choices, " ")));
    case Words::Kind::kFiles:
      return "_harness_files";
    case Words::Kind::kRuns:
      return "_harness_words \"$(_harness_runs)\"";
    default:
      return ":";
  }
}

/// The case arms that bash and zsh share: what comes after an option, and what else may come.
std::string cases(const std::vector<CommandWords>& commands) {
  std::string out;
  for (const auto& command : commands) {
    out += fmt::format("    {})\n      case \"$prev\" in\n", shell_word(command.path));
    for (const auto& option : command.options) {
      if (option.takes_value)
        out += fmt::format("        {}) {}; return ;;\n", join(option.names, "|"), offer(option.value));
    }
    out += "      esac\n";
    out += fmt::format("      if [[ $cur == -* ]]; then _harness_words {}; return; fi\n",
                       shell_word(option_list(command)));
    const auto below = command_list(command);
    out += fmt::format("      {}\n      ;;\n",
                       below.empty() ? offer(command.argument) : "_harness_words " + shell_word(below));
  }
  return out;
}

/// Which words of the line name the command: "harness runs --json show" is "runs show".
std::string known_paths(const std::vector<CommandWords>& commands) {
  std::vector<std::string> paths;
  for (const auto& command : commands) {
    if (!command.path.empty()) paths.push_back(shell_word(command.path));
  }
  return join(paths, "|");
}

constexpr const char* kRuns =
    R"(_harness_runs() { harness list runs 2>/dev/null | awk 'NR > 1 { print $1 }'; }
)";

constexpr const char* kPath = R"(  for word in {}; do
    case "${{at:+$at }}$word" in
      {}) at="${{at:+$at }}$word" ;;
    esac
  done
  case "$at" in
{}  esac
)";

std::string bash_script(const std::vector<CommandWords>& commands) {
  return fmt::format(
      R"(# bash completion of harness. Load it with
#   source <(harness completion bash)
{}_harness_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); if [[ ${{COMPREPLY[0]-}} == *= ]]; then compopt -o nospace 2>/dev/null; fi; }}
_harness_files() {{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }}
_harness_list() {{
  local done="" last=$cur
  if [[ $cur == *,* ]]; then done=${{cur%,*}},; last=${{cur##*,}}; fi
  mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "$last")
  compopt -o nospace 2>/dev/null
}}
_harness() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at="" word
  local words=("${{COMP_WORDS[@]}}")
  # --option=value comes as three words.
  if [[ $cur == "=" ]]; then cur=""
  elif [[ $prev == "=" ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  COMPREPLY=()
{}}}
complete -F _harness harness
)",
      kRuns, fmt::format(kPath, "\"${words[@]:1:COMP_CWORD-1}\"", known_paths(commands), cases(commands)));
}

std::string zsh_script(const std::vector<CommandWords>& commands) {
  return fmt::format(R"(#compdef harness
# zsh completion of harness. Load it with
#   source <(harness completion zsh)
# or store it as _harness in a folder of $fpath.
{}_harness_words() {{ local each=(${{=1}}); if [[ $1 == *= ]]; then compadd -S '' -- $each; else compadd -- $each; fi; }}
_harness_files() {{ _files; }}
_harness_list() {{ compset -P '*,'; local each=(${{=1}}); compadd -q -S ',' -- $each; }}
_harness() {{
  local cur=${{words[CURRENT]}} prev=${{words[CURRENT-1]}} at="" word
  if [[ $cur == --*=* ]]; then prev=${{cur%%=*}}; cur=${{cur#*=}}; compset -P '*='; fi
{}}}
if [[ ${{funcstack[1]-}} == _harness ]]; then _harness "$@"; else compdef _harness harness; fi
)",
                     kRuns,
                     fmt::format(kPath, "${words[2,CURRENT-1]}", known_paths(commands), cases(commands)));
}

std::string fish_values(const Words& words) {
  switch (words.kind) {
    case Words::Kind::kChoices:
      return fmt::format(" -f -a {}", shell_word(words.by_comma ? fmt::format("(__harness_list {})",
                                                                              join(words.choices, " "))
                                                                : join(words.choices, " "),
                                                 true));
    case Words::Kind::kFiles:
      return " -F";
    case Words::Kind::kRuns:
      return " -f -a '(__harness_runs)'";
    default:
      return " -f";
  }
}

std::string fish_script(const std::vector<CommandWords>& commands) {
  std::string known;
  for (const auto& command : commands) {
    if (!command.path.empty()) known += " " + shell_word(command.path, true);
  }
  std::string out = fmt::format(R"(# fish completion of harness. Load it with
#   harness completion fish | source
function __harness_runs
    harness list runs 2>/dev/null | tail -n +2 | string replace -r ' .*' ''
end
function __harness_list
    set -l head (string match -r '.*,' -- (commandline -ct))
    printf "$head%s\n" $argv
end
function __harness_at
    set -l at
    for word in (commandline -opc)[2..]
        set -l longer (string join ' ' $at $word)
        contains -- "$longer"{0}; and set at $longer
    end
    test "$at" = "$argv"
end
complete -c harness -f
)",
                                known);
  for (const auto& command : commands) {
    const auto here = fmt::format("complete -c harness -n '__harness_at {}'", command.path);
    for (const auto& [name, help] : command.commands)
      out += fmt::format("{} -a {} -d {}\n", here, name, shell_word(help, true));
    for (const auto& option : command.options) {
      out += here;
      for (const auto& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      out += fmt::format(" -d {}", shell_word(option.help, true));
      out += option.takes_value ? " -r" + fish_values(option.value) : "";
      out += "\n";
    }
    if (command.commands.empty() && command.argument.kind != Words::Kind::kAny)
      out += here + fish_values(command.argument) + "\n";
  }
  return out;
}

}  // namespace

std::vector<CommandWords> command_words(const CLI::App& app) {
  std::vector<CommandWords> all;
  collect(app, "", Vocabulary(), all);
  return all;
}

std::string completion_script(const std::vector<CommandWords>& commands, const std::string& shell) {
  require_choice(shell, {"bash", "zsh", "fish"}, "shell", "harness completion");
  if (shell == "bash") return bash_script(commands);
  return shell == "zsh" ? zsh_script(commands) : fish_script(commands);
}

}  // namespace harness
