#include "tests/harness/workplace.h"

// A result belongs to the code that made it: what a plug-in's source was is in the ids, and what the rest was
// is recorded and told.

namespace harness::test {
namespace {

class Sources : public SmokeTest {
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
};

TEST_F(Sources, AMethodWithAnotherSourceIsANewRunAndTheOthersAreNot) {
  ok(kSmoke);
  set_source("methods", "ratio-norm", "");
  ok(kSmoke);
  EXPECT_EQ(place.count("runs WHERE method = 'ratio-norm'"), 1)
      << "the source that jobs without a checksum were recorded with";
  set_source("methods", "ratio-norm", std::string(64, '1'));
  ok(kSmoke);
  EXPECT_EQ(place.count("runs WHERE method = 'ratio-norm'"), 2);
  EXPECT_EQ(place.count("runs WHERE method = 'lambda-controlled'"), 1);
  EXPECT_EQ(
      place.count("runs WHERE json_extract(config, '$.method_source') = '" + std::string(64, '1') + "'"), 1);
  ok({"check", "sd35-ocr"});
}

TEST_F(Sources, AnEvaluatorWithAnotherSourceIsEvaluatedAgain) {
  ok(kSmoke);
  const auto evaluations = place.count("evaluations"), trained = place.count("runs");
  set_source("evaluators", "jpeg", std::string(64, '2'));  // a guardrail, no reward
  ok(kSmoke);
  EXPECT_EQ(place.count("evaluations"), 2 * evaluations);
  EXPECT_EQ(place.count("runs"), trained) << "nothing is trained again";
}

TEST_F(Sources, VerifyRefusesAMethodThatIsNoLongerTheRecordedOne) {
  ok(kSmoke);
  set_source("methods", "ratio-norm", std::string(64, '1'));
  const auto outcome = fails(1, {"verify", "--training", "--images", "2"},
                             {"recorded with other sources of method ratio-norm"});
  EXPECT_THAT(outcome.err + outcome.out, Not(HasSubstr("expect different bits")));
}

TEST_F(Sources, ATableOfJobsOfOtherCodeSaysWhichAndHowMany) {
  place.environment["HARNESS_FAKE_SOURCES"] = std::string(64, 'b');
  ok(smoke({"--methods", "ratio-norm"}));
  EXPECT_THAT(place.run({"check", "sd35-ocr"}).out, HasSubstr("PASS  builds"));
  place.environment["HARNESS_FAKE_SOURCES"] = std::string(64, 'c');
  ok(kSmoke, {"by sources bbbbbbbbbbbb"}, {"note: jobs recorded by other code: "});
  ok({"check", "sd35-ocr"}, {"WARN  builds", "by sources bbbbbbbbbbbb; the other"});
  place.write_text("strict.json", R"({"version": 1, "rules": [{"check": "builds", "same": true}]})");
  fails(1, {"check", "sd35-ocr", "--rules", "strict.json"});
}

TEST_F(Sources, JobsThatRecordedNoSourcesAreToldFromTheBuildsThatDid) {
  ok(kSmoke);
  EXPECT_THAT(place.run({"check", "sd35-ocr"}).out, HasSubstr("PASS  builds"));
  Json registry = read_json(place.share() / "registry.json");
  registry["sources_sha256"] = std::string(64, 'd');
  write_file_atomically(place.share() / "registry.json", registry.dump());
  ok(kSmoke, {}, {"its sources are not recorded", "this build has sources dddddddddddd"});
}

class NewMethod : public SmokeTest {
 protected:
  /// A source tree as far as the command looks at it.
  void make_tree(const fs::path& tree) const {
    fs::create_directories(tree / "trainers/methods");
    fs::copy_file(fs::path(HARNESS_SOURCE_DIR) / "trainers/methods/method.template",
                  tree / "trainers/methods/method.template");
  }
};

TEST_F(NewMethod, WritesAFileThatNamesTheMethodAndNeverOverwrites) {
  make_tree(place.folder());
  ok({"new", "method", "my-method2"}, {"trainers/methods/my_method2.cpp", "harness_registry"});
  const auto file = place.folder() / "trainers/methods/my_method2.cpp";
  const auto text = read_file(file);
  EXPECT_THAT(text, HasSubstr("class MyMethod2 : public Method"));
  EXPECT_THAT(text, HasSubstr(".name = \"my-method2\""));
  EXPECT_THAT(text, Not(HasSubstr("@")));
  fails(2, {"new", "method", "my-method2"}, {"already exists"});
  EXPECT_EQ(read_file(file), text);
}

TEST_F(NewMethod, TheStepsThatFollowAreInTheTreeThatWasNamed) {
  make_tree(place.folder() / "checkout");
  ok({"new", "method", "mine", "--source", "checkout"},
     {"checkout/trainers/methods/mine.cpp\n", "checkout/trainers/methods/README.md",
      "checkout/tests/trainers/traces/mine.txt", "checkout/scripts/build release",
      "checkout/build/release/tests/trainers_tests", "checkout/build/release/harness reproduce"});
}

TEST_F(NewMethod, RefusesNamesThatCannotBeTypedOrAreTaken) {
  for (const std::string name : {"", "My", "a b", "../x", "a--b", "-a", "a-", "2x", "\u00e9", "x\n"}) {
    fails(2, {"new", "method", "--source", HARNESS_SOURCE_DIR, "--", name});
  }
  EXPECT_THAT(place.run({"new", "method", "ratio-norm"}).err,
              HasSubstr("there is already a method \"ratio-norm\""));
  fails(2, {"new", "method", "mine", "--source", place.folder().string()},
        {"is not a source tree of harness"});
}

}  // namespace
}  // namespace harness::test
