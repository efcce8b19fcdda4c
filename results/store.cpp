#include "results/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/sha256.h"
#include "results/store_impl.h"
#include "results/stored_runs.h"
#include "results/verdict.h"

namespace harness {

Store::Store(const std::filesystem::path& path, OpenMode mode) : impl_(std::make_unique<Impl>(path, mode)) {}
Store::Store(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::path() const {
  return impl_->path;
}

const std::string& Store::notice() const {
  return impl_->opened.notice;
}

void Store::atomically(const std::function<void()>& body) {
  const auto end = [this] {
    impl_->in_whole = false;
    impl_->held.clear();
  };
  try {
    impl_->write([&] {
      impl_->in_whole = true;
      body();
      impl_->in_whole = false;
      if (!impl_->journal || impl_->held.empty()) return;
      if (const auto mark = impl_->journal->append_all(impl_->held))
        impl_->know_journal(impl_->journal->id(), *mark);
    });
  } catch (...) {
    end();
    throw;
  }
  end();
}

SQLite::Database& Store::database() {
  return *impl_->opened.db;
}

std::int64_t Store::record_prompt_set(const PromptSet& set) {
  auto& sql = impl_->sql;
  return impl_->write([&]() -> std::int64_t {
    {
      Query known(sql["SELECT id FROM prompt_sets WHERE sha256 = ?1"], set.sha256);
      if (known.step()) {
        // Another workspace of this DB may have recorded it, and that one's journal is not ours.
        const auto id = known.integer(0);
        impl_->note(journal_record(set));
        return id;
      }
    }
    sql.run("INSERT INTO prompt_sets (name, sha256, known, origin) VALUES (?1, ?2, ?3, ?4)", set.name,
            set.sha256, set.known, set.origin);
    const auto id = impl_->last_id();
    impl_->note(journal_record(set));
    for (const auto& prompt : set.prompts) {
      sql.run("INSERT INTO prompts (prompt_set_id, position, text, target) VALUES (?1, ?2, ?3, ?4)", id,
              prompt.position, prompt.text, prompt.target);
    }
    return id;
  });
}

void Store::record_run(const RunRecord& run) {
  constexpr auto kUpsert = R"sql(
    INSERT INTO runs (id, table_id, method, backbone, task, scale, seed, config, folder, weights_sha256,
                      requested_settings, effective_settings, numerics_version, state, created)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'planned', ?14)
    ON CONFLICT (id) DO UPDATE SET
      folder = excluded.folder, requested_settings = excluded.requested_settings,
      table_id = CASE WHEN table_id = '' THEN excluded.table_id ELSE table_id END,
      scale = CASE WHEN table_id = '' THEN excluded.scale ELSE scale END)sql";
  impl_->write([&] {
    const auto record = journal_record(run);
    const auto at = impl_->time_of(record);
    impl_->sql.run(kUpsert, run.id, run.table_id, run.method, run.backbone, run.task, run.scale, run.seed,
                   canonical_json(run.config), run.folder, run.weights_sha256,
                   canonical_json(run.requested_settings), canonical_json(run.effective_settings),
                   run.numerics_version, at);
    if (!run.table_id.empty()) {
      impl_->sql.run(
          "INSERT OR IGNORE INTO table_runs (table_id, run_id, scale, arm) VALUES (?1, ?2, ?3, ?4)",
          run.table_id, run.id, run.scale, run.arm);
    }
    impl_->note(record, at);
  });
}

void Store::record_checkpoint(const CheckpointRecord& checkpoint) {
  impl_->write([&] {
    impl_->put_checkpoint(checkpoint);
    impl_->note(journal_record(checkpoint));
  });
}

void Store::Impl::put_checkpoint(const CheckpointRecord& checkpoint) {
  sql.run(R"sql(
    INSERT INTO checkpoints (run_id, step, path, sha256, lambda_late, lambda_late_last, clip_fraction)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (run_id, step) DO UPDATE SET
      path = excluded.path, sha256 = excluded.sha256, lambda_late = excluded.lambda_late,
      lambda_late_last = excluded.lambda_late_last, clip_fraction = excluded.clip_fraction)sql",
          checkpoint.run_id, checkpoint.step, checkpoint.path, checkpoint.sha256, checkpoint.lambda_late,
          checkpoint.lambda_late_last, checkpoint.clip_fraction);
}

std::int64_t Store::Impl::checkpoint_id(const std::string& run_id, std::int64_t step) {
  Query query(sql["SELECT id FROM checkpoints WHERE run_id = ?1 AND step = ?2"], run_id, step);
  if (query.step()) return query.integer(0);
  throw Error(fmt::format("run {} has no checkpoint {}", run_id, step), path.string(),
              "the run has to reach that update first", Status::kFailed);
}

