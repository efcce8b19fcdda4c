// The tests of harness/ know the build by tests/data/fake_share/registry.json.
#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace harness
