#include "core/settings/settings.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "core/settings/setting_rows.h"
#include "tests/error_of.h"

namespace harness {
namespace {

struct Choice {
  std::int64_t count = 0;
  double rate = 0;
  bool is_fast = false;
  std::vector<std::string> layers = {};
};

const SettingRows<Choice>& rows() {
  using Row = SettingRow<Choice>;
  static const SettingRows<Choice> rows = {
      Row("count", 3, {1, 9}, &Choice::count, "how many", {"E1"}),
      Row("rate", 1, {}, &Choice::rate, "how much", {.silent_default = true, .used_by = "both"}),
      Row("speed", "slow", Choices<bool>{{"slow", false}, {"fast", true}}, &Choice::is_fast, "how fast"),
      Row("layers", "a,b", {}, &Choice::layers, "which"),
      Row("limit", nullptr, {0, {}}, nullptr, "follows from the task"),
  };
  return rows;
}

Choice read(const Json& given) {
  Settings settings(settings_of(rows()), given, "here");
  Choice choice;
  read_rows(rows(), settings, choice);
  settings.finish();
  return choice;
}

std::string refusal(const Json& given) {
  return error_of([&] { read(given); }).what();
}

TEST(SettingRow, GivesItsFieldTheDefaultOrTheValue) {
  const auto usual = read(Json::object());
  EXPECT_EQ(usual.count, 3);
  EXPECT_EQ(usual.rate, 1);
  EXPECT_FALSE(usual.is_fast);
  EXPECT_EQ(usual.layers, (std::vector<std::string>{"a", "b"}));
  const auto given = read({{"count", 9}, {"rate", 2}, {"speed", "fast"}, {"layers", "c"}});
  EXPECT_EQ(given.count, 9);
  EXPECT_EQ(given.rate, 2);
  EXPECT_TRUE(given.is_fast);
  EXPECT_EQ(given.layers, std::vector<std::string>{"c"});
}

TEST(SettingRow, HasTheTypeOfItsField) {
  EXPECT_EQ(rows()[1].setting.default_value.dump(), "1.0");
  EXPECT_EQ(rows()[0].setting.default_value.dump(), "3");
}

TEST(SettingValues, WrongOnesAreRefusedWithWhatIsWantedAndWhatToDo) {
  const std::vector<std::pair<Json, std::string>> rows = {
      {{{"count", 10}},
       "setting count must be a whole number between 1 and 9, not 10; its default, unless the table sets it, is 3"},
      {{{"count", 1.5}},
       "setting count must be a whole number between 1 and 9, not 1.5; its default, unless the table sets it, is 3"},
      {{{"rate", "much"}},
       R"(setting rate must be a number, not "much"; its default, unless the table sets it, is 1.0)"},
      {{{"speed", "fats"}}, R"(setting speed must be one of slow, fast, not "fats"; did you mean "fast"?)"},
      {{{"layers", true}},
       R"(setting layers must be a text, not true; its default, unless the table sets it, is "a,b")"},
      {{{"limit", -1}}, "setting limit must be a number of at least 0, not -1; follows from the task"},
      {{{"limit", 1}},
       "setting limit has no effect with the current settings; leave it out, or give it to the "
       "methods alone that use it (--set METHOD.limit=VALUE); it is: follows from the task"},
      {{{"raet", 1}}, R"(unknown setting "raet"; did you mean "rate"?)"},
      {Json::array(), "the settings are not an object of names and values"}};
  for (const auto& [given, message] : rows) EXPECT_EQ(refusal(given), "here: " + message);
}

TEST(SettingValues, OneThatWasNotDeclaredIsAProgrammingMistakeInEveryBuild) {
  Settings settings(settings_of(rows()), Json::object(), "here");
  EXPECT_THROW(settings.number("colour"), std::logic_error);
}

TEST(SettingValues, OneAndOnePointZeroAreOneRun) {
  Settings settings(settings_of(rows()), {{"rate", 2}}, "here");
  settings.number("rate");
  EXPECT_EQ(settings.effective().dump(), R"({"rate":2.0})");
}

TEST(SettingDescription, HoldsAllThatIsDeclared) {
  auto settings = settings_of(rows());
  settings[0].backbones = {"glyph"};
  const auto described = describe(settings);
  std::vector<Setting> read;
  for (const auto& setting : described) read.push_back(read_setting(setting, "registry.json"));
  EXPECT_EQ(describe(read), described);
  EXPECT_EQ(read[0].equation, "E1");
  EXPECT_TRUE(read[0].belongs_to("glyph") && !read[0].belongs_to("tiny-sd3"));
  EXPECT_EQ(read[1].used_by, "both");
}

TEST(SettingDescription, OfAnotherShapeIsRefused) {
  auto described = describe(settings_of(rows()))[0];
  described["unit"] = "s";
  EXPECT_THROW(read_setting(described, "registry.json"), Error);
  described.erase("unit");
  described.erase("used_by");
  EXPECT_THROW(read_setting(described, "registry.json"), Error);
}

}  // namespace
}  // namespace harness
