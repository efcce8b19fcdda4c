// simulate-verdicts: how often the rules of results/STATISTICS.md call equal methods different, and how often
// their intervals hold the true difference. Prints Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>

#include "bench/page_simulation.h"
#include "bench/verdict_simulation.h"
#include "core/command_line/command_line.h"
#include "results/statistics/crossed.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

constexpr int kPrompts = kSimulatedPrompts;
constexpr double kLevel = kSimulatedLevel;
constexpr int kRuns[] = {2, 3, 5, 8};

struct Options {
  int tables = 20000;    ///< simulated tables of a cell of the crossed rule
  int old_tables = 125;  ///< of the rule over prompts alone, which takes bootstraps
  int heavy = 4000;      ///< comparisons of a cell with flips
  int panels = 4000;     ///< guardrail panels of a cell
  int pages = 4000;      ///< pages of a plan of a cell
  int threads = 2;
};

constexpr std::pair<double, double> kUsualNoise[] = {{.0034, 0},    {.0034, .001}, {.0034, .003},
                                                     {.0034, .006}, {.0034, .012}, {.0034, .027},
                                                     {.0008, .001}, {.0008, .003}};

std::vector<Noise> noises(std::span<const std::pair<double, double>> errors_and_sds,
                          std::initializer_list<double> stable) {
  std::vector<Noise> grid;
  for (const auto& [error, sd] : errors_and_sds) {
    for (const double share : stable) grid.push_back({error, sd, share});
  }
  return grid;
}

std::string percent(std::int64_t count, std::int64_t of, int digits = 1) {
  return fmt::format("{:.{}f}", 100 * static_cast<double>(count) / static_cast<double>(of), digits);
}

struct OldRates {
  std::int64_t comparisons = 0, resolved = 0, with_runs = 0;
  std::int64_t tables = 0, tables_resolved = 0, tables_with_runs = 0;
};

using Arm = std::vector<std::vector<double>>;  // [runs][prompts]

Arm arm(const Noise& noise, int runs, Random& random) {
  std::vector<double> prompts;
  for (int p = 0; p < kPrompts; ++p) prompts.push_back(random.normal(noise.prompt_variance() / 2));
  Arm values;
  for (int s = 0; s < runs; ++s) {
    const double run = random.normal(noise.run_sd * noise.run_sd / 2);
    values.push_back(prompts);
    for (auto& value : values.back()) value += run + random.normal(noise.residual_variance() / 2);
  }
  return values;
}

PairedMetric pairs_of(const Arm& baseline, const Arm& method) {
  PairedMetric metric;
  for (std::size_t s = 0; s < baseline.size(); ++s) {
    for (std::size_t p = 0; p < kPrompts; ++p) {
      metric.pairs.push_back(
          {baseline[s][p], method[s][p], static_cast<std::int64_t>(p), static_cast<std::int64_t>(s)});
    }
  }
  return metric;
}

