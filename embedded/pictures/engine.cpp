#include "embedded/pictures/engine.h"

#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

namespace harness {

int uniform_int(DataEngine& engine, int low, int high) {
  return boost::random::uniform_int_distribution<int>(low, high)(engine);
}

double uniform(DataEngine& engine, double low, double high) {
  return boost::random::uniform_real_distribution<double>(low, high)(engine);
}

}  // namespace harness
