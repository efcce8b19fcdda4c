#include "datasets/python_random.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "core/error.h"
#include "datasets/python_random_parity.h"
#include "tests/error_of.h"

namespace harness {
namespace {

const std::filesystem::path kCase =
    std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/data/parity/python_random_sample";

TEST(PythonRandom, EqualsTheRecordedCaseOfCPython) {
  const auto outputs = python_random_outputs(read_json(kCase / "case.json"), "case.json");
  const auto report = compare_outputs(kCase, outputs);
  EXPECT_TRUE(report.passed() && !report.tolerance.empty()) << report.message;
}

// python3 -c 'import random; r = random.Random(SEED); print([r.getrandbits(64) for _ in range(3)],
// r.random())'
TEST(PythonRandom, ReadsSeedsOfAnySizeAndIgnoresTheSign) {
  const std::string googol = "1" + std::string(100, '0');
  PythonRandom positive(googol), negative("-" + googol);
  const std::uint64_t first = positive.getrandbits(64);
  EXPECT_EQ(first, 14423644418233776674u);
  EXPECT_EQ(negative.getrandbits(64), first);
  EXPECT_EQ(PythonRandom("+7").getrandbits(32), PythonRandom("-7").getrandbits(32));
  EXPECT_EQ(PythonRandom("000").getrandbits(32), PythonRandom("0").getrandbits(32));
}

// python3 -c 'import random; r = random.Random(99); print([r.getrandbits(k) for k in (0, 1, 31, 32, 33, 63,
// 64)])'
TEST(PythonRandom, FillsWordsFromTheLowEnd) {
  PythonRandom random("99");
  const std::vector<std::uint64_t> expected{
      0u, 0u, 817660058u, 859317502u, 2574571355u, 2291374498038054784u, 14017264690403233280u};
  std::vector<std::uint64_t> drawn;
  for (const int k : {0, 1, 31, 32, 33, 63, 64}) drawn.push_back(random.getrandbits(k));
  EXPECT_EQ(drawn, expected);
}

TEST(PythonRandom, SamplesAWholePopulationOnce) {
  auto drawn = PythonRandom("3").sample(500, 500);
  std::sort(drawn.begin(), drawn.end());
  std::vector<std::int64_t> all(500);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(drawn, all);
}

// python3 -c 'import random; print(random.Random(5).sample(range(2**40), 4))'
TEST(PythonRandom, SamplesHugePopulationsInLittleMemory) {
  const std::vector<std::int64_t> expected{561021090885, 789164966041, 549512532852, 114456474197};
  EXPECT_EQ(PythonRandom("5").sample(std::int64_t{1} << 40, 4), expected);
}

TEST(PythonRandom, RefusesWhatPythonRefuses) {
  PythonRandom random("1");
  EXPECT_THROW(random.sample(3, 4), Error);
  EXPECT_THROW(random.sample(3, -1), Error);
  EXPECT_THROW(random.randrange(0), Error);
  EXPECT_THROW(random.getrandbits(-1), Error);
  EXPECT_THROW(random.getrandbits(65), Error);
  for (const char* seed : {"", "-", "12a", "1.5", " 1", "0x10"})
    EXPECT_THROW(PythonRandom{seed}, Error) << seed;
}

TEST(PythonRandomParity, NamesAMalformedDraw) {
  const Json broken = {{"params", {{"draws", {{"1", 10, 2}, {1, 10, 2}}}}}};
  EXPECT_STREQ(error_of([&] { python_random_outputs(broken, "my-case.json"); }).what(),
               "my-case.json: params.draws[1] is not [seed, n, k]");
}

}  // namespace
}  // namespace harness