/// What was called resolved before: the percentile interval over prompts leaves out 0, and p after Holm, over
/// the metrics of one pair of methods, is below 0.05; `with_runs`: the interval with runs drawn too does as
/// well.
void add_old_tables(const Noise& noise, int runs, int tables, std::uint32_t seed, Random& random,
                    OldRates& rates) {
  std::vector<PairedMetric> metrics;  // [tables][methods][metrics]
  for (int table = 0; table < tables; ++table) {
    std::vector<Arm> baselines;
    for (std::size_t i = 0; i < kSimulatedMetrics.size(); ++i) baselines.push_back(arm(noise, runs, random));
    for (int method = 0; method < kSimulatedMethods; ++method) {
      for (const auto& baseline : baselines) metrics.push_back(pairs_of(baseline, arm(noise, runs, random)));
    }
  }
  const auto results = compare_paired(metrics, {.resamples = 1000, .seed = seed, .threads = 1});
  for (std::size_t table = 0; table < static_cast<std::size_t>(tables); ++table) {
    bool resolved = false, with_runs = false;
    for (std::size_t method = 0; method < kSimulatedMethods; ++method) {
      const auto family = std::span(results).subspan(
          (table * kSimulatedMethods + method) * kSimulatedMetrics.size(), kSimulatedMetrics.size());
      std::vector<std::optional<double>> p_values;
      for (const auto& result : family) p_values.push_back(result.p_value);
      const auto adjusted = holm(p_values);
      for (std::size_t i = 0; i < family.size(); ++i) {
        const bool is_resolved = family[i].ci->excludes_zero() && *adjusted[i] < kLevel;
        const bool is_with_runs = is_resolved && family[i].ci_seeds && family[i].ci_seeds->excludes_zero();
        ++rates.comparisons;
        rates.resolved += is_resolved ? 1 : 0;
        rates.with_runs += is_with_runs ? 1 : 0;
        resolved = resolved || is_resolved;
        with_runs = with_runs || is_with_runs;
      }
    }
    ++rates.tables;
    rates.tables_resolved += resolved ? 1 : 0;
    rates.tables_with_runs += with_runs ? 1 : 0;
  }
}

/// Standard error over 762 prompts .0034: half of the prompts do not differ, 0.8 % flip from 0 to 1 or back,
/// the others differ a little.
double flipped(Random& random) {
  const double u = random.uniform();
  if (u < 0.004) return 1;
  if (u < 0.008) return -1;
  return u < 0.5 ? random.normal(0.0016) : 0;
}

Drawn with_flips(const Noise& noise, int runs, Random& random) {
  std::vector<std::vector<double>> values(static_cast<std::size_t>(runs));
  for (int p = 0; p < kPrompts; ++p) {
    const bool stable = random.uniform() < noise.stable;
    const double shared = flipped(random);
    for (auto& run : values) run.push_back(stable ? shared : flipped(random));
  }
  Drawn result;
  for (auto& run : values) {
    const double shift = random.normal(noise.run_sd * noise.run_sd);
    double sum = 0;
    for (auto& value : run) sum += value += shift;
    result.per_run.push_back({static_cast<std::int64_t>(result.per_run.size()), sum / kPrompts});
  }
  const auto squares = crossed_squares(values);
  result.prompt_square = squares.prompts / (kPrompts - 1);
  result.residual_square = squares.residual / ((runs - 1.0) * (kPrompts - 1));
  return result;
}

const Truth kTruths[] = {
    {"nothing moved", 0, 0},
    {"reward +0.1, no guardrail moved", 0.1, 0},
    {"reward did not rise, every guardrail harmed twice its minimal effect", 0, -2 * kMinimalEffect},
    {"reward +0.1, every guardrail harmed by exactly its minimal effect", 0.1, -kMinimalEffect}};

/// Calls work(0) .. work(count - 1) on several threads.
void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      for (std::size_t k = next++; k < count; k = next++) work(k);
    });
  }
}

/// cells[noise][runs] by one function of a cell, on several threads.
template <class Cell>
std::vector<std::vector<Cell>> simulate(std::span<const Noise> grid, const Options& options,
                                        const std::function<Cell(const Noise&, int, Random&)>& cell) {
  constexpr std::size_t kColumns = std::size(kRuns);
  std::vector<std::vector<Cell>> cells(grid.size(), std::vector<Cell>(kColumns));
  in_parallel(grid.size() * kColumns, options.threads, [&](std::size_t k) {
    Random random(k);
    cells[k / kColumns][k % kColumns] = cell(grid[k / kColumns], kRuns[k % kColumns], random);
  });
  return cells;
}

/// A column of a report: "a / b / c" of a noise's cells from the number of runs `first` on.
template <class Cell>
struct Column {
  std::size_t first;
  std::function<std::string(const Cell&)> text;
};

