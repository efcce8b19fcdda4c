#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/text.h"
#include "tests/harness/workplace.h"

// What becomes of the work when a standard stream is closed, full or gone.

namespace harness::test {
namespace {

using ::testing::AnyOf;

/// A Workplace whose commands a shell runs: $H is the program, $R the smoke run.
class ShellPlace : public Workplace {
 public:
  int shell(const std::string& script) const {
    auto variables = environment;
    variables["H"] = HARNESS_BINARY_DIR "/harness";
    variables["R"] = variables["H"] + " reproduce --table sd35-ocr --scale smoke";
    Process bash({"bash", "-c", "set -o pipefail\n" + script},
                 {.folder = folder(), .environment = variables});
    return number_of(bash.wait());
  }
  /// A script that ends so, whose messages, in the file err, say this.
  void expect_script(const std::string& script, int status, const std::string& said) const {
    EXPECT_EQ(shell(script), status) << script << ": " << file("err");
    EXPECT_THAT(file("err"), HasSubstr(said)) << script;
  }
  std::string file(const std::string& name) const { return read_file(folder() / name); }
};

void expect_finished(ShellPlace& place) {
  EXPECT_TRUE(fs::exists(place.folder() / "runs/sd35-ocr/table.md"));
  place.ok({"db", "check"});
}

// --- Standard error ---

struct Stream {
  const char *name, *command;
};
std::string name_of(const ::testing::TestParamInfo<Stream>& info) {
  return info.param.name;
}

class UnheardMessages : public ::testing::TestWithParam<Stream> {};

TEST_P(UnheardMessages, StopNoWork) {
  ShellPlace place;
  EXPECT_EQ(place.shell(GetParam().command), 0);
  expect_finished(place);
}

INSTANTIATE_TEST_SUITE_P(
    Of, UnheardMessages,
    ::testing::Values(Stream{"AFullDisk", "$R > out 2> /dev/full"},
                      Stream{"AReadOnlyStream", "$R > out 2< /dev/null"},
                      Stream{"AClosedStream", "$R > out 2>&-"}, Stream{"NoStreams", "$R <&- >&- 2>&-"},
                      Stream{"AReaderThatHasGone", "$R > out 2> >(exec true)"},
                      Stream{"AReaderThatHasGoneUnnoticed", "trap '' PIPE; $R > out 2> >(exec true)"}),
    name_of);

TEST(UnheardMessages, LeaveTheStatusOfAnErrorAsItIs) {
  ShellPlace place;
  EXPECT_EQ(place.shell("$H table nonsense 2> /dev/full"), 2);
  EXPECT_EQ(place.shell("$H nonsense <&- >&- 2>&-"), 2);
}

/// A smoke run in a session of its own on a terminal, which is closed once the work has begun.
int status_after_the_terminal_closed(ShellPlace& place, bool nohup) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::signal(SIGHUP, nohup ? SIG_IGN : SIG_DFL);
    if (::chdir(place.folder().c_str()) != 0) ::_exit(99);
    for (const auto& [name, value] : place.environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execl(HARNESS_BINARY_DIR "/harness", "harness", "reproduce", "--table", "sd35-ocr", "--scale", "smoke",
            nullptr);
    ::_exit(99);
  }
  EXPECT_TRUE(
      wait_until([&] { return !place.logs_of("train").empty() || !place.logs_of("evaluate").empty(); }));
  ::close(terminal);
  int raw = 0;
  ::waitpid(pid, &raw, 0);
  return WIFSIGNALED(raw) ? 1000 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

/// What a command writes to a terminal of so many columns.
std::string on_terminal(ShellPlace& place, unsigned short columns, const std::string& command) {
  int terminal = -1;
  const winsize size{.ws_row = 40, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    if (::chdir(place.folder().c_str()) != 0) ::_exit(99);
    for (const auto& [name, value] : place.environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(99);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(terminal);
  int raw = 0;
  ::waitpid(pid, &raw, 0);
  EXPECT_EQ(WEXITSTATUS(raw), 0) << text;
  return text;
}

/// Lines without what colours them.
std::vector<std::string> plain_lines(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else if (text[i] != '\r') {
      plain += text[i];
    }
  }
  return split(plain, '\n');
}

TEST(ATerminal, IsShownASummaryThatFitsItAndAPipeTheWholeTable) {
  ShellPlace place;
  place.ok(kSmoke);
  const std::string command = HARNESS_BINARY_DIR "/harness reproduce --table sd35-ocr --scale smoke";
  const auto whole = place.ok(kSmoke).out;
  EXPECT_THAT(whole, HasSubstr("\nSignature: "));
  for (const unsigned short columns : {80, 120}) {
    const auto text = on_terminal(place, columns, command + " 2>/dev/null");
    EXPECT_THAT(text, HasSubstr("\x1b[1msd35-ocr"));
    const auto lines = plain_lines(text);
    EXPECT_LE(lines.size(), 26U);  // the last one ends
    for (const auto& line : lines) EXPECT_LE(display_width(line), columns) << line;
  }
  EXPECT_THAT(on_terminal(place, 80, command + " --verbose"), HasSubstr("Signature: "));
  EXPECT_THAT(on_terminal(place, 80, "NO_COLOR=1 " + command), Not(HasSubstr("\x1b[1m")));
}

TEST(ATerminal, HasLongTextsOfAQueryCutToItsWidth) {
  ShellPlace place;
  place.ok(kSmoke);
  const std::string query = HARNESS_BINARY_DIR "/harness query 'SELECT position, text FROM prompts LIMIT 5'";
  for (const auto& line : plain_lines(on_terminal(place, 60, query))) EXPECT_LE(display_width(line), 60);
  EXPECT_THAT(on_terminal(place, 60, query), HasSubstr("\u2026"));
  const auto piped = plain_lines(on_terminal(place, 60, query + " | cat"));
  EXPECT_GT(display_width(piped.at(2)), 60) << "a pipe has more of them";
}

TEST(ClosedTerminal, UnderNohupTheWorkGoesOn) {
  ShellPlace place;
  EXPECT_EQ(status_after_the_terminal_closed(place, true), 0);
  expect_finished(place);
}

TEST(ClosedTerminal, WithoutNohupIsAnInterruptionThatCanBeContinued) {
  ShellPlace place;
  EXPECT_EQ(status_after_the_terminal_closed(place, false), 130);
  place.ok(kSmoke);
  expect_finished(place);
}

TEST(StandardStreams, OfTheWorkersProgramsMayBeClosedToo) {
  ShellPlace place;
  // A file that took the place of descriptor 2 would get the messages.
  const auto scorer = std::string(HARNESS_BINARY_DIR "/harness-scorer");
  if (!fs::exists(scorer)) GTEST_SKIP() << "needs Tesseract";
  EXPECT_EQ(place.shell(scorer + " --describe > out 2>&-"), 0);
  EXPECT_THAT(place.file("out"), HasSubstr("\"protocol\""));
  place.expect_script(scorer + " --describe > /dev/full 2> err", 1,
                      "cannot write to standard output: No space left on device");
  EXPECT_EQ(place.shell(scorer + " --help > /dev/full 2> err"), 1);
  EXPECT_EQ(place.shell(scorer + " < /dev/zero > /dev/full 2> err"), 1);
}

// --- Standard output ---

/// One finished workspace for all tests that only read.
class Answers : public ::testing::Test {
 protected:
  static ShellPlace& place() {
    static ShellPlace finished;
    return finished;
  }
  static void SetUpTestSuite() { place().ok(kSmoke); }
};

TEST_F(Answers, ThatCannotBeWrittenAreStatus1) {
  for (const char* command : {"--help",
                              "--version",
                              "help query",
                              "compare --help",
                              "completion bash",
                              "list tables",
                              "list tables --json",
                              "list experiments",
                              "query --list",
                              "query 'SELECT * FROM metrics' --format csv",
                              "query 'SELECT 1 AS a'",
                              "query 'SELECT 1 AS a' --json",
                              "table",
                              "table --json",
                              "check",
                              "check --json",
                              "compare ratio-norm dual",
                              "compare ratio-norm dual --json",
                              "db check",
                              "db check --json",
                              "doctor --json",
                              "datasets list",
                              "datasets split --seed 1 --of 9 --take 3 --json",
                              "reproduce --table sd35-ocr --scale smoke",
                              "reproduce --table sd35-ocr --scale smoke --dry-run --json"}) {
    place().expect_script(std::string("$H ") + command + " > /dev/full 2> err", 1,
                          "error: cannot write to standard output: No space left on device");
  }
}

TEST_F(Answers, ThatCannotBeWrittenLeaveAnotherStatusAsItIs) {
  place().expect_script("$H table nonsense --json > /dev/full 2> err", 2, "No space left on device");
}

TEST_F(Answers, OnAReadOnlyOutputAreStatus1) {
  place().expect_script("$H list tables 1< /dev/null 2> err", 1,
                        "cannot write to standard output: Bad file descriptor");
}

TEST_F(Answers, ThatNobodyWantsAreNoFailure) {
  EXPECT_EQ(place().shell("$H list tables >&- 2> err"), 0);
  EXPECT_EQ(place().file("err"), "");
}

TEST_F(Answers, EndQuietlyWhereTheReaderHasGone) {
  for (const char* format : {"table", "csv", "json", "jsonl", "md", "latex"}) {
    EXPECT_EQ(place().shell(std::string("$H query 'SELECT * FROM metrics' --format ") + format +
                            " 2> err | head -1 > out"),
              0)
        << format;
    EXPECT_EQ(place().file("err"), "") << format;
    EXPECT_FALSE(place().file("out").empty()) << format;
  }
  EXPECT_EQ(place().shell("$H list tables 2> err | exec true"), 0);
  EXPECT_EQ(place().shell("$H query 'SELECT nonsense' 2> err | exec true"), 2) << "the command's own status";
}

TEST(StandardOutput, OfARunMayLoseItsReader) {
  ShellPlace place;
  EXPECT_EQ(place.shell("$R --json 2> err | exec true"), 0) << place.file("err");
  expect_finished(place);
}

// --- Sizes ---

TEST(FileSizeLimit, EndsInWordsAndTheCommandGoesOnWithoutIt) {
  ShellPlace place;
  EXPECT_EQ(place.shell("ulimit -f 100; $R > out 2> err"), 1) << place.file("err");
  EXPECT_THAT(place.file("err"), AnyOf(HasSubstr("File too large"), HasSubstr("disk I/O error")));
  EXPECT_THAT(place.file("err"), HasSubstr("repeat the command"));
  EXPECT_EQ(place.shell("$R > out 2> err"), 0) << place.file("err");
  expect_finished(place);
}

TEST_F(Answers, LargerThanAFileMayBeAreStatus1) {
  place().expect_script("ulimit -f 64; $H query 'SELECT * FROM metrics' --format csv > out 2> err", 1,
                        "cannot write to standard output: File too large");
}

// Without memory GLib ends the program where it stands.
TEST_F(Answers, OfTooLittleMemoryEndInWords) {
  for (const char* kilobytes : {"80000", "120000", "250000"}) {
    const auto status =
        place().shell(std::string("ulimit -v ") + kilobytes + "; $H grid sd35-ocr > out 2> err");
    EXPECT_THAT(status, AnyOf(0, 1)) << kilobytes << ": " << place().file("err");
    if (status == 1) {
      EXPECT_THAT(place().file("err"), HasSubstr("memory")) << kilobytes;
    }
  }
}

TEST_F(Answers, DrawnWhereThereAreNoFontsEndInWords) {
  place().shell("printf '<fontconfig/>' > no-fonts.conf");
  for (const char* command : {"grid sd35-ocr -o drawn", "figure differences -o drawn"}) {
    place().expect_script(std::string("FONTCONFIG_FILE=$PWD/no-fonts.conf $H ") + command + " > out 2> err",
                          1, "this machine has no fonts");
  }
}

/// The most memory that a query took, with its answer thrown away.
struct Taken {
  int status;
  double megabytes;
};
Taken query(ShellPlace& place, const std::string& sql, const std::string& format) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    if (::chdir(place.folder().c_str()) != 0) ::_exit(99);
    ::execl(HARNESS_BINARY_DIR "/harness", "harness", "query", sql.c_str(), "--format", format.c_str(),
            nullptr);
    ::_exit(99);
  }
  int raw = 0;
  rusage usage{};
  ::wait4(pid, &raw, 0, &usage);
  return {WIFSIGNALED(raw) ? 1000 + WTERMSIG(raw) : WEXITSTATUS(raw),
          static_cast<double>(usage.ru_maxrss) / 1024};
}

std::string rows_of(int count, const std::string& columns) {
  return "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT " + std::to_string(count) +
         ") SELECT " + columns + " FROM c";
}

struct Blowup {
  const char* name;
  std::string sql;
  std::vector<const char*> formats;
};

class LargeAnswers : public Answers, public ::testing::WithParamInterface<Blowup> {};

TEST_P(LargeAnswers, StayWithinTheBudgetOfMemory) {
  for (const char* format : GetParam().formats) {
    const auto taken = query(place(), GetParam().sql, format);
    EXPECT_TRUE(taken.status == 0 || taken.status == 1) << format << ": " << taken.status;
    EXPECT_LT(taken.megabytes, 400) << format;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, LargeAnswers,
    ::testing::Values(Blowup{"OneLongCell",
                             rows_of(2000, "iif(x = 1, printf('%.*c', 15000000, 'a'), 'b'), x"),
                             {"table", "md"}},
                      Blowup{"ManyRowsAndOneLongCell",
                             rows_of(900000, "iif(x = 1, printf('%.*c', 100000, 'a'), 'b'), x"),
                             {"table"}},
                      Blowup{"ControlCharacters",
                             rows_of(7, "replace(hex(zeroblob(7900000)), '0', char(1))"),
                             {"table", "json", "latex"}},
                      Blowup{"Blobs", rows_of(7, "zeroblob(15900000)"), {"json", "latex"}},
                      Blowup{"LongNames",
                             rows_of(3000, "1 AS \"" + std::string(100000, 'h') + "\""),
                             {"table", "json", "md"}},
                      Blowup{"MoreThanTheBudget", rows_of(40, "zeroblob(15900000)"), {"csv"}}),
    [](const auto& blowup) { return std::string(blowup.param.name); });

// --- Control characters ---

TEST_F(Answers, AndErrorsCommandNoTerminal) {
  const std::vector<Words> commands = {{"table", "\x1b]0;x\a"},
                                       {"query", "SELECT \"\x1b[31m\""},
                                       {"query", "SELECT nonsense AS \"\u009b31m\u202e\""},
                                       {"query", "SELECT '\x1b[2J\u009b31m\u202e\xff' AS \"\x1b[1m\""},
                                       {"query", "SELECT '\x1b[2J\u009b31m\u202e' AS a", "--format", "md"},
                                       {"query", "SELECT '\x1b[2J\u009b31m\u202e' AS a", "--json"},
                                       {"query", "SELECT '\x1b[2J\u009b31m\u202e' AS a", "--format", "latex"},
                                       {"\x1b[31mnonsense"},
                                       {"list", "\u202e\xff\x1b[2J"},
                                       {"list", "\u202e\x1b[2J\u009b", "--json"},
                                       {"reproduce", "--table", "sd35-ocr", "--methods", "\x1b[2J\u2066"},
                                       {"runs", "show", "\x1b[2J"}};
  for (const auto& command : commands) {
    const auto outcome = place().run(command);
    const auto text = outcome.out + outcome.err;
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << command.back();
    for (const char* raw : {"\a", "\u009b", "\u202e", "\u2066", "\xff"})
      EXPECT_THAT(text, Not(HasSubstr(raw))) << command.back();
  }
  EXPECT_THAT(place().run(commands[0]).err, HasSubstr("\\u001b]0;x\\u0007"));
  const auto rows = parse_json(place().run(commands[5]).out, "stdout");
  EXPECT_EQ(rows.at(0).at("a"), "\x1b[2J\u009b31m\u202e") << "the data are exact";
}

}  // namespace
}  // namespace harness::test
