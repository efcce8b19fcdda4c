#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using Doctor = SmokeTest;

Json finding(const Json& document, const std::string& name) {
  return entry(document.at("findings"), {{"name", name}});
}

TEST_F(Doctor, WithAllThatTheEmbeddedDefaultNeedsIsStatus0) {
  const auto outcome = ok({"doctor"});
  EXPECT_EQ(outcome.out.find("MISSING"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(runs)) << "it only looks";
  const auto document = place.json({"doctor", "--json"});
  EXPECT_EQ(document.at("healthy"), true);
  for (const char* name :
       {"processor", "memory", "harness", "LibTorch", "CUDA device", "CUDA toolkit", "weights of glyph",
        "Tesseract", "generated prompts", "public prompts", "font DejaVu Sans", "font Liberation Sans",
        "pdflatex", "Python", "folder", "disk", "file system", "database", "locks"}) {
    const auto item = finding(document, name);
    EXPECT_EQ(item.at("found").get<bool>(), item.at("hint") == "")
        << name << ": what is missing says what to do";
  }
}

TEST_F(Doctor, WhatTheEmbeddedDefaultNeedsAndIsNotThereIsStatus1WithWhatToDo) {
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  place.environment["HARNESS_SCORER"] = "/bin/false";
  fs::remove_all(place.share() / "backbones");
  const auto json = place.json({"doctor", "--json"}, 1);
  EXPECT_EQ(json.at("healthy"), false);
  for (const char* name : {"LibTorch", "Tesseract"}) {
    EXPECT_FALSE(finding(json, name).at("found").get<bool>()) << name;
    EXPECT_THAT(finding(json, name).at("hint").get<std::string>(), HasSubstr("scripts/setup")) << name;
  }
  EXPECT_THAT(place.run({"doctor"}).out, HasSubstr("MISSING  LibTorch"));
}

TEST_F(Doctor, SaysWhatTheBuildHasForGpusWhereThereIsNone) {
  const auto document = place.json({"doctor", "--json"});
  const auto library = finding(document, "LibTorch's CUDA library");
  EXPECT_EQ(library.at("detail"), "libcufile.so.0: no such file");
  EXPECT_EQ(library.at("hint"), "only for --device cuda:N: run scripts/setup");
  EXPECT_TRUE(finding(document, "kernels of the cuda preset").at("found").get<bool>());
}

TEST_F(Doctor, TellsOfTheWorkspaceItsDbAndWhoWorksThere) {
  make();
  auto document = place.json({"doctor", "--json"});
  EXPECT_THAT(finding(document, "database").at("detail").get<std::string>(), HasSubstr("4 runs"));
  EXPECT_EQ(finding(document, "locks").at("detail"), "none held");
  const auto busy = place.start_busy(smoke({"--seeds", "7"}), "evaluate");
  document = place.json({"doctor", "--json"});
  EXPECT_THAT(finding(document, "locks").at("detail").get<std::string>(),
              HasSubstr("pid " + std::to_string(busy.program)));
  place.end(busy, SIGTERM);
}

TEST_F(Doctor, LooksIntoAPromptFolderThatIsNamed) {
  place.write_text("set/ocr/test.txt", "a sign \"A\"\nb \"B\"");
  const auto document = place.json({"doctor", "--prompts", "set", "--json"});
  EXPECT_THAT(finding(document, "public prompts").at("detail").get<std::string>(), HasSubstr("2 prompts"));
  fails(2, {"doctor", "--prompts", "nowhere"});
}

}  // namespace
}  // namespace harness::test
