#pragma once

#include <cstdint>
#include <optional>

#include "results/statistics/bootstrap.h"

namespace harness {

/// Wilson's score interval (1927, JASA 22) of a rate seen in n trials; the rate need not be a multiple of
/// 1 / n.
Interval wilson_interval(double rate, double n, double confidence);

struct WinRate {
  double rate;  ///< (wins + ties / 2) / pairs
  Interval ci;  ///< Wilson
};

/// Share of pairs won, ties counted half: 0.5 is even. The interval takes the number of clusters as its
/// number of trials: with several pairs a cluster (seeds of a prompt) it is on the wide side. Nothing without
/// a pair.
std::optional<WinRate> win_rate(std::int64_t wins, std::int64_t ties, std::int64_t losses,
                                std::int64_t clusters, double confidence);

}  // namespace harness
