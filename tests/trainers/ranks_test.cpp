// Several ranks as threads of this process: they meet as processes do, at a port.
#include "trainers/ranks/ranks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/recorded_cases.h"
#include "tests/trainers/in_ranks.h"
#include "tests/trainers/step_fixture.h"
#include "trainers/optimisation/fold_sum.h"

namespace harness {
namespace {

TEST(Ranks, ExchangeTextsOfAnyLengthAndTensorsOfAnyShape) {
  expect_none(in_ranks(3, [](const Ranks& ranks) {
    const auto rank = static_cast<std::size_t>(ranks.rank());
    const auto texts = ranks.gather(std::string(rank * 1000, 'x') + '\0' + std::to_string(rank));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(texts.at(i), std::string(i * 1000, 'x') + '\0' + std::to_string(i));
    EXPECT_EQ(ranks.gather(std::string()), std::vector<std::string>(3));
    EXPECT_EQ(ranks.of_root(std::to_string(rank)), "0");
    EXPECT_TRUE(ranks.of_root(ranks.is_root()));
    std::vector<std::vector<double>> parts(3);
    parts[rank] = std::vector<double>(rank + 1, 0.1 * static_cast<double>(rank));
    if (rank == 2) parts[rank][0] = std::nan("");
    ranks.gather_parts(parts);
    EXPECT_EQ(parts[1], (std::vector<double>{0.1, 0.1}));
    EXPECT_TRUE(std::isnan(parts[2][0]) && parts[2][2] == 0.2);
    const auto all = ranks.gather(torch::full({2, 2}, ranks.rank(), torch::kInt64).t());
    EXPECT_EQ(all.sizes(), (std::vector<std::int64_t>{3, 2, 2}));
    EXPECT_EQ(all.sum().item<std::int64_t>(), 12);
    EXPECT_EQ(all[2][1][1].item<std::int64_t>(), 2);
  }));
}

TEST(Ranks, OneAloneExchangesNothing) {
  const Ranks alone;
  EXPECT_EQ(alone.gather(std::string("a")), std::vector<std::string>{"a"});
  EXPECT_TRUE(torch::equal(alone.gather(torch::ones({2})), torch::ones({1, 2})));
  EXPECT_EQ(alone.part_of(8).count(), 8U);
}

TEST(Ranks, OneThatFailsTellsTheOthersWhy) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto problems = in_ranks(3, [culprit](const Ranks& ranks) {
      if (ranks.rank() == culprit) throw Error("the loss is not finite", "training", "", Status::kFailed);
      ranks.gather(std::string("x"));
    });
    for (int rank = 0; rank < 3; ++rank) {
      const auto& problem = problems[static_cast<std::size_t>(rank)];
      EXPECT_PROBLEM(problem, "the loss is not finite");
      if (rank == culprit) continue;
      EXPECT_PROBLEM(problem, fmt::format("rank {}: training", culprit));
    }
  }
}

TEST(Ranks, OneThatNeverComesIsWaitedForAndNamed) {
  const RankPlace root{.rank = 0, .size = 2, .local_rank = 0, .host = "127.0.0.1", .port = free_port()};
  const auto first = message_of([&] { Ranks(root, "job", std::chrono::seconds(1)); });
  EXPECT_PROBLEM(first, "not all 2 processes of the run joined within 1 s");
  auto guest = root;
  guest.rank = 1;
  const auto second = message_of([&] { Ranks(guest, "job", std::chrono::seconds(1)); });
  EXPECT_PROBLEM(second, "rank 1 of 2 found no rendezvous within 1 s");
}

TEST(FoldSum, HasTheSameBitsWhateverTheNumberOfRanks) {
  constexpr std::size_t kTasks = 16, kFolds = 8, kParameters = 3;
  const std::vector<std::vector<std::int64_t>> shapes = {{257}, {3, 5}, {64, 9}};
  std::vector<torch::Tensor> parameters;
  for (const auto& shape : shapes) parameters.push_back(torch::zeros(shape));
  const auto gradients_of = [&](std::size_t task) {
    FoldSum::Gradients gradients;
    for (std::size_t p = 0; p < kParameters; ++p) {
      const bool is_missing = p == 1 || (p == 2 && task < 6);  // one nowhere, one only in later folds
      gradients.push_back(is_missing ? torch::Tensor()
                                     : normal(static_cast<std::uint32_t>(10 * task + p), shapes[p]) *
                                           std::pow(10.0, static_cast<double>(task % 5)));
    }
    return gradients;
  };
  const auto weight_of = [](std::size_t task) { return task % 7 == 3 ? 0.3 : 1.0; };
  const auto sum_of = [&](const Ranks& ranks) {
    FoldSum sum(kParameters, kTasks, kFolds, ranks);
    const auto own = ranks.part_of(kTasks);
    for (auto task = own.last; task-- > own.first;) sum.add(task, gradients_of(task), weight_of(task));
    sum.gather(parameters);
    return std::pair(copy_of(sum.total()), copy_of(sum.undamped()));
  };
  const Ranks alone;
  const auto expected = sum_of(alone);
  for (const int size : {2, 4, 8}) {
    expect_none(in_ranks(size, [&](const Ranks& ranks) {
      const auto got = sum_of(ranks);
      for (const std::size_t p : {0, 2}) {
        EXPECT_TRUE(torch::equal(got.first[p], expected.first[p])) << size << " ranks, parameter " << p;
        EXPECT_TRUE(torch::equal(got.second[p], expected.second[p])) << size << " ranks, parameter " << p;
      }
      EXPECT_FALSE(got.first[1].defined());
    }));
  }
}

}  // namespace
}  // namespace harness
