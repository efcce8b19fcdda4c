#include "harness/table_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/files.h"

namespace harness {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kShipped = HARNESS_SOURCE_DIR "/harness/tables/sd35-ocr.json";

/// The shipped table with one change, read back; gives the message of the refusal.
std::string refusal(const std::function<void(Json&)>& change) {
  Json document = read_json(kShipped);
  change(document);
  const auto file =
      std::filesystem::path(::testing::TempDir()) / fmt::format("changed-table-{}.json", ::getpid());
  write_file_atomically(file, document.dump());
  try {
    read_table_spec(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::kUsage);
    return error.what();
  }
  return "accepted";
}

// Printed in the paper: 256 validation prompts, checkpoints 40 to 80, RatioNorm as the baseline.
TEST(TableSpec, TheShippedTableIsThePapers) {
  const auto spec = read_table_spec(kShipped);
  EXPECT_EQ(spec.split_seed, 20260501u);
  EXPECT_EQ(spec.split_take, 256);
  EXPECT_EQ(spec.prompts_first - spec.split_take, 762);
  EXPECT_EQ(spec.checkpoints, (std::vector<int>{40, 60, 80}));
  EXPECT_EQ(spec.baseline, "ratio-norm");
  EXPECT_EQ(spec.scale("smoke").validation_limit, 24);
  EXPECT_EQ(spec.scale("paper").prompt_set, "ocr-flow-grpo");
}

TEST(TableSpec, UnknownKeysAndNamesAreRefusedWhereTheyStand) {
  EXPECT_THAT(refusal([](Json& t) { t["methds"] = 1; }),
              HasSubstr(R"(unknown key "methds"; did you mean "methods"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["split"]["sede"] = 1; }), HasSubstr("split"));
  EXPECT_THAT(refusal([](Json& t) { t["columns"][1]["name"] = "cer_papr"; }), HasSubstr("columns[1]"));
  EXPECT_THAT(refusal([](Json& t) { t["columns"][0]["unit"] = "percnt"; }),
              HasSubstr(R"(did you mean "percent"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["baseline"] = "ratio-nrom"; }),
              HasSubstr(R"(did you mean "ratio-norm"?)"));
  EXPECT_THAT(refusal([](Json& t) { t["scales"]["smoke"]["limits"] = 3; }), HasSubstr("smoke"));
}

TEST(TableSpec, ImpossibleValuesAreRefused) {
  EXPECT_THAT(refusal([](Json& t) { t["checkpoints"] = {40, 40}; }), HasSubstr("must increase"));
  EXPECT_THAT(refusal([](Json& t) { t["checkpoints"] = Json::array(); }), HasSubstr("at least one"));
  EXPECT_THAT(refusal([](Json& t) {
                t["methods"] = {"dual", "dual", "ratio-norm"};
              }),
              HasSubstr("must differ"));
  EXPECT_THAT(refusal([](Json& t) { t["split"]["take"] = 1018; }), HasSubstr("both splits"));
  EXPECT_THAT(refusal([](Json& t) { t["selection"]["metric"] = "pickscore"; }),
              HasSubstr("must be a required one"));
}

TEST(TableSpec, ATableMayExtendAnotherAndGiveOnlyWhatItChanges) {
  const auto file = std::filesystem::path(::testing::TempDir()) / fmt::format("extends-{}.json", ::getpid());
  write_file_atomically(file, R"({"extends": "sd35-ocr", "id": "mine", "seeds": [1, 2], "title": null,
                                  "scales": {"smoke": {"limit": {"test": 10}}}})");
  const auto spec = read_table_spec(file), base = read_table_spec(kShipped);
  EXPECT_EQ(spec.id, "mine");
  EXPECT_EQ(spec.title, "mine") << "null takes a value away";
  EXPECT_EQ(spec.seeds, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(spec.methods, base.methods);
  EXPECT_EQ(spec.scale("smoke").test_limit, 10);
  EXPECT_EQ(spec.scale("smoke").validation_limit, base.scale("smoke").validation_limit);
  EXPECT_FALSE(spec.document.contains("extends"));
  write_file_atomically(file, R"({"extends": "sd35-orc", "id": "mine"})");
  EXPECT_THAT([&] { read_table_spec(file); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, HasSubstr("\"sd35-ocr"))));
}

TEST(TableSpec, IdsSeedsAndCheckpointsThatWouldGoWrongLaterAreRefused) {
  EXPECT_THAT(refusal([](Json& t) { t["id"] = "../elsewhere"; }), HasSubstr("it names a folder"));
  EXPECT_THAT(refusal([](Json& t) { t["seeds"] = {1.5}; }),
              HasSubstr("seeds: must be a list of whole numbers"));
  EXPECT_THAT(refusal([](Json& t) { t["seeds"] = {-1}; }), HasSubstr("seeds are 0 to"));
  EXPECT_THAT(refusal([](Json& t) {
                t["checkpoints"] = {40, 60.5};
              }),
              HasSubstr("checkpoints: must be a list of whole numbers"));
  EXPECT_THAT(refusal([](Json& t) {
                t = {{"extends", "sd35-ocr"}, {"seeds", {1}}};
              }),
              HasSubstr("an id of its own"));
  EXPECT_THAT(refusal([](Json& t) {
                t = {{"extends", "tiny-sd3-zclip"}, {"id", "mine"}, {"methods", {"flow-grpo"}}};
              }),
              HasSubstr("names the row \"lambda-z-clip\", which is not among this table's methods"));
}

TEST(TableSpec, AnUnknownMethodIsNamedWithTheNearestOfTheRegistry) {
  const auto registry = read_registry(HARNESS_SOURCE_DIR "/tests/data/fake_share/registry.json");
  auto spec = read_table_spec(kShipped);
  spec.methods[1] = "duel";
  EXPECT_THAT([&] { check_against_registry(spec, registry); },
              ::testing::Throws<Error>(::testing::Property(&Error::hint, R"(did you mean "dual"?)")));
}

}  // namespace
}  // namespace harness