/// A line for each noise.
template <class Cell>
void print_cells(std::span<const Noise> grid, const std::vector<std::vector<Cell>>& cells,
                 const std::vector<Column<Cell>>& columns) {
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const auto& noise = grid[i];
    fmt::print("| {:.4f} | {:.3f} | {:.0f} % |", noise.prompt_se, noise.run_sd, 100 * noise.stable);
    for (const auto& [first, text] : columns) {
      for (std::size_t k = first; k < cells[i].size(); ++k)
        fmt::print("{}{}", k > first ? " / " : " ", text(cells[i][k]));
      fmt::print(" |");
    }
    fmt::print("\n");
  }
}

void report_crossed(const Options& options) {
  const auto grid = noises(kUsualNoise, {0, 0.5, 1});
  const auto cells = simulate<Rates>(grid, options, [&](const Noise& noise, int runs, Random& random) {
    Rates rates;
    const Rule rule(runs);
    for (int i = 0; i < options.tables; ++i) add_table(noise, runs, rule, random, rates);
    return rates;
  });
  fmt::print(
      "Equal methods, {} tables a cell, 762 prompts.\n\n"
      "| prompt SE of one run | run sd | stable | coverage, % (2 / 3 / 5 / 8 runs) | half-width, 1e-3 (3 / 5 "
      "/ 8) "
      "| false claims, % of comparisons (3 / 5 / 8) | tables with a false claim, % (3 / 5 / 8) | and the "
      "checkpoints differ (3 / 5 / 8) |\n|---|---|---|---|---|---|---|---|\n",
      options.tables);
  const auto half_width = [](const Rates& r) {
    return fmt::format("{:.1f}", 1e3 * r.half_width / static_cast<double>(r.comparisons));
  };
  print_cells<Rates>(grid, cells,
                     {{0, [](const Rates& r) { return percent(r.covered, r.comparisons); }},
                      {1, half_width},
                      {1, [](const Rates& r) { return percent(r.claims, r.comparisons); }},
                      {1, [](const Rates& r) { return percent(r.tables_with_claim, r.tables); }},
                      {1, [](const Rates& r) { return percent(r.tables_with_firm_claim, r.tables); }}});
}

void report_flips(const Options& options) {
  const auto grid = noises(std::span(kUsualNoise).first(6), {0, 0.5, 1});
  const auto cells = simulate<int>(grid, options, [&](const Noise& noise, int runs, Random& random) {
    const Rule rule(runs);
    int covered = 0;
    for (int i = 0; i < options.heavy; ++i)
      covered += estimate(with_flips(noise, runs, random), rule).crossed.excludes_zero() ? 0 : 1;
    return covered;
  });
  fmt::print(
      "\nThe same where half of the prompts do not differ and 0.8 % flip by +-1, {} comparisons a cell.\n\n"
      "| prompt SE of one run | run sd | stable | coverage, % (2 / 3 / 5 / 8 runs) |\n|---|---|---|---|\n",
      options.heavy);
  print_cells<int>(grid, cells, {{0, [&](int covered) { return percent(covered, options.heavy); }}});
}

void report_old(const Options& options) {
  const auto grid = noises(kUsualNoise, {0.5});
  const auto cells = simulate<OldRates>(grid, options, [&](const Noise& noise, int runs, Random& random) {
    OldRates rates;
    constexpr int kBatch = 5;
    for (int done = 0; done < options.old_tables; done += kBatch)
      add_old_tables(noise, runs, std::min(kBatch, options.old_tables - done),
                     static_cast<std::uint32_t>(done), random, rates);
    return rates;
  });
  fmt::print(
      "\nFor comparison, intervals over prompts (percentile bootstrap, 1,000 resamples) with Holm for each "
      "pair "
      "of methods, {} tables a cell; \"runs drawn too\": the bootstrap that draws runs as well excludes "
      "0.\n\n"
      "| prompt SE of one run | run sd | stable | false, % of comparisons (2 / 3 / 5 / 8 runs) | runs drawn "
      "too | tables, % | runs drawn too |\n|---|---|---|---|---|---|---|\n",
      options.old_tables);
  print_cells<OldRates>(grid, cells,
                        {{0, [](const OldRates& r) { return percent(r.resolved, r.comparisons, 0); }},
                         {0, [](const OldRates& r) { return percent(r.with_runs, r.comparisons, 0); }},
                         {0, [](const OldRates& r) { return percent(r.tables_resolved, r.tables, 0); }},
                         {0, [](const OldRates& r) { return percent(r.tables_with_runs, r.tables, 0); }}});
}

