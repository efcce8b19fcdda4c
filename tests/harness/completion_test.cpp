#include <set>
#include <sstream>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using CompleteWords = SmokeTest;

using ::testing::IsSupersetOf;

/// What a shell offers when `line` was typed and Tab is pressed.
class Shell {
 public:
  explicit Shell(const std::string& name) : name_(name) {
    const auto outcome = place_.ok({"completion", name});
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
    if (name_ == "bash") {
      const auto word = line.substr(line.find_last_of(" =:") + 1);
      return "source ./script\nCOMP_LINE='" + line + "'\nCOMP_POINT=${#COMP_LINE}\n_harness harness '" +
             word + "' 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    }
    std::string words;
    std::istringstream stream(line);
    int count = 0;
    for (std::string word; stream >> word; ++count) words += " '" + word + "'";
    if (line.back() == ' ') words += " ''", ++count;
    // zsh offers through builtins that only work on its command line: print what they are given instead.
    return "compdef() { :; }\n"
           "compset() { PREFIX=${PREFIX#*=}; }\n"
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
  EXPECT_EQ(words, std::set<std::string>{"ratio-norm,dual"});
}

TEST_P(Completion, CompletesAValueAfterAnEqualsSign) {
  Shell shell(GetParam());
  // bash takes what follows the "=" for the word.
  const std::string head = GetParam() == std::string("bash") ? "" : "--format=";
  EXPECT_EQ(shell.offers("harness table --format=ht"), std::set<std::string>{head + "html"});
}

TEST_P(Completion, OffersFilesWhereAPathIsWanted) {
  Shell shell(GetParam());
  EXPECT_THAT(shell.offers("harness reproduce --out scr"), IsSupersetOf(std::vector<std::string>{"script"}));
}

TEST_P(Completion, OffersTheRunsOfTheWorkspace) {
  Shell shell(GetParam());
  ASSERT_EQ(shell.place().run(kSmoke).status, 0);
  std::vector<std::string> ids;
  for (const auto& run : shell.place().json({"list", "runs", "--json"})) ids.push_back(run.at("name"));
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_THAT(shell.offers("harness runs show "), IsSupersetOf(ids));
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& param) { return std::string(param.param); });

/// The lines of `harness __complete WORDS...` without what they mean. It must neither fail nor complain.
std::vector<std::string> offered(Workplace& place, std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const auto outcome = place.ok(words);
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> lines;
  std::istringstream stream(outcome.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(line.substr(0, line.find('\t')));
  return lines;
}

TEST_F(CompleteWords, CommandsAndOptionsComeWithTheirHelp) {
  EXPECT_EQ(place.run({"__complete", "runs", "r"}).out, "rm\tRemove runs; their folders go to the trash\n");
  EXPECT_EQ(place.run({"__complete", "verify", "--al"}).out, "--all\ttake all images\n");
}

TEST_F(CompleteWords, ChoicesAreThoseOfTheOption) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered(place, {"pretrain", ""}), (Words{"glyph", "glyph-flux", "shapes-flux", "glyph-clip"}));
  EXPECT_EQ(offered(place, {"query", "--format", "js"}), (Words{"json", "jsonl"}));
  EXPECT_EQ(offered(place, {"table", "--format", "js"}), Words{"json"});
  EXPECT_EQ(offered(place, {"compare", "--interval=b"}), Words{"--interval=bca"});
  EXPECT_EQ(offered(place, {"grid", "--pick", "wins,l"}), Words{"wins,losses"});
  EXPECT_EQ(offered(place, {"datasets", "verify", "--task", "o"}), Words{"ocr"});
  EXPECT_EQ(offered(place, {"compare", "--win"}), Words{}) << "an option that the help hides";
  EXPECT_EQ(offered(place, {"query", "-p", "metric", "cer", "--li"}), Words{"--list"});
}

TEST_F(CompleteWords, MethodsAreTheRowsOfTheTableTypedBefore) {
  EXPECT_EQ(offered(place, {"reproduce", "--table", "aa-seeds", "--methods", "ratio-norm,adam"}),
            std::vector<std::string>{"ratio-norm,adam_eps 1.0001e-8"});
}

TEST_F(CompleteWords, FilesAreLeftToTheShell) {
  const std::vector<std::string> files = {"<files>"};
  EXPECT_EQ(offered(place, {"reproduce", "--out", ""}), files);
  EXPECT_EQ(offered(place, {"reproduce", "--out=my runs"}), files);
  EXPECT_EQ(offered(place, {"reproduce", "--table", "./mi"}), files) << "a table may be a file";
  EXPECT_EQ(offered(place, {"parity", "one", "two"}), files);
}

TEST_F(CompleteWords, RunsAndExperimentsAreThoseOfTheWorkspaceTypedBefore) {
  ok(smoke({"--out", "my runs"}));
  EXPECT_EQ(offered(place, {"runs", "show", "--out", "my runs", ""}).size(), 4u);
  EXPECT_EQ(offered(place, {"runs", "rm", "--db=my runs/results.sqlite", ""}).size(), 4u);
  EXPECT_EQ(offered(place, {"table", "--out", "my runs", "--experiment", ""}), std::vector<std::string>{"1"});
  EXPECT_TRUE(offered(place, {"runs", "show", ""}).empty());
}

TEST_F(CompleteWords, NothingIsOfferedOutOfWhatIsBroken) {
  fs::create_directories(runs);
  write_file_atomically(db, "not a database");
  write_file_atomically(place.share() / "registry.json", "{");
  EXPECT_TRUE(offered(place, {"runs", "show", ""}).empty());
  EXPECT_TRUE(offered(place, {"table", "--experiment", ""}).empty());
  EXPECT_TRUE(offered(place, {"compare", ""}).empty());
  EXPECT_TRUE(offered(place, {"reproduce", "--set", ""}).empty());
  EXPECT_TRUE(offered(place, {"nothing", "of", "the", "kind"}).empty());
  EXPECT_TRUE(offered(place, {}).empty());
}

}  // namespace
}  // namespace harness::test
