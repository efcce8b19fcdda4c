#include <algorithm>

#include "core/event_log.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using Doctor = SmokeTest;

Json finding(const Json& document, const std::string& name) {
  for (const auto& item : document.at("findings")) {
    if (item.at("name") == name) return item;
  }
  ADD_FAILURE() << "no line " << name;
  return Json::object();
}

TEST_F(Doctor, WithAllThatTheEmbeddedDefaultNeedsIsStatus0) {
  const auto outcome = ok({"doctor"});
  EXPECT_EQ(outcome.out.find("MISSING"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(runs)) << "it only looks";
  const auto document = place.json({"doctor", "--json"});
  EXPECT_EQ(document.at("healthy"), true);
  for (const char* name :
       {"processor", "memory", "harness", "LibTorch", "CUDA device", "CUDA toolkit", "weights of glyph",
        "Tesseract", "generated prompts", "public prompts", "font DejaVu Sans", "gnuplot", "pdflatex",
        "Python", "folder", "disk", "file system", "database", "locks"}) {
    const auto item = finding(document, name);
    EXPECT_EQ(item.at("found").get<bool>(), item.at("hint") == "")
        << name << ": what is missing says what to do";
  }
}

TEST_F(Doctor, WhatTheEmbeddedDefaultNeedsAndIsNotThereIsStatus1WithWhatToDo) {
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  place.environment["HARNESS_SCORER"] = "/bin/false";
  fs::remove_all(place.share() / "backbones");
  const auto document = fails(1, {"doctor", "--json"});
  const auto json = parse_json(document.out, "stdout");
  EXPECT_EQ(json.at("healthy"), false);
  for (const char* name : {"LibTorch", "Tesseract"}) {
    EXPECT_FALSE(finding(json, name).at("found").get<bool>()) << name;
    EXPECT_THAT(finding(json, name).at("hint").get<std::string>(), HasSubstr("scripts/setup")) << name;
  }
  EXPECT_THAT(place.run({"doctor"}).out, HasSubstr("MISSING  LibTorch"));
}

TEST_F(Doctor, TellsOfTheWorkspaceItsDbAndWhoWorksThere) {
  ok(kSmoke);
  auto document = place.json({"doctor", "--json"});
  EXPECT_THAT(finding(document, "database").at("detail").get<std::string>(), HasSubstr("4 runs"));
  EXPECT_EQ(finding(document, "locks").at("detail"), "none held");
  place.environment["HARNESS_FAKE_DELAY_US"] = "50000";
  const auto pid = place.start(smoke({"--seeds", "7"}));
  const auto lock = runs / ".lock";
  ASSERT_TRUE(
      wait_until([&] { return event_log_is_held(lock) && read_file(lock).find(std::to_string(pid)) == 0; }));
  document = place.json({"doctor", "--json"});
  EXPECT_THAT(finding(document, "locks").at("detail").get<std::string>(),
              HasSubstr("pid " + std::to_string(pid)));
  ::kill(pid, SIGTERM);
  place.wait(pid);
}

TEST_F(Doctor, LooksIntoAPromptFolderThatIsNamed) {
  place.write_text("set/ocr/test.txt", "a sign \"A\"\nb \"B\"");
  const auto document = place.json({"doctor", "--prompts", "set", "--json"});
  EXPECT_THAT(finding(document, "public prompts").at("detail").get<std::string>(), HasSubstr("2 prompts"));
  fails(2, {"doctor", "--prompts", "nowhere"});
}

}  // namespace
}  // namespace harness::test