void report_alarms(const Options& options) {
  fmt::print(
      "\nGuardrail alarms, {} guardrails, {} panels a cell, half of the prompt noise stable, %: intervals "
      "over "
      "prompts / crossed.\n\n| truth | run sd | 3 runs | 5 runs |\n|---|---|---|---|\n",
      kSimulatedGuardrails, options.panels);
  std::vector<std::string> lines(std::size(kTruths) * 3);
  in_parallel(lines.size(), options.threads, [&](std::size_t k) {
    const auto& truth = kTruths[k / 3];
    const Noise noise{.0034, std::vector<double>{0, .006, .012}[k % 3], 0.5};
    Random random(k);
    const auto share = [&](int runs, Claim claim) {
      return alarm_share(truth, noise, runs, claim, options.panels, random);
    };
    const double a = share(3, Claim::kCheckpoints), b = share(3, Claim::kMethods),
                 c = share(5, Claim::kCheckpoints), d = share(5, Claim::kMethods);
    lines[k] = fmt::format("| {} | {:.3f} | {:.1f} / {:.1f} | {:.1f} / {:.1f} |\n", truth.text, noise.run_sd,
                           a, b, c, d);
  });
  for (const auto& line : lines) fmt::print("{}", line);
}

const PageDesign kPages[] = {
    {.text = "nothing differs"},
    {.text = "methods equal, above the base model", .over_base = 0.14},
    {.text = "one method worse by .05", .worse = -0.05, .over_base = 0.14},
    {.text = "one worse by .05, the other better by .02", .effect = 0.02, .worse = -0.05, .over_base = 0.14},
    {.text = "one better by .02", .effect = 0.02, .over_base = 0.14},
    {.text = "one question", .methods = 1, .metrics = 1, .has_base = false},
    {.text = "one question, better by .02", .methods = 1, .metrics = 1, .has_base = false, .effect = 0.02},
    {.text = "34 methods, one metric", .methods = 34, .metrics = 1, .has_base = false},
    {.text = "2 methods, 9 metrics (with guardrails)", .metrics = 9, .over_base = 0.14}};

const std::vector<std::vector<std::int64_t>> kLooks = {{3}, {5}, {8}, {3, 5, 8}, {3, 4, 5, 6, 7, 8, 9, 10}};

std::string looks_text(const std::vector<std::int64_t>& looks) {
  return looks.size() == 8 ? "each of 3 to 10" : fmt::format("{}", fmt::join(looks, ", "));
}