namespace {

std::int64_t prompt_set_id(StatementCache& sql, const std::string& sha256,
                           const std::filesystem::path& path) {
  Query query(sql["SELECT id FROM prompt_sets WHERE sha256 = ?1"], sha256);
  if (query.step()) return query.integer(0);
  throw Error(fmt::format("the prompt set with SHA-256 {} is not recorded", sha256), path.string(), {},
              Status::kFailed);
}

}  // namespace

void Store::record_evaluation(const EvaluationRecord& evaluation) {
  constexpr auto kUpsert = R"sql(
    INSERT INTO evaluations (id, checkpoint_id, split, n, folder, prompt_set_id, split_sha256, seed, settings,
                             config, selection_id, peek, state, created)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'planned', ?13)
    ON CONFLICT (id) DO UPDATE SET
      folder = excluded.folder, selection_id = ifnull(selection_id, excluded.selection_id),
      peek = max(peek, excluded.peek))sql";
  impl_->write([&] {
    auto& sql = impl_->sql;
    const auto record = journal_record(evaluation);
    const auto at = impl_->time_of(record);
    const auto checkpoint = impl_->checkpoint_id(evaluation.run_id, evaluation.step);
    const auto prompts = prompt_set_id(sql, evaluation.prompt_set_sha256, impl_->path);
    sql.run(kUpsert, evaluation.id, checkpoint, evaluation.split, evaluation.n, evaluation.folder, prompts,
            evaluation.split_sha256, evaluation.seed, canonical_json(evaluation.settings),
            canonical_json(evaluation.config), evaluation.selection_id, evaluation.peek, at);
    if (!evaluation.table_id.empty()) {
      sql.run("INSERT OR IGNORE INTO table_evaluations (table_id, evaluation_id, scale) VALUES (?1, ?2, ?3)",
              evaluation.table_id, evaluation.id, evaluation.scale);
    }
    impl_->note(record, at);
  });
}

std::int64_t Store::record_selection(const SelectionRecord& selection) {
  constexpr auto kKnown = R"sql(
    SELECT selections.id, checkpoints.step
    FROM selections JOIN checkpoints ON checkpoints.id = selections.checkpoint_id
    WHERE selections.run_id = ?1 AND split = ?2 AND metric = ?3 AND rule = ?4 AND candidates = ?5)sql";
  constexpr auto kInsert = R"sql(
    INSERT INTO selections (run_id, checkpoint_id, split, metric, rule, value, evaluation_id, candidates,
                            created)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))sql";
  return impl_->write([&]() -> std::int64_t {
    auto& sql = impl_->sql;
    const auto candidates = canonical_json(selection.candidates);
    {
      Query known(sql[kKnown], selection.run_id, selection.split, selection.metric, selection.rule,
                  candidates);
      if (known.step()) {
        if (known.integer(1) == selection.step) return known.integer(0);
        throw Error(fmt::format("run {}: checkpoint {} was selected before, now it would be {}",
                                selection.run_id, known.integer(1), selection.step),
                    impl_->path.string(), "the recorded values were changed: repeat the run with --fresh",
                    Status::kFailed);
      }
    }
    const auto checkpoint = impl_->checkpoint_id(selection.run_id, selection.step);
    sql.run(kInsert, selection.run_id, checkpoint, selection.split, selection.metric, selection.rule,
            selection.value, selection.evaluation_id, candidates, utc_now());
    // The journal has it already if a process was killed before this transaction committed.
    const auto id = impl_->last_id();
    const auto record = journal_record(selection, id);
    const auto at = impl_->time_of(record);
    sql.run("UPDATE selections SET created = ?2 WHERE id = ?1", id, at);
    impl_->note(record, at);
    return id;
  });
}

void Store::record_not_run(const std::string& evaluation_id, const std::string& metric,
                           const std::string& reason) {
  impl_->write([&] {
    impl_->put_not_run(evaluation_id, metric, reason);
    impl_->note(journal_not_run(impl_->run_of_evaluation(evaluation_id), evaluation_id, metric, reason));
  });
}

void Store::Impl::put_not_run(const std::string& evaluation_id, const std::string& metric,
                              const std::string& reason) {
  // Canonical, so that the order in which the reasons came in leaves no trace.
  Json reasons;
  {
    Query row(sql["SELECT not_run FROM evaluations WHERE id = ?1"], evaluation_id);
    if (!row.step())
      throw Error(fmt::format("there is no evaluation {}", evaluation_id), path.string(), {},
                  Status::kFailed);
    reasons = parse_json(row.text(0), "evaluations.not_run");
  }
  reasons[metric] = reason;
  sql.run("UPDATE evaluations SET not_run = ?2 WHERE id = ?1", evaluation_id, canonical_json(reasons));
}

