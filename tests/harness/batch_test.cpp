#include <fmt/format.h>

#include "core/host.h"
#include "core/text.h"
#include "tests/harness/workplace.h"

// A batch system that is one more file (tests/data/toy_batch) in a program of its own.

namespace harness::test {
namespace {

constexpr const char* kSubmit = R"sh(
[ "$1" != --version ] || exec echo toy 1
after=
for script; do
  case $script in --name=*) name=${script#*=} ;; --after=*) after=${script#*=} ;; esac
done
[ -n "$name" ] || name=$(sed -n 's/^#TOY --name=//p' "$script")
id=$(($(cat last) + 1))
echo $id >last
echo "$id $name" >queue/$id
# Once one of those before it has gone; in a group of its own, before this one's ends.
setsid sh -c ': >"begun$2"; while [ -n "$3" ]; do
  for job in $3; do [ -e queue/$job ] || break 2; done
  sleep 0.01
done
[ -e "queue/$2" ] && bash "$1" >>"log$2" 2>&1
rm -f "queue/$2"' - "$script" $id "$after" >/dev/null 2>&1 </dev/null &
until [ -e begun$id ]; do sleep 0.01; done
echo $id
)sh";

class ASecondBatchSystem : public SmokeTest {
 protected:
  ASecondBatchSystem() {
    place.write_text("toy/last", "0\n");
    fs::create_directories(toy_ / "queue");
    add_command("toy-submit", kSubmit);
    add_command("toy-list", "cat queue/* 2>/dev/null; exit 0");
    add_command("toy-cancel", "rm -f queue/$1");
    place.environment["PATH"] = (toy_ / "bin").string() + ":" + environment("PATH");
    place.environment["HARNESS_SQUEUE_S"] = "1";
  }

  /// Of the program that has it.
  Outcome run(const Words& arguments) const {
    auto [status, out, err] =
        run_program(with({HARNESS_BINARY_DIR "/tests/harness-with-toy-batch"}, arguments),
                    {.folder = place.folder(), .environment = place.environment, .err = kPipe});
    return {number_of(status), std::move(out), std::move(err)};
  }
  void expect(int status, const Words& arguments, const Words& said) const {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.status, status);
    for (const auto& part : said) EXPECT_THAT(outcome.out + outcome.err, HasSubstr(part));
  }

  static Words on_toy(const Words& more = {}) { return smoke(with({"--executor", "toy"}, more)); }
  bool is_idle() const { return fs::is_empty(toy_ / "queue"); }

  const fs::path toy_ = place.folder() / "toy";

 private:
  void add_command(const char* name, const char* script) const {
    place.write_command(toy_ / "bin" / name, toy_, script);
  }
};

TEST_F(ASecondBatchSystem, GivesTheRowsOfThisMachineWithACommandThatStaysAndWithOneThatDoesNot) {
  Workplace local;
  local.ok(kSmoke);
  expect(0, on_toy(), {"with Toy"});
  EXPECT_EQ(place.metric_rows(), local.metric_rows());
  fs::remove_all(runs);
  expect(0, on_toy({"--detach"}), {"with Toy (", "continues the table when one of them has ended"});
  ASSERT_TRUE(wait_until([&] { return is_idle(); })) << read_file(runs / "continue.log");
  EXPECT_EQ(place.metric_rows(), local.metric_rows());
  expect(0, {"runs", "cancel"}, {"has no job of this workspace"});
}

TEST_F(ASecondBatchSystem, IsNamedWhereACommandSpeaksOfIt) {
  expect(0, {"reproduce", "--help"}, {"--toy OPTIONS", "options of toy-submit for each job: '--fast'"});
  expect(0, on_toy({"--toy", "--cheap", "--dry-run"}),
         {"Toy, the first job of kind train:", "#TOY --cheap", "Toy would take them as it is now."});
  expect(2, smoke({"--toy", "--cheap"}), {"--toy: is for batch jobs of Toy", "add --executor toy"});
  EXPECT_THAT(run({"doctor", "--executor", "toy"}).out, HasSubstr("job 1 on toy: found program"));
}

}  // namespace
}  // namespace harness::test