/// Pages by what is true, looks and noise.
void report_pages(const Options& options) {
  constexpr int kFewPrompts = 100;  // the standard error is that of 762
  const Noise kNoises[] = {{.0034, .003, .5}, {.0034, .012, .5}, {.0034, .027, .5}};
  fmt::print(
      "\nPages of a plan: false claims on a page, % / the better method found, % / intervals beside a claim that hold the "
      "true difference, %. {} pages a cell, looks by rows.\n\n| truth | looks at runs |",
      options.pages);
  for (const auto& noise : kNoises) fmt::print(" run sd {:.3f} |", noise.run_sd);
  fmt::print("\n|---|---|---|---|---|\n");
  const std::size_t looks = kLooks.size(), noises = std::size(kNoises),
                    count = std::size(kPages) * looks * noises;
  std::vector<std::string> cells(count);
  in_parallel(count, options.threads, [&](std::size_t k) {
    auto design = kPages[k / (looks * noises)];
    design.looks = kLooks[k / noises % looks];
    Random random(k);
    PageRates rates;
    for (int i = 0; i < options.pages; ++i)
      add_page(design, kNoises[k % noises], Tail::kNormal, kFewPrompts, random, rates);
    cells[k] = fmt::format("{} / {} / {}", percent(rates.pages_with_false_claim, rates.pages),
                           design.effect > 0 ? percent(rates.found, rates.pages) : "\u2014",
                           rates.claims > 0 ? percent(rates.held, rates.claims) : "\u2014");
  });
  for (std::size_t k = 0; k < count; ++k) {
    if (k % noises == 0)
      fmt::print("| {} | {} |", kPages[k / (looks * noises)].text, looks_text(kLooks[k / noises % looks]));
    fmt::print(" {} |{}", cells[k], k % noises + 1 == noises ? "\n" : "");
  }
}

/// Where the rule's model does not hold.
void report_tails(const Options& options) {
  struct Case {
    const char* text;
    Tail tail;
    int prompts;
  };
  const Case kCases[] = {{"runs with the same exponential tail in all rows", Tail::kExponential, 100},
                         {"methods with an exponential bad tail, a steady baseline", Tail::kOneSided, 100},
                         {"skewed prompts, 16", Tail::kSkewedPrompts, 16},
                         {"skewed prompts, 48", Tail::kSkewedPrompts, 48},
                         {"skewed prompts, 256", Tail::kSkewedPrompts, 256}};
  fmt::print(
      "\nFalse claims on a page of equal methods where the rule's model does not hold, %, run sd .003 / .012, {} pages a "
      "cell.\n\n| noise | 3 runs | 5 runs | 8 runs |\n|---|---|---|---|\n",
      options.pages);
  std::vector<std::string> cells(std::size(kCases) * 3);
  in_parallel(cells.size(), options.threads, [&](std::size_t k) {
    const auto& of = kCases[k / 3];
    Random random(k);
    std::vector<std::string> texts;
    for (const double sd : {.003, .012}) {
      PageRates rates;
      const PageDesign design{
          .text = "", .looks = {std::vector<std::int64_t>{3, 5, 8}[k % 3]}, .over_base = 0.14};
      for (int i = 0; i < options.pages; ++i)
        add_page(design, {.0034, sd, .5}, of.tail, of.prompts, random, rates);
      texts.push_back(percent(rates.pages_with_false_claim, rates.pages));
    }
    cells[k] = fmt::format("{}", fmt::join(texts, " / "));
  });
  for (std::size_t k = 0; k < cells.size(); ++k) {
    if (k % 3 == 0) fmt::print("| {} |", kCases[k / 3].text);
    fmt::print(" {} |{}", cells[k], k % 3 == 2 ? "\n" : "");
  }
}

int run(const Options& options) {
  for (const auto& [count, option] : {std::pair(options.tables, "--tables"),
                                      {options.old_tables, "--old-tables"},
                                      {options.heavy, "--flips"},
                                      {options.panels, "--panels"},
                                      {options.pages, "--pages"}})
    require_range(count, 1, 1000000000, option);
  require_range(options.threads, 1, 1024, "--threads");
  for (const auto& report :
       {report_crossed, report_pages, report_tails, report_flips, report_alarms, report_old}) {
    report(options);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"simulate-verdicts",
                           "Error rates of the rules of results/STATISTICS.md, as Markdown"};
  program.add("--tables", &o.tables, "Simulated tables a cell of the crossed rule");
  program.add("--old-tables", &o.old_tables, "The same for intervals over prompts, which are slow");
  program.add("--flips", &o.heavy, "Comparisons a cell with flips");
  program.add("--panels", &o.panels, "Guardrail panels a cell");
  program.add("--pages", &o.pages, "Pages of a plan a cell");
  program.add("--threads", &o.threads, "Threads; they change no number");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