std::int64_t Store::record_reproduction(const ReproductionRecord& reproduction) {
  return impl_->write([&] {
    const auto at = impl_->time_of(Json());
    const auto known = impl_->reproduction_id(reproduction_digest(reproduction));
    if (!known) {
      const auto id = impl_->next_reproduction_id();
      impl_->put_reproduction(id, reproduction, at);
      impl_->note(journal_record(reproduction, id), at);
      return id;
    }
    impl_->show_again(*known, at);
    impl_->note(journal_shown_again(*known), at);
    return *known;
  });
}

void Store::show_again(std::int64_t reproduction_id) {
  impl_->write([&] {
    Query finished(impl_->sql["SELECT finished FROM reproductions WHERE id = ?1"], reproduction_id);
    if (!finished.step()) return;
    const auto at = finished.text(0);
    impl_->show_again(reproduction_id, at);
    impl_->note(journal_shown_again(reproduction_id), at);
  });
}

namespace {

template <class T>
std::vector<T> sorted(std::vector<T> items) {
  std::ranges::sort(items);
  return items;
}

}  // namespace

std::string reproduction_digest(const ReproductionRecord& reproduction) {
  return sha256_hex(canonical_json(
      Json::array({reproduction.table_id, reproduction.backbone, reproduction.scale, reproduction.seeds,
                   reproduction.methods, reproduction.spec, reproduction.signature,
                   sorted(reproduction.evaluations), sorted(reproduction.runs)})));
}

std::optional<std::int64_t> Store::Impl::reproduction_id(const std::string& digest) {
  Query known(sql["SELECT id FROM reproductions WHERE digest = ?1"], digest);
  return known.step() ? std::optional(known.integer(0)) : std::nullopt;
}

std::int64_t Store::Impl::next_reproduction_id() {
  Query next(sql["SELECT value + 1 FROM counters WHERE name = 'reproductions'"]);
  next.step();
  return next.integer(0);
}

void Store::Impl::put_reproduction(std::int64_t id, const ReproductionRecord& reproduction,
                                   const std::string& at) {
  sql.run(R"sql(
    INSERT INTO reproductions (id, digest, table_id, backbone, scale, seeds, methods, spec, signature, finished,
                               wall_seconds, recency)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
            (SELECT ifnull(max(recency), 0) + 1 FROM reproductions)))sql",
          id, reproduction_digest(reproduction), reproduction.table_id, reproduction.backbone,
          reproduction.scale, canonical_json(reproduction.seeds), canonical_json(reproduction.methods),
          canonical_json(reproduction.spec), reproduction.signature, at, reproduction.wall_seconds);
  sql.run("UPDATE counters SET value = max(value, ?1) WHERE name = 'reproductions'", id);
  for (const auto& evaluation : sorted(reproduction.evaluations)) {
    sql.run("INSERT OR IGNORE INTO reproduction_evaluations (reproduction_id, evaluation_id) VALUES (?1, ?2)",
            id, evaluation);
  }
  for (const auto& [run, arm] : sorted(reproduction.runs)) {
    sql.run("INSERT OR IGNORE INTO reproduction_runs (reproduction_id, run_id, arm) VALUES (?1, ?2, ?3)", id,
            run, arm);
  }
}

void Store::Impl::show_again(std::int64_t id, const std::string& at) {
  sql.run("UPDATE reproductions SET finished = ?2 WHERE id = ?1", id, at);
  sql.run(R"sql(
    UPDATE reproductions SET recency = (SELECT max(recency) + 1 FROM reproductions)
    WHERE id = ?1 AND recency < (SELECT max(recency) FROM reproductions))sql",
          id);
}

void Store::record_comparisons(std::int64_t reproduction_id, std::span<const ComparisonRecord> comparisons) {
  constexpr auto kInsert = R"sql(
    INSERT INTO comparisons (reproduction_id, split, metric, baseline, method, n, n_missing, clusters,
                             baseline_mean, method_mean, delta, ci95_low, ci95_high, wins, ties, losses, t,
                             p_value, test, note, claim, runs, runs_se, runs_df, runs_ci95_low,
                             runs_ci95_high, runs_p_value)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26, ?27))sql";
  impl_->write([&] {
    impl_->sql.run("DELETE FROM comparisons WHERE reproduction_id = ?1", reproduction_id);
    for (const auto& c : comparisons) {
      const auto& r = c.result;
      std::optional<double> low, high;
      if (r.ci) {
        low = r.ci->low;
        high = r.ci->high;
      }
      const auto runs = stored_runs(r.crossed);
      const auto claim = c.has_claim ? std::optional(std::string(claim_name(claim_of(r)))) : std::nullopt;
      impl_->sql.run(kInsert, reproduction_id, c.split, c.metric, c.baseline, c.method, r.n, r.n_missing,
                     r.clusters, r.baseline_mean, r.method_mean, r.delta, low, high, r.wins, r.ties, r.losses,
                     r.t, r.p_value, r.test, c.note, claim, runs.runs, runs.error, runs.freedom, runs.low,
                     runs.high, runs.p_value);
    }
    impl_->note(journal_record(reproduction_id,
                               std::vector<ComparisonRecord>(comparisons.begin(), comparisons.end())));
  });
}

