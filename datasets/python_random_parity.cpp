#include "datasets/python_random_parity.h"

#include <fmt/format.h>

#include <numeric>

#include "datasets/python_random.h"

namespace harness {
namespace {

using Integers = std::vector<std::int64_t>;

struct Draw {
  std::string seed;
  std::int64_t n, k;
};

std::vector<Draw> read_draws(const Json& draws, const std::string& where) {
  if (!draws.is_array()) throw Error("params.draws is not a list", where);
  std::vector<Draw> result;
  for (const Json& draw : draws) {
    const bool fits = draw.is_array() && draw.size() == 3 && draw[0].is_string() &&
                      draw[1].is_number_integer() && draw[2].is_number_integer();
    if (!fits) throw Error(fmt::format("params.draws[{}] is not [seed, n, k]", result.size()), where);
    result.push_back({draw[0].get<std::string>(), draw[1].get<std::int64_t>(), draw[2].get<std::int64_t>()});
  }
  return result;
}

Integers shuffled(const Draw& draw) {
  constexpr std::int64_t kLongest = 600;
  Integers values(static_cast<std::size_t>(std::min(draw.n, kLongest)));
  std::iota(values.begin(), values.end(), 0);
  PythonRandom(draw.seed).shuffle(values);
  return values;
}

/// The three lists of numbers that come one after another from one generator.
void add_numbers(const Draw& draw, std::size_t count, const std::string& prefix, ParityOutputs& outputs) {
  PythonRandom random(draw.seed);
  std::vector<double> floats(count);
  Integers bits(count), ranged(count);
  for (auto& value : floats) value = random.random();
  for (auto& value : bits) value = static_cast<std::int64_t>(random.getrandbits(32));
  for (auto& value : ranged) value = random.randrange(draw.n);
  outputs[prefix + "random"] = std::move(floats);
  outputs[prefix + "getrandbits32"] = std::move(bits);
  outputs[prefix + "randrange"] = std::move(ranged);
}

}  // namespace

ParityOutputs python_random_outputs(const Json& case_json, const std::string& where) {
  Fields fields(case_json, where);
  Fields params = fields.object("params");
  const auto count = params.optional<std::int64_t>("numbers", 12);
  if (count < 0) throw Error("params.numbers is negative", where);
  ParityOutputs outputs;
  std::size_t index = 0;
  for (const Draw& draw : read_draws(params.get("draws"), where)) {
    const std::string prefix = std::to_string(index++) + ".";
    outputs[prefix + "sample"] = PythonRandom(draw.seed).sample(draw.n, draw.k);
    outputs[prefix + "shuffle"] = shuffled(draw);
    add_numbers(draw, static_cast<std::size_t>(count), prefix, outputs);
  }
  return outputs;
}

}  // namespace harness
