#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "evaluators/evaluator.h"
#include "worker/commands.h"

namespace harness {
namespace {

/// The entry of that name, or null.
Json named(const Json& list, const Json& name) {
  const auto found = std::ranges::find_if(list, [&](const Json& item) { return item.at("name") == name; });
  return found == list.end() ? Json() : *found;
}

void expect_among(const Json& settings, const Json& real, const std::string& where) {
  for (const auto& setting : settings)
    EXPECT_EQ(setting, named(real, setting.at("name"))) << where << ": " << setting.at("name");
}

// The tests of harness/ know the build by this file.
TEST(RegistryOfTheTests, DeclaresSettingsAsThisBuildDoes) {
  const auto real = describe_build(),
             tests = read_json(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  expect_among(tests.at("settings"), real.at("settings"), "settings");
  for (const auto& method : tests.at("methods")) {
    const auto same = named(real.at("methods"), method.at("name"));
    ASSERT_FALSE(same.is_null()) << method.at("name");
    expect_among(method.at("settings"), same.at("settings"), method.at("name"));
  }
}

TEST(Registry, NamesScorersWithFoldersAndTheirTasks) {
  const auto pickscore = named(describe_evaluators(), "pickscore");
  EXPECT_EQ(pickscore.at("metrics").at(0).at("name"), "pickscore");
  EXPECT_EQ(pickscore.at("folder").at("class"), "CLIPModel");
  EXPECT_EQ(pickscore.at("identity").at("profile"), "pickscore");
  EXPECT_EQ(named(describe_evaluators(), "clip_score").at("identity").at("profile"), "clip");
  EXPECT_EQ(named(describe_tasks(), "pickscore").at("evaluator"), "pickscore");
}

TEST(Registry, TellsDirectionUnitAndTitleOfEveryMetric) {
  std::map<std::string, Json> metrics;
  for (const auto& evaluator : describe_evaluators()) {
    for (const auto& metric : evaluator.at("metrics")) {
      const auto [known, is_new] = metrics.try_emplace(metric.at("name"), metric);
      EXPECT_EQ(known->second, metric) << "two evaluators of one metric mean the same by it";
      EXPECT_FALSE(metric.at("title").get<std::string>().empty());
    }
  }
  const std::map<std::string, std::string> better = {
      {"ocr_reward", "higher"}, {"cer", "lower"},    {"cer_paper", "lower"}, {"exact_match", "higher"},
      {"pickscore", "higher"},  {"jpeg_kb", "none"}, {"dark_share", "none"}, {"clip_score", "higher"}};
  for (const auto& [name, direction] : better) EXPECT_EQ(metrics.at(name).at("better"), direction) << name;
  EXPECT_EQ(metrics.at("exact_match").at("unit"), "percent");
}

// A source that is in no list of core/source_sums/same_numbers.json gives its jobs new ids: everything
// recorded with it would be trained or scored again. Whoever changes one of these files shows that the
// numbers are the same and enters its sum there (core/source_sums/README.md), or changes this test together
// with the numbers.
TEST(Sources, OfTheShippedMethodsAndEvaluatorsKeepTheIdsOfEarlierRuns) {
  // Methods that there were before identities held sums; those since have their sum from the start, and keep
  // it where another source was shown to give the same numbers.
  const std::set<std::string> earlier = {"dual",          "flow-grpo",     "lambda-controlled",
                                         "lambda-norm-t", "lambda-z-clip", "ratio-norm"};
  const std::map<std::string, std::string> kept = {
      {"online-dpo", "1d800282e81b58d3336665cd2281aa27812722baa3ee3f6117adc7594af966ca"},
      {"raft", "9e2ebc738591238926e6ecf4d4db48881505dbdc8f25063e8dc7326f0ded044b"},
      {"rwr", "dfbd650a55a530ac1cd327a2b37524358fa2a5360dccc5849837d8004c776043"}};
  const auto build = describe_build();
  for (const char* kind : {"methods", "evaluators"}) {
    for (const auto& plug_in : build.at(kind)) {
      const auto& source = plug_in.at("source");
      const std::string name = plug_in.at("name");
      const bool is_new = kind == std::string("methods") && !earlier.contains(name);
      const auto first = kept.contains(name) ? kept.at(name) : source.at("sha256").get<std::string>();
      EXPECT_EQ(source.at("identity"), is_new ? first : "") << name << source.dump(1);
    }
  }
  EXPECT_EQ(build.at("sources_sha256").get<std::string>().size(), 64U);
}

}  // namespace
}  // namespace harness
