#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "datasets/prompt_set.h"

namespace harness {
namespace {

const PromptSet& evaluation() {
  static const PromptSet set = generated_prompt_set();
  return set;
}

const PromptSet& training() {
  static const PromptSet set = generated_training_set();
  return set;
}

const PromptSet& dark() {
  static const PromptSet set = own_prompt_set("ocr-dark-generated");
  return set;
}

const PromptSet& dark_training() {
  static const PromptSet set = own_prompt_set("ocr-dark-train-generated");
  return set;
}

std::size_t distinct_texts(const PromptSet& set) {
  std::set<std::string> all;
  for (const Prompt& prompt : set.prompts) all.insert(prompt.text);
  return all.size();
}

std::size_t distinct_targets(const PromptSet& set) {
  std::set<std::string> all;
  for (const Prompt& prompt : set.prompts) all.insert(prompt.target.words());
  return all.size();
}

template <class Number>
Number median(std::vector<Number> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The first "a" before a vowel letter or "an" before another, outside the target, with the word after it; or
/// nothing. Words in "o" and "u" are left out: "a one-wheeled robot" is right.
std::string wrong_article(const Prompt& prompt) {
  std::string around = prompt.text;
  const auto target = prompt.target.words();
  around.replace(around.find(target), target.size(), "");
  const auto words = split(around, ' ');
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool vowel = std::string_view("aei").find(words[i + 1][0]) != std::string_view::npos;
    const bool open = std::string_view("ou").find(words[i + 1][0]) != std::string_view::npos;
    const bool a = words[i] == "a" || words[i] == "A", an = words[i] == "an" || words[i] == "An";
    if (!open && ((a && vowel) || (an && !vowel))) return words[i] + " " + words[i + 1];
  }
  return "";
}

TEST(GeneratedPrompts, AreAsManyAsThePublicOnesAndAllDifferent) {
  EXPECT_EQ(evaluation().prompts.size(), 1018u);
  EXPECT_EQ(distinct_texts(evaluation()), 1018u);
  EXPECT_GE(distinct_targets(evaluation()), 900u);
  EXPECT_EQ(training().prompts.size(), 2048u);
  EXPECT_EQ(distinct_texts(training()), 2048u);
}

TEST(GeneratedPrompts, AreKnownByTheirBytes) {
  // The names come from checksums in prompt_set.cpp: a changed byte fails here.
  EXPECT_EQ(evaluation().name, "ocr-generated") << evaluation().sha256;
  EXPECT_EQ(training().name, "ocr-train-generated") << training().sha256;
  EXPECT_TRUE(evaluation().known && training().known);
  EXPECT_EQ(dark().name, "ocr-dark-generated") << dark().sha256;
  EXPECT_EQ(dark_training().name, "ocr-dark-train-generated") << dark_training().sha256;
}

TEST(GeneratedPrompts, OnDarkGroundsQuoteTheTargetsOfTheUsualOnes) {
  for (const auto& [usual, changed] : {std::pair(&evaluation(), &dark()), {&training(), &dark_training()}}) {
    ASSERT_EQ(changed->prompts.size(), usual->prompts.size());
    for (std::size_t i = 0; i < usual->prompts.size(); ++i)
      EXPECT_EQ(changed->prompts[i].target.words(), usual->prompts[i].target.words());
    EXPECT_EQ(distinct_texts(*changed), changed->prompts.size());
  }
}

TEST(GeneratedPrompts, OfTheTrainingHoldNoEvaluationTextOrTarget) {
  EXPECT_TRUE(overlap(evaluation(), training()).empty());
  EXPECT_TRUE(overlap(dark(), dark_training()).empty());
  EXPECT_TRUE(overlap(dark(), training()).empty());
}

TEST(GeneratedPrompts, QuoteOneTargetOfPrintableAscii) {
  for (const PromptSet* set : {&evaluation(), &training(), &dark(), &dark_training()}) {
    for (const Prompt& prompt : set->prompts) {
      EXPECT_TRUE(std::ranges::all_of(prompt.target.words(), [](char c) { return c >= ' ' && c <= '~'; }));
      EXPECT_EQ(std::count(prompt.text.begin(), prompt.text.end(), '"'), 2) << prompt.text;
    }
  }
}

TEST(GeneratedPrompts, MatchThePublicSetInLengths) {
  // The public set: targets of 2 to 29 characters with median 17; prompts of 140 to 296 with median 210.
  std::vector<std::size_t> target_lengths, text_lengths;
  for (const Prompt& prompt : evaluation().prompts) {
    target_lengths.push_back(prompt.target.words().size());
    text_lengths.push_back(prompt.text.size());
  }
  EXPECT_EQ(median(target_lengths), 17u);
  EXPECT_NEAR(static_cast<double>(median(text_lengths)), 210, 10);
  EXPECT_GE(*std::min_element(target_lengths.begin(), target_lengths.end()), 2u);
  EXPECT_LE(*std::max_element(target_lengths.begin(), target_lengths.end()), 29u);
}

TEST(GeneratedPrompts, AreCleanSentences) {
  for (const PromptSet* set : {&evaluation(), &training(), &dark(), &dark_training()}) {
    for (const Prompt& prompt : set->prompts) {
      EXPECT_EQ(wrong_article(prompt), "") << prompt.text;
      for (const char* fault : {"  ", " ,", " .", "..", "<", ">", "{", "}", "|"}) {
        EXPECT_EQ(prompt.text.find(fault), std::string::npos) << prompt.text;
      }
      EXPECT_EQ(prompt.text.back(), '.') << prompt.text;
    }
  }
}

}  // namespace
}  // namespace harness
