#include "results/store/store.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/store/store_impl.h"

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

void Store::record_prompt_set(const PromptSet& set) {
  impl_->write([&] { impl_->carry_out(journal_record(set)); });
}

void Store::record_run(const RunRecord& run) {
  impl_->write([&] { impl_->carry_out(journal_record(run)); });
}

void Store::record_checkpoint(const CheckpointRecord& checkpoint) {
  impl_->write([&] { impl_->carry_out(journal_record(checkpoint)); });
}

std::int64_t Store::Impl::checkpoint_id(const std::string& run_id, std::int64_t step) {
  constexpr auto kSql = "SELECT id FROM checkpoints WHERE run_id = ?1 AND step = ?2";
  if (const auto id = first<std::optional<std::int64_t>>(kSql, run_id, step)) return *id;
  throw Error(fmt::format("run {} has no checkpoint {}", run_id, step), path.string(),
              "the run has to reach that update first", Status::kFailed);
}

void Store::record_evaluation(const EvaluationRecord& evaluation) {
  impl_->write([&] { impl_->carry_out(journal_record(evaluation)); });
}

std::int64_t Store::record_selection(const SelectionRecord& selection) {
  return impl_->write([&]() -> std::int64_t {
    const auto is_same_question = [&](const SelectionRecord& s) {
      return s.split == selection.split && s.metric == selection.metric && s.rule == selection.rule &&
             s.candidates == selection.candidates;
    };
    const auto all = selections(selection.run_id);
    const auto known = std::ranges::find_if(all, is_same_question);
    if (known != all.end()) {
      const bool is_again =
          std::ranges::any_of(selection.candidates, [&](const auto& id) { return was_scored_again(id); });
      if (is_again && (known->step != selection.step || known->value != selection.value)) {
        impl_->carry_out(journal_record(selection, known->id));
      } else if (known->step != selection.step) {
        throw Error(fmt::format("run {}: checkpoint {} was selected before, now it would be {}",
                                selection.run_id, known->step, selection.step),
                    impl_->path.string(), "the recorded values were changed: repeat the run with --fresh",
                    Status::kFailed);
      }
      return known->id;
    }
    const auto id = impl_->first<std::int64_t>("SELECT ifnull(max(id), 0) + 1 FROM selections");
    impl_->carry_out(journal_record(selection, id));
    return id;
  });
}

void Store::record_not_run(const std::string& evaluation_id, const std::string& metric,
                           const std::string& reason) {
  constexpr auto kRun =
      "SELECT run_id FROM evaluations AS e JOIN checkpoints AS c ON c.id = checkpoint_id WHERE e.id = ?1";
  impl_->write([&] {
    const auto run = impl_->first<std::string>(kRun, evaluation_id);
    impl_->carry_out(journal_not_run(run, evaluation_id, metric, reason));
  });
}

void Store::record_job(const JobRecord& job) {
  impl_->write([&] { impl_->record_job(job); });
}

void Store::Impl::record_job(const JobRecord& job) {
  constexpr auto kKnown = "SELECT count(*) FROM jobs WHERE id = ?1 AND folder = ?2";
  if (first<std::int64_t>(kKnown, job.id, job.folder.string()) == 0) carry_out(journal_record(job));
}

void Store::mark_job(const std::string& id, JobState state, const std::optional<std::string>& failure) {
  constexpr auto kRun = "SELECT run_id FROM jobs WHERE id = ?1";
  impl_->write(
      [&] { impl_->carry_out(journal_job_state(impl_->first<std::string>(kRun, id), id, state, failure)); });
}

std::int64_t Store::record_reproduction(const ReproductionRecord& reproduction) {
  return impl_->write([&] {
    if (const auto known = impl_->reproduction_id(reproduction_digest(reproduction))) {
      if (const auto last = last_reproduction(); !last || last->id != *known) {
        const auto shown = this->reproduction(*known);
        impl_->carry_out(journal_shown_again(*known), shown->finished);
      }
      return *known;
    }
    const auto id = impl_->next_reproduction_id();
    impl_->carry_out(journal_record(reproduction, id));
    return id;
  });
}

void Store::record_comparisons(std::int64_t reproduction_id, std::span<const ComparisonRow> comparisons) {
  impl_->write([&] {
    impl_->carry_out(journal_record(reproduction_id, std::vector(comparisons.begin(), comparisons.end())));
  });
}

void Store::record_alarms(std::int64_t reproduction_id, std::span<const AlarmRecord> alarms) {
  impl_->write([&] {
    if (alarms.empty() && this->alarms(reproduction_id).empty()) return;
    impl_->carry_out(journal_record(reproduction_id, std::vector(alarms.begin(), alarms.end())));
  });
}

void Store::record_artifact(const ArtifactRecord& artifact) {
  impl_->write([&] { impl_->carry_out(journal_record(artifact)); });
}

void Store::record_plan(const PlanRecord& plan) {
  constexpr auto kKnown = "SELECT count(*) FROM plans WHERE digest = ?1";
  impl_->write([&] {
    if (impl_->first<std::int64_t>(kKnown, plan.digest) == 0) impl_->carry_out(journal_record(plan));
  });
}

bool Store::forget(const std::string& run_id) {
  if (!run(run_id)) return false;
  constexpr auto kIsOpened = R"sql(
    SELECT ?1 NOT IN (SELECT run_id FROM opened_runs)
      AND (?1 IN (SELECT run_id FROM reproduction_runs)
           OR EXISTS (SELECT 1 FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id
                      WHERE run_id = ?1 AND split = 'test' AND state = 'done')))sql";
  atomically([&] {
    if (impl_->first<bool>(kIsOpened, run_id)) impl_->carry_out(journal_record(OpenedRecord{run_id}));
    impl_->carry_out(journal_forget(run_id));
  });
  return true;
}

}  // namespace harness