void Store::record_alarms(std::int64_t reproduction_id, std::span<const AlarmRecord> alarms) {
  constexpr auto kInsert = R"sql(
    INSERT INTO alarms (reproduction_id, split, baseline, method, reward, reward_delta, reward_ci95_low,
                        reward_ci95_high, guardrail, harmful, minimal_effect, delta, ci95_low, ci95_high,
                        p_holm, rule_version)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16))sql";
  impl_->write([&] {
    const int replaced = impl_->sql.run("DELETE FROM alarms WHERE reproduction_id = ?1", reproduction_id);
    for (const auto& a : alarms) {
      impl_->sql.run(kInsert, reproduction_id, a.split, a.baseline, a.method, a.reward, a.reward_delta,
                     a.reward_ci.low, a.reward_ci.high, a.guardrail, a.harmful, a.minimal_effect, a.delta,
                     a.ci.low, a.ci.high, a.p_holm, a.rule_version);
    }
    if (replaced > 0 || !alarms.empty())
      impl_->note(journal_record(reproduction_id, std::vector<AlarmRecord>(alarms.begin(), alarms.end())));
  });
}

void Store::record_artifact(const ArtifactRecord& artifact) {
  constexpr auto kUpsert = R"sql(
    INSERT INTO artifacts (reproduction_id, table_id, name, path, sha256, created)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (table_id, name, ifnull(reproduction_id, 0)) DO UPDATE SET
      path = excluded.path, sha256 = excluded.sha256, created = excluded.created)sql";
  impl_->write([&] {
    const auto record = journal_record(artifact);
    const auto at = impl_->time_of(record);
    impl_->sql.run(kUpsert, artifact.reproduction_id, artifact.table_id, artifact.name, artifact.path,
                   artifact.sha256, at);
    impl_->note(record, at);
  });
}

bool Store::forget(const std::string& run_id) {
  // Children before parents; rows that point at each other (selections, evaluations) are settled by the end
  // of the transaction.
  constexpr const char* kEvaluations =
      "(SELECT evaluations.id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id "
      "WHERE run_id = ?1)";
  const auto reproductions = fmt::format(
      "(SELECT reproduction_id FROM reproduction_runs WHERE run_id = ?1 UNION "
      "SELECT reproduction_id FROM reproduction_evaluations WHERE evaluation_id IN {})",
      kEvaluations);
  return impl_->write([&] {
    auto& db = *impl_->opened.db;
    const auto run = [&](const std::string& sql) {
      SQLite::Statement statement(db, sql);
      if (statement.getBindParameterCount() > 0) statement.bind(1, run_id);
      return statement.exec();
    };
    run("PRAGMA defer_foreign_keys = ON");
    for (const auto* table : {"comparisons", "alarms", "artifacts"}) {
      run(fmt::format("DELETE FROM {} WHERE reproduction_id IN {}", table, reproductions));
    }
    run(fmt::format("DELETE FROM reproductions WHERE id IN {}", reproductions));
    for (const auto* table : {"reproduction_evaluations", "reproduction_runs"}) {
      run(fmt::format("DELETE FROM {} WHERE reproduction_id NOT IN (SELECT id FROM reproductions)", table));
    }
    run("DELETE FROM events WHERE job_id IN (SELECT id FROM jobs WHERE run_id = ?1)");
    run("DELETE FROM jobs WHERE run_id = ?1");
    for (const auto* table : {"table_evaluations", "metrics", "samples"}) {
      run(fmt::format("DELETE FROM {} WHERE evaluation_id IN {}", table, kEvaluations));
    }
    run(fmt::format("DELETE FROM evaluations WHERE id IN {}", kEvaluations));
    for (const auto* table : {"selections", "train_stats", "checkpoints", "table_runs"}) {
      run(fmt::format("DELETE FROM {} WHERE run_id = ?1", table));
    }
    const bool known = run("DELETE FROM runs WHERE id = ?1") > 0;
    if (known) impl_->note(journal_forget(run_id));
    return known;
  });
}

}  // namespace harness
