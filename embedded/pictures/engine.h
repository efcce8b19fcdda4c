#pragma once

#include <boost/random/mersenne_twister.hpp>

namespace harness {

// Boost's engine and distributions, unlike the standard library's, are the same everywhere.
using DataEngine = boost::random::mt19937_64;
int uniform_int(DataEngine& engine, int low, int high);
double uniform(DataEngine& engine, double low = 0, double high = 1);

}  // namespace harness
