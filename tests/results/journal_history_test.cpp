#include "results/store/journal_history.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace harness {
namespace {

Json experiment(std::int64_t number, const std::string& signature, const std::string& run = "r1") {
  ReproductionRecord record{.table_id = "t", .backbone = "glyph", .scale = "smoke", .signature = signature};
  record.runs = {{run, "dual"}};
  return journal_record(record, number);
}

/// From here on the number means the experiment of this digest.
Json moved_number(std::int64_t number, const std::string& digest) {
  return {
      {"type", "number"}, {"key", std::to_string(number)}, {"data", {{"id", number}, {"digest", digest}}}};
}

Json comparisons(std::int64_t number) {
  return journal_record(number, std::vector<ComparisonRow>());
}

/// Type and number of what counts: "experiment 1, comparisons 1".
std::string what_counts(const History& history) {
  std::vector<std::string> texts;
  for (const auto& entry : history.entries)
    texts.push_back(fmt::format("{} {}", entry.record.at("type").get<std::string>(),
                                entry.record.at("data").at("id").get<int>()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

TEST(JournalHistory, ExperimentThatWasCutOffGivesItsNumberToTheNext) {
  const auto history = history_of({experiment(1, "a"), experiment(1, "b"), comparisons(1)});
  EXPECT_EQ(what_counts(history), "experiment 1, comparisons 1");
  EXPECT_EQ(history.entries[0].record.at("data").at("signature"), "b");
  EXPECT_EQ(history.experiments.size(), 1U);
}

TEST(JournalHistory, ExperimentThatWasRecordedAgainKeepsItsPlaceBeforeWhatNamesIt) {
  const auto history =
      history_of({experiment(1, "a"), comparisons(1), experiment(1, "a"), experiment(2, "b")});
  EXPECT_EQ(what_counts(history), "experiment 1, comparisons 1, experiment 1, experiment 2");
  EXPECT_EQ(history.experiments.size(), 2U);
  EXPECT_TRUE(history.entries[0].is_named_later);
  EXPECT_FALSE(history.entries[3].is_named_later);
}

TEST(JournalHistory, ANumberMeansTheLastExperimentThatHadItBefore) {
  const auto history = history_of({experiment(1, "a"), comparisons(1), experiment(1, "b"), comparisons(1)});
  ASSERT_EQ(history.entries.size(), 4U);
  EXPECT_EQ(history.entries[1].experiment, history.entries[0].experiment);
  EXPECT_EQ(history.entries[3].experiment, history.entries[2].experiment);
  EXPECT_NE(history.entries[0].experiment, history.entries[2].experiment);
}

TEST(JournalHistory, ALaterNumberIsTheOneThatAnExperimentHas) {
  auto records = std::vector<Json>{experiment(1, "a"), comparisons(1), experiment(1, "b"), comparisons(1)};
  const auto before = history_of(records);
  records.push_back(moved_number(1, *before.entries[0].experiment));
  records.push_back(moved_number(2, *before.entries[2].experiment));
  records.push_back(comparisons(2));
  const auto history = history_of(records);
  EXPECT_EQ(history.entries[0].number, 1);
  EXPECT_EQ(history.entries[2].number, 2);
  EXPECT_EQ(history.entries[4].experiment, history.entries[2].experiment);
  EXPECT_EQ(history.last_number, 2);
}

TEST(JournalHistory, WhatRestsOnARemovedRunIsGoneAndItsNumberIsNotGivenAgain) {
  const auto history =
      history_of({experiment(1, "a", "r1"), comparisons(1), experiment(2, "b", "r2"), journal_forget("r2")});
  EXPECT_EQ(history.entries.size(), 2U);
  ASSERT_EQ(history.forgotten.size(), 1U);
  EXPECT_EQ(history.forgotten.front(), std::pair(std::size_t{3}, std::string("r2")));
  EXPECT_EQ(history.experiments.size(), 1U);
  EXPECT_EQ(history.last_number, 2);
}

TEST(JournalHistory, RecordsOfAnExperimentThatTheJournalLacksAreNamed) {
  const auto history = history_of({comparisons(3)});
  EXPECT_TRUE(history.entries.empty());
  ASSERT_EQ(history.orphans.size(), 1U);
  EXPECT_EQ(history.orphans[0], "comparisons of experiment 3: the journal does not hold it");
}

}  // namespace
}  // namespace harness
