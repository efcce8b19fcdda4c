// bench-results: the statistics and the results DB. Items a second are resamples, metric rows and rows of a
// view.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "results/query/query.h"
#include "results/statistics/statistics.h"
#include "results/store/store.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr int kPrompts = 762;
constexpr int kMetrics = 5;
constexpr const char* kNames[kMetrics] = {"ocr_reward", "cer", "cer_paper", "exact_match", "substring_match"};

/// A number in [0, 1) that depends on its arguments alone.
double value_of(int arm, int metric, int prompt) {
  const auto hash = sha256_hex(fmt::format("{} {} {}", arm, metric, prompt));
  return static_cast<double>(std::stoul(hash.substr(0, 8), nullptr, 16)) / 4294967296.0;
}

std::vector<PairedValue> pairs(int metric, int seeds = 1) {
  std::vector<PairedValue> pairs;
  for (int seed = 0; seed < seeds; ++seed) {
    for (int i = 0; i < kPrompts; ++i) {
      pairs.push_back({.baseline = value_of(0, metric, i),
                       .method = value_of(1 + seed, metric, i),
                       .cluster = i,
                       .seed = seed});
    }
  }
  return pairs;
}

std::vector<PairedMetric> five_metrics(int seeds = 1) {
  std::vector<PairedMetric> metrics;
  for (int metric = 0; metric < kMetrics; ++metric) metrics.push_back({pairs(metric, seeds), Better::kUp});
  return metrics;
}

/// Resamples of one comparison of 762 pairs on the given number of threads.
void bootstrap(benchmark::State& state) {
  const BootstrapInput input{.pooled = cluster_sums(pairs(0))};
  const BootstrapSettings settings{.threads = static_cast<unsigned>(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(bootstrap_intervals({&input, 1}, settings));
  state.SetItemsProcessed(state.iterations() * settings.resamples);
}
BENCHMARK(bootstrap)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Everything that a comparison of five metrics states: 762 pairs, 10,000 resamples.
void compare_five_metrics(benchmark::State& state, IntervalKind kind, int seeds) {
  const auto metrics = five_metrics(seeds);
  const BootstrapSettings settings{.threads = static_cast<unsigned>(state.range(0)), .interval = kind};
  for (auto _ : state) benchmark::DoNotOptimize(compare_paired(metrics, settings));
  state.SetItemsProcessed(state.iterations() * settings.resamples * kMetrics);
}
void each_number_of_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(compare_five_metrics, percentile, IntervalKind::kPercentile, 1)
    ->Apply(each_number_of_threads);
BENCHMARK_CAPTURE(compare_five_metrics, bca, IntervalKind::kBca, 1)->Apply(each_number_of_threads);
BENCHMARK_CAPTURE(compare_five_metrics, studentised, IntervalKind::kStudentised, 1)
    ->Apply(each_number_of_threads);
BENCHMARK_CAPTURE(compare_five_metrics, percentile_3_seeds, IntervalKind::kPercentile, 3)
    ->Apply(each_number_of_threads);

/// A workspace in memory with the log of one evaluation: 762 images, five metrics each.
class Workspace {
 public:
  Workspace() : folder_(fs::path("/dev/shm") / fmt::format("bench-results-{}", ::getpid())) {
    fs::remove_all(folder_);
    make_folder(folder_ / "eval");
    prompts_ = {.name = "ocr-bench", .sha256 = "bench", .known = false, .origin = "bench", .prompts = {}};
    EventLogWriter log(folder_ / "eval/events.log");
    log.append(parse_json(R"({"type": "job_started", "id": "eval", "kind": "evaluate", "pid": 1,
                              "host": "here", "build": "b", "cpu": "c", "threads": 1})",
                          "bench"));
    for (int i = 0; i < kPrompts; ++i) {
      prompts_.prompts.push_back(
          {.position = i, .text = fmt::format("a sign \"W{}\"", i), .target = fmt::format("W{}", i)});
      Json metrics = Json::object();
      for (int m = 0; m < kMetrics; ++m) metrics[kNames[m]] = value_of(0, m, i);
      log.append({{"type", "sample"},
                  {"position", i},
                  {"sample", 0},
                  {"seed", 42},
                  {"path", fmt::format("images/{}.png", i)},
                  {"sha256", sha256_hex(std::to_string(i))},
                  {"transcript", "OPEN"},
                  {"transcript_raw", "OPEN\n"},
                  {"metrics", metrics},
                  {"reasons", Json::object()}});
    }
    log.append(parse_json(
        R"({"type": "job_completed", "wall_seconds": 1.0, "peak_rss_mb": 1.0, "summary": {}})", "bench"));
  }
  ~Workspace() { fs::remove_all(folder_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  fs::path db() const { return folder_ / "results.sqlite"; }

  /// A new DB that knows the evaluation and has read nothing of it.
  Store planned() const {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(db().string() + suffix);
    Store store(db(), OpenMode::kReadWrite);
    store.record_prompt_set(prompts_);
    store.record_run({.id = "run",
                      .table_id = "t",
                      .method = "ratio-norm",
                      .backbone = "glyph",
                      .task = "ocr",
                      .scale = "default",
                      .seed = 42,
                      .config = Json::object(),
                      .folder = "run",
                      .weights_sha256 = "w"});
    store.record_checkpoint({.run_id = "run", .step = 80});
    store.record_evaluation({.id = "eval",
                             .table_id = "t",
                             .scale = "default",
                             .run_id = "run",
                             .step = 80,
                             .split = "validation",
                             .n = kPrompts,
                             .folder = "eval",
                             .prompt_set_sha256 = "bench",
                             .split_sha256 = "s",
                             .seed = 42,
                             .settings = Json::object()});
    store.record_job(job());
    return store;
  }
  JobRecord job() const {
    return {.id = "eval",
            .kind = "evaluate",
            .run_id = "run",
            .evaluation_id = "eval",
            .folder = folder_ / "eval"};
  }

 private:
  fs::path folder_;
  PromptSet prompts_;
};

/// Reading an event log into the DB: checksums, JSON, rows, commits.
void ingest(benchmark::State& state) {
  const Workspace workspace;
  for (auto _ : state) {
    state.PauseTiming();
    auto store = workspace.planned();
    state.ResumeTiming();
    store.ingest(workspace.job());
  }
  state.SetItemsProcessed(state.iterations() * kPrompts * kMetrics);
}
BENCHMARK(ingest)->Unit(benchmark::kMillisecond);

/// Reading all values of one metric of an evaluation, as tables and comparisons do.
void read_metric(benchmark::State& state) {
  const Workspace workspace;
  auto store = workspace.planned();
  store.ingest(workspace.job());
  for (auto _ : state) benchmark::DoNotOptimize(store.metric_values("eval", "ocr_reward"));
  state.SetItemsProcessed(state.iterations() * kPrompts);
}
BENCHMARK(read_metric)->Unit(benchmark::kMicrosecond);

/// Opening the DB as `harness query` does, and aggregating all rows.
void query(benchmark::State& state) {
  const Workspace workspace;
  workspace.planned().ingest(workspace.job());
  for (auto _ : state)
    benchmark::DoNotOptimize(run_query(workspace.db(), {.sql = "SELECT * FROM v_results"}));
  state.SetItemsProcessed(state.iterations() * kPrompts * kMetrics);
}
BENCHMARK(query)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace harness

BENCHMARK_MAIN();
