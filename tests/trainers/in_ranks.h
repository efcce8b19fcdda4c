#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/processes/port.h"
#include "core/streams.h"
#include "trainers/ranks/ranks.h"

namespace harness {

/// Calls work(ranks) in `size` threads, and gives each one's message if it threw. A process of ours holds one
/// rank; c10d's flight recorder, which a process has once, is not made for several.
inline std::vector<std::string> in_ranks(int size, const std::function<void(const Ranks&)>& work) {
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  prepare_streams();  // as every program of ours: a rank that ends first must not end the others by a signal
  std::vector<std::string> problems(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  const auto port = free_port();
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const Ranks ranks({.rank = rank, .size = size, .local_rank = rank, .host = "127.0.0.1", .port = port},
                          "job", std::chrono::seconds(20));
        try {
          work(ranks);
        } catch (const std::exception& error) {
          ranks.report_failure(error.what());
          throw;
        }
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return problems;
}

inline void expect_none(const std::vector<std::string>& problems) {
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace harness
