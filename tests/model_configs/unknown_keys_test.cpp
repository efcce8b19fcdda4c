// Keys that nobody reads: a warning where they can change no result, an error where they can
// (models/configs/config_fields.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_configs/kinds.h"

namespace harness {
namespace {

constexpr const char* kKinds[] = {"transformer", "vae",  "scheduler", "glyph text",
                                  "clip text",   "clip", "t5",        "images"};

struct Outcome {
  std::string error, told;
};

/// The recorded file of a kind with more keys. Each reading is of a file of its own, as files are warned of
/// once.
Outcome read_with(const char* kind, const char* more, std::string where = "") {
  static int count = 0;
  if (where.empty()) where = "file" + std::to_string(count++);
  auto document = kind_of(kind).recorded();
  document.update(Json::parse(more));
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.error = message_of([&] { kind_of(kind).read(document, where); });
  outcome.told = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(UnknownKeys, WithoutAWordOfTheComputationAreAWarningThatNamesFileAndKeys) {
  for (const char* kind : kKinds) {
    const auto [error, told] = read_with(kind, R"({"a_remark": "x", "country_of_origin": "\u001b"})", kind);
    EXPECT_EQ(error, "");
    EXPECT_EQ(told, "warning: " + std::string(kind) +
                        R"(: ignores unknown keys "a_remark", "country_of_origin")" + "\n");
    EXPECT_EQ(read_with(kind, R"({"a_remark": "x"})", kind).told, "") << "once a file";
  }
}

TEST(UnknownKeys, ThatSpeakOfTheComputationAreRefused) {
  for (const char* kind : kKinds) {
    for (const char* key : {"attention_variant", "rope_scaling", "qk_layernorm", "double_z", "scale_query",
                            "use_swiglu", "activation_dtype_max", "sigma_schedule"}) {
      const auto [error, told] =
          read_with(kind, fmt::format(R"({{"{}": {{"a": 1}}}})", key).c_str(), "c.json");
      EXPECT_THAT(error, testing::StartsWith(fmt::format("c.json: unknown key \"{}\"; ", key))) << kind;
      EXPECT_EQ(told, "");
    }
    EXPECT_THAT(read_with(kind, R"({"quantization_config": {"load_in_4bit": true}})").error,
                testing::HasSubstr("quantised weights are not implemented"));
  }
  EXPECT_THAT(read_with("glyph text", R"({"layers": 1})").error,
              testing::HasSubstr("unknown key \"layers\""));
  EXPECT_THAT(read_with("clip", R"({"use_attention_mask": true})").error, testing::HasSubstr("unknown key"));
}

TEST(UnknownKeys, NearAKnownOneAreMisspelt) {
  EXPECT_THAT(
      read_with("transformer", R"({"dual_atention_layers": []})").error,
      testing::HasSubstr("unknown key \"dual_atention_layers\"; did you mean \"dual_attention_layers\"?"));
  EXPECT_THAT(read_with("transformer", R"({"qk_nrom": "rms_norm"})").error,
              testing::HasSubstr("did you mean \"qk_norm\"?"));
  EXPECT_THAT(read_with("images", R"({"do_resise": false})").error,
              testing::HasSubstr("did you mean \"do_resize\"?"));
}

TEST(UnknownKeys, ThatSwitchNothingOnAreAWarningAndNullIsNotSet) {
  for (const char* value : {"false", "[]", "{}"}) {
    const auto [error, told] = read_with("t5", fmt::format(R"({{"rope_scaling": {}}})", value).c_str());
    EXPECT_EQ(error, "");
    EXPECT_THAT(told, testing::HasSubstr("ignores unknown keys \"rope_scaling\""));
  }
  const auto [error, told] = read_with("t5", R"({"rope_scaling": null, "quantization_config": null})");
  EXPECT_EQ(error + told, "");
}

TEST(UnknownKeys, OfBookkeepingAreNotWorthAWord) {
  for (const char* kind : kKinds) {
    const auto [error, told] = read_with(kind, R"({"_commit_hash": "x", "_attn_implementation": "sdpa",
        "transformers_version": "6.1", "dtype": "float16", "image_token_id": 7})");
    EXPECT_EQ(error + told, "") << kind;
  }
}

TEST(UnknownKeys, OfAHostileFileGiveOneShortLine) {
  Json many;
  for (int i = 0; i < 1000; ++i) many["x\n" + std::string(300, 'x') + std::to_string(i)] = 1;
  const auto [error, told] = read_with("t5", many.dump().c_str());
  EXPECT_EQ(error, "");
  EXPECT_LT(told.size(), 3000U);
  EXPECT_EQ(std::ranges::count(told, '\n'), 1);
}

}  // namespace
}  // namespace harness
