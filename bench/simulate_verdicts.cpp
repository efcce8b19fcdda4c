// simulate-verdicts: how often the rules of results/STATISTICS.md call equal methods different on a page, how
// often their intervals hold the true difference, and what they find. Prints Markdown.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <thread>

#include "bench/page_simulation.h"
#include "core/command_line/command_line.h"

namespace harness {
namespace {

struct Options {
  int pages = 2000;  ///< of a cell
  int threads = 1;
  std::string boards = "docs/leaderboard";
};

using Looks = std::vector<std::int64_t>;

const Looks kEveryLook = {3, 4, 5, 6, 7, 8, 9, 10};
const std::vector<Looks> kLooks = {{3}, {5}, {8}, {10}, {3, 5, 8}, kEveryLook};
const std::vector<Looks> kFewLooks = {{3}, {5}, {8}, {10}, {3, 5, 8}};
const std::vector<Looks> kOneLook = {{3}, {5}, {8}};

constexpr PageNoise kMain = {.0034, .012, .5};
constexpr PageNoise kCalm = {.0034, .003, .5};

std::string looks_text(const Looks& looks) {
  if (looks == kEveryLook) return "looks at each of 3 to 10";
  return fmt::format("{} {}", looks.size() > 1 ? "looks at" : "runs:", fmt::join(looks, ", "));
}

std::string percent(std::int64_t count, std::int64_t of) {
  return of == 0 ? "\u2014"
                 : fmt::format("{:.1f}", 100 * static_cast<double>(count) / static_cast<double>(of));
}

/// With its standard error.
std::string rate(std::int64_t count, std::int64_t of) {
  const double share = static_cast<double>(count) / static_cast<double>(of);
  return fmt::format("{:.1f} ({:.1f})", 100 * share,
                     100 * std::sqrt(share * (1 - share) / static_cast<double>(of)));
}

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

/// A line of a table: pages of one design with one noise, a cell for each of the looks.
struct Line {
  PageDesign design;
  PageNoise noise = kMain;
};

using CellText = std::function<std::string(const PageDesign&, const PageRates&)>;

/// False pages, with their standard error; the better method found; intervals beside a claim that hold.
std::string page_text(const PageDesign& design, const PageRates& rates) {
  const bool has_better = design.truth.better > 0 || design.truth.methods > 0;
  return fmt::format("{} / {} / {}", rate(rates.false_pages, rates.pages),
                     has_better ? percent(rates.found, rates.pages) : "\u2014",
                     percent(rates.held, rates.claims));
}

constexpr const char* kPageText =
    "False pages, % (standard error) / better method found, % / intervals beside a claim that hold the true "
    "difference, %.";

void print_table(const Options& options, const std::string& title, const std::string& heading,
                 const std::vector<Line>& lines, const std::vector<Looks>& looks,
                 const CellText& text = page_text) {
  static std::uint64_t cells_before = 0;  // each cell has numbers of its own
  fmt::print("\n{}\n\n| {} |", title, heading);
  for (const auto& of : looks) fmt::print(" {} |", looks_text(of));
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < looks.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  std::vector<std::string> cells(lines.size() * looks.size());
  in_parallel(cells.size(), options.threads, [&](std::size_t k) {
    auto design = lines[k / looks.size()].design;
    design.looks = looks[k % looks.size()];
    const auto& noise = lines[k / looks.size()].noise;
    cells[k] = text(design, PageSimulation(design, noise).pages(options.pages, cells_before + k));
  });
  cells_before += cells.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    fmt::print("| {} |", lines[i].design.text);
    for (std::size_t k = 0; k < looks.size(); ++k) fmt::print(" {} |", cells[i * looks.size() + k]);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

/// The same with each of these noises, which the text names.
std::vector<Line> with(const std::vector<PageNoise>& noises, const std::vector<PageDesign>& designs) {
  std::vector<Line> lines;
  for (const auto& design : designs) {
    for (const auto& noise : noises) {
      lines.push_back({design, noise});
      lines.back().design.text += fmt::format("; run sd {:.3f}", noise.run_sd);
    }
  }
  return lines;
}

void report_intervals(const Options& options) {
  std::vector<Line> lines;
  for (const auto& [error, sd] : {std::pair(.0034, .0),
                                  {.0034, .001},
                                  {.0034, .003},
                                  {.0034, .006},
                                  {.0034, .012},
                                  {.0034, .027},
                                  {.0008, .001},
                                  {.0008, .003}}) {
    for (const double stable : {0.0, 0.5, 1.0})
      lines.push_back(
          {{.text = fmt::format("{:.4f}, {:.3f}, {:.0f} %", error, sd, 100 * stable), .has_base = false},
           {error, sd, stable}});
  }
  print_table(
      options,
      fmt::format(
          "Equal methods, two beside a baseline in four metrics, {} prompts, {} pages a cell: 95 % intervals "
          "over runs and prompts that hold the true difference, % / half of their width, 1e-3 / intervals over "
          "prompts alone that do not hold it, % / pages with a false claim, %.",
          kSimulatedPrompts, options.pages),
      "prompt SE of one run, run sd, stable", lines, {{2}, {3}, {5}, {8}},
      [](const PageDesign&, const PageRates& r) {
        return fmt::format("{} / {:.1f} / {} / {}", percent(r.covered, r.comparisons),
                           1e3 * r.half_width / static_cast<double>(r.comparisons),
                           percent(r.over_prompts, r.comparisons), percent(r.false_pages, r.pages));
      });
}

void report_truths(const Options& options) {
  const Truth base{.over_base = 0.14, .guards_over_base = 0.14};
  auto worse = base, both = base, all = base;
  worse.worse = both.worse = all.worse = -0.05;
  both.better = all.better = 0.02;
  all.better_elsewhere = 0.04;
  print_table(
      options,
      fmt::format("What is true, two methods, a baseline and a base model in four metrics (20 questions), "
                  "the panel included, {} pages a cell. {}",
                  options.pages, kPageText),
      "truth",
      with({kMain}, {{.text = "nothing differs"},
                     {.text = "methods equal, above the base model", .truth = base},
                     {.text = "one method worse by .05", .truth = worse},
                     {.text = "one worse by .05, the other better by .02", .truth = both},
                     {.text = "the same, and .04 in the other metrics", .truth = all}}),
      kLooks);
}

void report_questions(const Options& options) {
  const Truth base{.over_base = 0.14, .guards_over_base = 0.14};
  const Truth better{.better = 0.02};
  print_table(
      options, fmt::format("How much is asked, {} pages a cell. {}", options.pages, kPageText), "questions",
      with({kMain},
           {{.text = "1: one method", .methods = 1, .metrics = 1, .has_base = false},
            {.text = "1, better by .02", .methods = 1, .metrics = 1, .has_base = false, .truth = better},
            {.text = "3: one method, two guardrails", .methods = 1, .metrics = 3, .has_base = false},
            {.text = "9: the same and a base model", .methods = 1, .metrics = 3, .truth = base},
            {.text = "45: two methods, eight guardrails, a base model", .metrics = 9, .truth = base},
            {.text = "34 methods", .methods = 34, .metrics = 1, .has_base = false},
            {.text = "34 methods, one better by .02",
             .methods = 34,
             .metrics = 1,
             .has_base = false,
             .truth = better}}),
      kLooks);
}

void report_prompts(const Options& options) {
  std::vector<PageDesign> designs;
  for (const int prompts : {16, 48, 256, kSimulatedPrompts, 1018})
    designs.push_back({.text = fmt::format("{}", prompts), .has_base = false, .prompts = prompts});
  print_table(options,
              fmt::format("How many prompts, equal methods, 8 questions, {} pages a cell. {}", options.pages,
                          kPageText),
              "prompts", with({kCalm, kMain}, designs), kFewLooks);
}

void report_tails(const Options& options) {
  const auto pages = [](const char* text, Tail tail, int prompts = kSimulatedPrompts) {
    return PageDesign{.text = text, .has_base = false, .prompts = prompts, .tail = tail};
  };
  const std::vector<PageDesign> runs = {
      pages("runs with the same bad tail in all rows", Tail::kAlike),
      pages("methods with a bad tail beside a steady baseline", Tail::kOneSided)};
  auto lines = with({kCalm, kMain}, runs);
  for (auto design : runs) {
    design.text += ", 34 methods in one metric";
    design.methods = 34;
    design.metrics = 1;
    lines.push_back({design});
  }
  for (const int prompts : {16, 48, 256}) {
    const auto text = fmt::format("skewed prompts, {}", prompts);
    for (auto& line :
         with({{.0034, .003, .9}, {.0034, .012, .9}}, {pages(text.c_str(), Tail::kPrompts, prompts)}))
      lines.push_back(std::move(line));
  }
  print_table(
      options,
      fmt::format("Skewed noise (exponential), equal methods, {} pages a cell. {}", options.pages, kPageText),
      "noise", lines, kFewLooks);
  std::vector<Line> ties;
  for (const int prompts : {16, 256}) {
    for (const auto& [text, tail] : {std::pair("half of the prompts do not differ, .8 % flip", Tail::kFlips),
                                     {"0 or 1, 60 % of them 1", Tail::kRates},
                                     {"0 or 1, 97 % of them 1", Tail::kCeiling}})
      ties.push_back({pages(text, tail, prompts), kCalm});
    for (auto& line : std::span(ties).last(3)) line.design.text += fmt::format("; {} prompts", prompts);
  }
  print_table(options,
              fmt::format("Ties, equal methods, 8 questions, {} pages a cell. {}", options.pages, kPageText),
              "values", ties, kOneLook);
}

/// Judged by compare_paired from every value, which takes its time.
void report_values(const Options& options) {
  const auto page = [](const char* text, Tail tail, Missing missing = Missing::kNone) {
    return PageDesign{
        .text = text, .metrics = 1, .has_base = false, .prompts = 64, .tail = tail, .missing = missing};
  };
  print_table(
      options,
      fmt::format(
          "Missing values and runs that are not paired, two equal methods in one metric, 64 prompts, {} "
          "pages a cell. {}",
          options.pages, kPageText),
      "values",
      {{page("5 % missing by chance", Tail::kNormal, Missing::kByChance), kCalm},
       {page("the lowest 5 % of one method missing", Tail::kNormal, Missing::kLowest), kCalm},
       {page("given images, runs not paired", Tail::kUnpaired), kMain},
       {page("the same, the methods' runs with ten times the variance", Tail::kUnequalSpread), kMain}},
      kOneLook);
}

void report_boards(const Options& options) {
  const auto board = [](const char* text, const Truth& truth, bool is_equal_there) {
    return PageDesign{.text = text,
                      .methods = 34,
                      .metrics = 1,
                      .has_base = false,
                      .truth = truth,
                      .prompts = 128,
                      .is_leaderboard = true,
                      .is_equal_there = is_equal_there};
  };
  print_table(
      options,
      fmt::format(
          "Leaderboards of 34 methods and a baseline, 128 prompts, {} pages a cell: false pages at equal "
          "images, % (standard error) / pages whose \"better\" or \"worse\", at equal images and "
          "evaluations, is false, % (standard error) / pages that have one, % / intervals beside a "
          "claim that hold, %.",
          options.pages),
      "truth",
      with({kMain}, {board("nothing differs", {}, false), board("one better by .02", {.better = 0.02}, false),
                     board("all better by .05 at equal images alone", {.methods = 0.05}, true)}),
      {{3}, {5}, {8}, {3, 5, 8}}, [](const PageDesign&, const PageRates& r) {
        return fmt::format("{} / {} / {} / {}", rate(r.false_pages, r.pages), rate(r.false_boards, r.pages),
                           percent(r.board_claims, r.pages), percent(r.held, r.claims));
      });
  std::vector<Population> populations;
  populations.reserve(2);
  std::vector<Line> lines;
  for (const auto& [file, text] :
       {std::pair("early.json", "4 updates"), {"leaderboard.json", "16 updates"}}) {
    populations.push_back(Population::of_leaderboard(std::filesystem::path(options.boards) / file));
    for (const double kernel : {0.0, 0.25, 0.5})
      lines.push_back(
          {{.text = fmt::format("{}, {}", text,
                                kernel > 0 ? fmt::format("kernel of {} sd", kernel) : "as they are"),
            .population = &populations.back(),
            .kernel = kernel}});
  }
  print_table(
      options,
      fmt::format(
          "Runs drawn with replacement from the project's leaderboards, all 34 rows of a run together, "
          "their means for equal, t over runs, {} pages a cell. {}",
          options.pages, kPageText),
      "runs", lines, kFewLooks);
}

void report_alarms(const Options& options) {
  const auto page = [](const char* text, const Truth& truth) {
    return PageDesign{.text = text, .metrics = 8, .truth = truth};
  };
  print_table(
      options,
      fmt::format(
          "Guardrail alarms, seven guardrails with a minimal effect of {}, two methods, {} pages a cell: "
          "pages with an alarm, % / false pages, % (standard error) / intervals beside a claim "
          "that hold, %.",
          kMinimalEffect, options.pages),
      "truth of all rows beside the base model",
      with({{.0034, .006, .5}},
           {page("nothing moved", {}), page("reward +.1, no guardrail moved", {.over_base = 0.1}),
            page("reward did not rise, guardrails harmed twice the minimal effect",
                 {.guards_over_base = -2 * kMinimalEffect}),
            page("reward +.1, guardrails harmed by exactly the minimal effect",
                 {.over_base = 0.1, .guards_over_base = -kMinimalEffect}),
            page("reward +.1, guardrails harmed three times the minimal effect",
                 {.over_base = 0.1, .guards_over_base = -3 * kMinimalEffect})}),
      {{3}, {5}, {8}}, [](const PageDesign&, const PageRates& r) {
        return fmt::format("{} / {} / {}", percent(r.alarms, r.pages), rate(r.false_pages, r.pages),
                           percent(r.held, r.claims));
      });
}

int run(const Options& options) {
  require_range(options.pages, 1, 1000000000, "--pages");
  require_range(options.threads, 1, 1024, "--threads");
  for (const auto& report : {report_truths, report_questions, report_prompts, report_tails, report_values,
                             report_boards, report_alarms, report_intervals})
    report(options);
  return 0;
}

}  // namespace
}  // namespace harness

int main(int argc, char** argv) {
  harness::Options o;
  harness::Command program{"simulate-verdicts",
                           "Error rates of the rules of results/STATISTICS.md, as Markdown"};
  program.add("--pages", &o.pages, "Simulated pages a cell");
  program.add("--boards", &o.boards, "Folder of the leaderboards whose runs are drawn");
  program.add("--threads", &o.threads, "Threads; they change no number");
  program.run = [&] { return harness::run(o); };
  return harness::run_program(program, argc, argv);
}
