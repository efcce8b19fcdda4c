#include "core/command_line/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/text.h"

namespace harness {
namespace {

constexpr int kWidth = 80;
constexpr int kIndent = 2, kGap = 2;
constexpr int kWidestName = 24;  // a longer one has a line of its own

/// A line of a list: "--seeds LIST" and what it is.
struct Entry {
  std::string name, text;
};

struct Section {
  std::string title;
  std::vector<Entry> entries = {};
};

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// The default as the help shows it; empty where there is none to show.
std::string default_of(const Option& option) {
  if (!option.details.default_text.empty()) return option.details.default_text;
  return std::visit(
      []<class T>(const T* value) -> std::string {
        if constexpr (std::is_same_v<T, std::string> || (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>))
          return fmt::format("{}", *value);
        else
          return {};
      },
      option.target);
}

std::string text_of(const Option& option) {
  const auto shown = default_of(option);
  const bool is_shown =
      !shown.empty() && shown != "default" && !option.is_argument() && !option.details.required;
  return option.help + (is_shown ? fmt::format(" (default: {})", shown) : "");
}

Entry entry_of(const Option& option) {
  if (option.is_argument()) return {value_name(option), text_of(option)};
  auto name = join(split(option.names, ','), ", ");
  if (option.details.may_be_bare) {
    name += " [" + value_name(option) + "]";
  } else if (option.kind() != ValueKind::kFlag) {
    name += " " + value_name(option);
  }
  return {std::move(name), text_of(option)};
}

Section& section(std::vector<Section>& sections, const std::string& title) {
  const auto found = std::ranges::find(sections, title, &Section::title);
  return found != sections.end() ? *found : sections.emplace_back(Section{title});
}

std::vector<Section> sections_of(const Command& command) {
  std::vector<Section> sections;
  for (const auto& below : command.commands)
    section(sections, below.group.empty() ? "Commands" : below.group)
        .entries.push_back({below.name, below.help});
  for (const auto& option : command.options) {
    if (option.is_argument()) section(sections, "Arguments").entries.push_back(entry_of(option));
  }
  auto& own = section(sections, "Options").entries;
  std::vector<Section> grouped;
  for (const auto& option : command.options) {
    if (option.is_argument() || option.details.hidden) continue;
    auto& entries = option.details.group.empty() ? own : section(grouped, option.details.group).entries;
    entries.push_back(entry_of(option));
  }
  if (!command.version.empty()) own.push_back({"--version", "print the version"});
  own.push_back({"-h, --help", "print this help"});
  std::ranges::move(grouped, std::back_inserter(sections));
  return sections;
}

/// Columns of names, so that texts begin below one another.
int name_width(const std::vector<Section>& sections) {
  int width = 0;
  for (const auto& part : sections) {
    for (const auto& entry : part.entries) {
      if (const auto own = display_width(entry.name); own <= kWidestName) width = std::max(width, own);
    }
  }
  return width;
}

std::string entry_text(const Entry& entry, int width) {
  const auto margin = kIndent + width + kGap;
  auto lines = filled(entry.text, kWidth - margin);
  auto text = std::string(kIndent, ' ') + entry.name;
  if (lines.empty()) return text + '\n';
  if (display_width(entry.name) > width) {
    text += '\n';
  } else {
    text += std::string(static_cast<std::size_t>(width - display_width(entry.name) + kGap), ' ');
    text += lines.front() + '\n';
    lines.erase(lines.begin());
  }
  for (const auto& line : lines) text += std::string(static_cast<std::size_t>(margin), ' ') + line + '\n';
  return text;
}

std::string notes_text(const std::string& notes) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (paragraph.empty()) return;
    text += '\n' + join(filled(std::exchange(paragraph, ""), kWidth), "\n") + '\n';
  };
  for (const auto& line : split(notes, '\n')) {
    if (line.empty() || line.starts_with(' ') || line == "Examples:") end_paragraph();
    if (line.starts_with(' ')) {
      text += line + '\n';
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
  return text;
}

std::string usage_of(std::span<const Command* const> path) {
  std::string usage = "Usage:";
  for (const auto* command : path) usage += " " + command->name;
  const auto& last = *path.back();
  if (!last.commands.empty()) usage += " COMMAND";
  std::string arguments;
  for (const auto& option : last.options) {
    if (option.is_argument()) {
      const auto name = value_name(option) + (option.is_list() ? "..." : "");
      arguments += option.details.required ? " " + name : " [" + name + "]";
    } else if (option.details.required) {
      usage += " " + entry_of(option).name;
    }
  }
  return usage + " [OPTIONS]" + arguments + "\n";
}

}  // namespace

std::string value_name(const Option& option) {
  if (!option.details.value.empty()) return option.details.value;
  if (option.is_argument()) return upper(option.names);
  if (option.details.by_comma) return "LIST";
  if (option.details.is_path) return "PATH";
  constexpr const char* kOfKind[] = {"", "NAME", "NAME VALUE", "N", "N", "X"};  // of ValueKind
  return kOfKind[static_cast<int>(option.kind())];
}

std::string help_text(std::span<const Command* const> path) {
  const auto& command = *path.back();
  const auto sections = sections_of(command);
  const auto width = name_width(sections);
  auto text = join(filled(command.help, kWidth), "\n") + "\n\n" + usage_of(path);
  for (const auto& part : sections) {
    text += "\n" + part.title + ":\n";
    for (const auto& entry : part.entries) text += entry_text(entry, width);
  }
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    if (!(*at)->notes.empty()) return text + notes_text((*at)->notes);
  }
  return text;
}

}  // namespace harness
