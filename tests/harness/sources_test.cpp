#include <gmock/gmock.h>

#include "tests/harness/workplace.h"

// A result belongs to the code that made it: what a plug-in's source was is in the ids, and what the rest was
// is recorded and told.

namespace harness::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Sources : public ::testing::Test {
 protected:
  /// Says in the registry what the source of a method or an evaluator is, as a build with it would.
  void set_source(const std::string& kind, const std::string& name, const std::string& identity) {
    Json registry = read_json(place.share() / "registry.json");
    for (auto& entry : registry.at(kind)) {
      if (entry.at("name") == name)
        entry["source"] = {{"sha256", std::string(64, 'a')}, {"identity", identity}};
    }
    write_file_atomically(place.share() / "registry.json", registry.dump());
  }

  int count(const std::string& what) { return place.rows("SELECT count(*) AS n FROM " + what).at(0).at("n"); }

  Workplace place;
};

TEST_F(Sources, AMethodWithAnotherSourceIsANewRunAndTheOthersAreNot) {
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  set_source("methods", "ratio-norm", "");
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  EXPECT_EQ(count("runs WHERE method = 'ratio-norm'"), 1)
      << "the source that jobs without a checksum were recorded with";
  set_source("methods", "ratio-norm", std::string(64, '1'));
  const auto changed = place.run(smoke_table());
  ASSERT_EQ(changed.status, 0) << changed.err;
  EXPECT_EQ(count("runs WHERE method = 'ratio-norm'"), 2);
  EXPECT_EQ(count("runs WHERE method = 'lambda-controlled'"), 1);
  EXPECT_EQ(count("runs WHERE json_extract(config, '$.method_source') = '" + std::string(64, '1') + "'"), 1);
  EXPECT_EQ(place.run({"check", "sd35-ocr"}).status, 0);
}

TEST_F(Sources, AnEvaluatorWithAnotherSourceIsEvaluatedAgain) {
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  const auto before = count("evaluations");
  const auto runs = count("runs");
  set_source("evaluators", "jpeg", std::string(64, '2'));  // a guardrail, no reward
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  EXPECT_EQ(count("evaluations"), 2 * before);
  EXPECT_EQ(count("runs"), runs) << "nothing is trained again";
}

TEST_F(Sources, VerifyRefusesAMethodThatIsNoLongerTheRecordedOne) {
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  set_source("methods", "ratio-norm", std::string(64, '1'));
  const auto outcome = place.run({"verify", "--training", "--images", "2"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("recorded with other sources of method ratio-norm"));
  EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr("to be expected")));
}

TEST_F(Sources, ATableOfJobsOfOtherCodeSaysWhichAndHowMany) {
  place.environment["HARNESS_FAKE_SOURCES"] = std::string(64, 'b');
  ASSERT_EQ(place.run(smoke_table({"--methods", "ratio-norm"})).status, 0);
  const auto same = place.run({"check", "sd35-ocr"});
  EXPECT_THAT(same.out, HasSubstr("PASS  builds"));
  place.environment["HARNESS_FAKE_SOURCES"] = std::string(64, 'c');
  const auto mixed = place.run(smoke_table());
  ASSERT_EQ(mixed.status, 0) << mixed.err;
  EXPECT_THAT(mixed.out, HasSubstr("by sources bbbbbbbbbbbb"));
  EXPECT_THAT(mixed.err, HasSubstr("note: jobs recorded by other code: "));
  const auto check = place.run({"check", "sd35-ocr"});
  EXPECT_EQ(check.status, 0) << check.out;
  EXPECT_THAT(check.out, HasSubstr("WARN  builds"));
  EXPECT_THAT(check.out, HasSubstr("by sources bbbbbbbbbbbb; the other"));
  write_file_atomically(place.folder() / "strict.json",
                        R"({"version": 1, "rules": [{"check": "builds", "same": true}]})");
  EXPECT_EQ(place.run({"check", "sd35-ocr", "--rules", "strict.json"}).status, 1);
}

TEST_F(Sources, JobsThatRecordedNoSourcesAreToldFromTheBuildsThatDid) {
  ASSERT_EQ(place.run(smoke_table()).status, 0);
  EXPECT_THAT(place.run({"check", "sd35-ocr"}).out, HasSubstr("PASS  builds"));
  Json registry = read_json(place.share() / "registry.json");
  registry["sources_sha256"] = std::string(64, 'd');
  write_file_atomically(place.share() / "registry.json", registry.dump());
  const auto again = place.run(smoke_table());
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("its sources are not recorded"));
  EXPECT_THAT(again.err, HasSubstr("this build has sources dddddddddddd"));
}

class NewMethod : public ::testing::Test {
 protected:
  /// A source tree as far as the command looks at it.
  void make_tree(const fs::path& tree) const {
    fs::create_directories(tree / "trainers/methods");
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "trainers/methods/method.template",
                  tree / "trainers/methods/method.template");
  }

  Workplace place;
};

TEST_F(NewMethod, WritesAFileThatNamesTheMethodAndNeverOverwrites) {
  make_tree(place.folder());
  const auto made = place.run({"new", "method", "my-method2"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("trainers/methods/my_method2.cpp"));
  EXPECT_THAT(made.out, HasSubstr("harness_registry"));
  const auto file = place.folder() / "trainers/methods/my_method2.cpp";
  const auto text = read_file(file);
  EXPECT_THAT(text, HasSubstr("class MyMethod2 : public Method"));
  EXPECT_THAT(text, HasSubstr(".name = \"my-method2\""));
  EXPECT_THAT(text, Not(HasSubstr("@")));
  const auto again = place.run({"new", "method", "my-method2"});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
  EXPECT_EQ(read_file(file), text);
}

TEST_F(NewMethod, TheStepsThatFollowAreInTheTreeThatWasNamed) {
  make_tree(place.folder() / "checkout");
  const auto made = place.run({"new", "method", "mine", "--source", "checkout"});
  ASSERT_EQ(made.status, 0) << made.err;
  for (const char* path : {"checkout/trainers/methods/mine.cpp\n", "checkout/trainers/README.md",
                           "checkout/scripts/build release", "checkout/build/release/tests/trainers_tests",
                           "checkout/build/release/harness reproduce"})
    EXPECT_THAT(made.out, HasSubstr(path));
}

TEST_F(NewMethod, RefusesNamesThatCannotBeTypedOrAreTaken) {
  for (const std::string name : {"", "My", "a b", "../x", "a--b", "-a", "a-", "2x", "\u00e9", "x\n"}) {
    const auto outcome = place.run({"new", "method", "--source", HARNESS_SOURCE_DIR, "--", name});
    EXPECT_EQ(outcome.status, 2) << name;
  }
  EXPECT_THAT(place.run({"new", "method", "ratio-norm"}).err,
              HasSubstr("there is already a method \"ratio-norm\""));
  const auto nowhere = place.run({"new", "method", "mine", "--source", place.folder().string()});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("is not a source tree of harness"));
}

}  // namespace
}  // namespace harness::test
