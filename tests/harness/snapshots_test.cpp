#include <cstdlib>

#include "core/text.h"
#include "tests/harness/workplace.h"

// What the program says, word for word. After a change that is meant:
//   HARNESS_RENEW_SNAPSHOTS=1 build/release/tests/harness_tests --gtest_filter='Snapshots.*'
// and look at what `git diff tests/harness/snapshots` shows.

namespace harness::test {
namespace {

using Snapshots = SmokeTest;

const fs::path kFolder = HARNESS_SOURCE_DIR "/tests/harness/snapshots";

bool is_renewed() {
  return std::getenv("HARNESS_RENEW_SNAPSHOTS") != nullptr;
}

/// `text` with what differs from place to place put in words.
std::string without_places(std::string text, const Workplace& place) {
  const std::vector<std::pair<std::string, std::string>> words = {
      {place.folder().string(), "FOLDER"}, {HARNESS_BINARY_DIR, "BUILD"}, {HARNESS_SOURCE_DIR, "SOURCE"}};
  for (const auto& [from, to] : words) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

void expect_snapshot(const std::string& name, const std::string& text) {
  const auto file = kFolder / (name + ".txt");
  if (is_renewed()) write_file_atomically(file, text);
  ASSERT_TRUE(fs::exists(file)) << "no snapshot yet: see the top of snapshots_test.cpp";
  EXPECT_EQ(read_file(file), text) << "see the top of snapshots_test.cpp for how to renew " << file;
}

/// Every command, found through the help of its parent.
void collect_help(Workplace& place, const Words& command, std::map<std::string, std::string>& pages) {
  auto arguments = command;
  arguments.emplace_back("--help");
  const auto outcome = place.ok(arguments);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  std::string name = "help";
  for (const auto& word : command) name += "-" + word;
  pages[name] = outcome.out;
  if (outcome.out.find(" COMMAND [OPTIONS]\n") == std::string::npos) return;
  for (const auto& line : split(outcome.out.substr(0, outcome.out.find("\nOptions:\n")), '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;  // no command, or its text goes on
    auto below = command;
    below.push_back(line.substr(2, line.find(' ', 2) - 2));
    collect_help(place, below, pages);
  }
}

TEST_F(Snapshots, HelpOfEveryCommand) {
  std::map<std::string, std::string> pages;
  collect_help(place, {}, pages);
  EXPECT_GE(pages.size(), 20u);
  for (const auto& [name, page] : pages) {
    expect_snapshot(name, without_places(page, place));
    EXPECT_THAT(page, ::testing::HasSubstr("Examples:")) << name;
    for (const auto& line : split(page, '\n')) EXPECT_LE(display_width(line), 100) << name << ": " << line;
    for (const char* word : {"unset", "TEXT", "\n\n\n"})
      EXPECT_EQ(page.find(word), std::string::npos) << name;
  }
}

TEST_F(Snapshots, MainErrorMessages) {
  const std::vector<Words> commands = {{},
                                       {"reproduec"},
                                       {"runs"},
                                       {"runs", "sho"},
                                       {"db", "rebild"},
                                       {"reproduce"},
                                       {"reproduce", "--tabel", "sd35-ocr"},
                                       {"reproduce", "--table", "sd35-orc"},
                                       {"reproduce", "--table", "sd35-ocr", "--methods", "ratio-nrm"},
                                       {"reproduce", "--table", "sd35-ocr", "--scale", "smok"},
                                       {"reproduce", "--table", "sd35-ocr", "--set", "group_sise=4"},
                                       {"reproduce", "--table", "sd35-ocr", "--set", "lr=fast"},
                                       {"reproduce", "--table", "sd35-ocr", "--seeds", "42,x"},
                                       {"reproduce", "--table", "sd35-ocr", "--weights", "nowhere"},
                                       {"reproduce", "--table", "nowhere.json"},
                                       {"list", "tabels"},
                                       {"figure", "law-audti"},
                                       {"completion", "bsh"},
                                       {"query"},
                                       {"query", "SELECT 1"},
                                       {"table"},
                                       {"runs", "show", "0123"},
                                       {"db", "check"},
                                       {"db", "rebuild"}};
  std::string text;
  for (const auto& command : commands) {
    const auto outcome = place.run(command);
    text += "$ harness";
    for (const auto& word : command)
      text += " " + (word.find(' ') == std::string::npos ? word : "\"" + word + "\"");
    text += "\n" + outcome.out + outcome.err + "exit status " + std::to_string(outcome.status) + "\n\n";
  }
  expect_snapshot("errors", without_places(text, place));
}

}  // namespace
}  // namespace harness::test
