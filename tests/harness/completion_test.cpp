#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::IsSupersetOf;

/// What a shell offers when `line` was typed and Tab is pressed.
class Shell {
 public:
  explicit Shell(const std::string& name) : name_(name) {
    const auto outcome = place_.run({"completion", name});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    write_file_atomically(place_.folder() / "script", outcome.out);
    fs::create_symlink(HARNESS_BINARY_DIR "/harness", place_.folder() / "harness");
  }

  std::set<std::string> offers(const std::string& line) {
    write_file_atomically(place_.folder() / "driver", driver(line));
    const auto [status, said, _] =
        harness::shell("PATH=\"$PWD:$PATH\" HARNESS_PATH=share " + name_ +
                           (name_ == "fish" ? " --no-config" : "") + " ./driver 2>&1",
                       {.folder = place_.folder()});
    EXPECT_EQ(status, 0) << said;
    std::set<std::string> words;
    std::istringstream lines(said);
    for (std::string word; std::getline(lines, word);) words.insert(word.substr(0, word.find('\t')));
    return words;
  }

  Workplace& place() { return place_; }

 private:
  /// A program in the shell's own language that asks its completion and prints a word a line.
  std::string driver(const std::string& line) const {
    if (name_ == "fish") return "source ./script\ncomplete -C'" + line + "'\n";
    std::string words;
    std::istringstream stream(line);
    int count = 0;
    for (std::string word; stream >> word; ++count) words += " '" + word + "'";
    if (line.back() == ' ') words += " ''", ++count;
    if (name_ == "bash") {
      return "source ./script\nCOMP_WORDS=(" + words + ")\nCOMP_CWORD=" + std::to_string(count - 1) +
             "\n_harness 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    }
    // zsh offers through builtins that only work on its command line: print what they are given instead.
    return "compdef() { :; }\n"
           "compset() { local head=${words[CURRENT]%,*}; [[ ${words[CURRENT]} == *,* ]] && "
           "PREFIX=${words[CURRENT]##*,}; true; }\n"
           "compadd() { while [[ $1 != -- ]]; do shift; done; shift; for w in \"$@\"; do [[ $w == ${PREFIX}* "
           "]] && print -r -- $w; done; true; }\n"
           "_files() { print -rl -- ${PREFIX}*(N); }\n"
           "source ./script\nwords=(" +
           words + ")\nCURRENT=" + std::to_string(count) + "\nPREFIX=${words[CURRENT]}\n_harness\ntrue\n";
  }

  std::string name_;
  Workplace place_;
};

class Completion : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_program(GetParam())) GTEST_SKIP() << GetParam() << " is not installed";
  }
};

TEST_P(Completion, OffersCommandsOptionsAndNamesThatTheBuildKnows) {
  Shell shell(GetParam());
  using Words = std::vector<std::string>;
  EXPECT_THAT(shell.offers("harness "),
              IsSupersetOf(Words{"reproduce", "list", "runs", "db", "doctor", "completion"}));
  EXPECT_THAT(shell.offers("harness repro"), IsSupersetOf(Words{"reproduce"}));
  EXPECT_EQ(shell.offers("harness repro").count("list"), 0u);
  EXPECT_THAT(shell.offers("harness runs "), IsSupersetOf(Words{"show", "rm"}));
  EXPECT_THAT(shell.offers("harness reproduce --sc"), IsSupersetOf(Words{"--scale", "--scorers"}));
  EXPECT_EQ(shell.offers("harness reproduce --sc").count("--table"), 0u);
  EXPECT_THAT(shell.offers("harness reproduce --table "), IsSupersetOf(Words{"sd35-ocr", "sd35-ocr-clip"}));
  EXPECT_THAT(shell.offers("harness reproduce --table sd35-ocr --scale "),
              IsSupersetOf(Words{"smoke", "default", "paper"}));
  EXPECT_THAT(shell.offers("harness compare ratio-norm dual --metric c"),
              IsSupersetOf(Words{"cer", "cer_paper"}));
  EXPECT_THAT(shell.offers("harness list "), IsSupersetOf(Words{"tables", "figures", "runs"}));
  EXPECT_THAT(shell.offers("harness datasets "), IsSupersetOf(Words{"split", "verify"}));
  EXPECT_THAT(shell.offers("harness reproduce --set dual."), IsSupersetOf(Words{"dual.beta_max="}));
  EXPECT_THAT(shell.offers("harness completion z"), IsSupersetOf(Words{"zsh"}));
}

TEST_P(Completion, CompletesTheLastOfSeveralMethods) {
  Shell shell(GetParam());
  const auto words = shell.offers("harness reproduce --methods ratio-norm,du");
  EXPECT_TRUE(words.contains("ratio-norm,dual") || words.contains("dual")) << words.size();
}

TEST_P(Completion, OffersTheRunsOfTheWorkspace) {
  Shell shell(GetParam());
  ASSERT_EQ(shell.place().run({"reproduce", "--table", "sd35-ocr", "--scale", "smoke"}).status, 0);
  std::vector<std::string> ids;
  for (const auto& run : shell.place().json({"list", "runs", "--json"})) ids.push_back(run.at("name"));
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_THAT(shell.offers("harness runs show "), IsSupersetOf(ids));
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& param) { return std::string(param.param); });

TEST(CompletionCommand, AnUnknownShellIsStatus2) {
  Workplace place;
  const auto outcome = place.run({"completion", "bsh"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr(R"(did you mean "bash"?)"));
}

}  // namespace
}  // namespace harness::test
