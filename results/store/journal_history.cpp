#include "results/store/journal_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/store/record_type.h"
#include "results/store/store_impl.h"

namespace harness {
namespace {

/// The number of the experiment that a record continues; nothing for any other record.
std::optional<std::int64_t> named_experiment(const Json& record) {
  if (!record_kind(record).is_of_experiment || record.at("data").at("id").is_null()) return std::nullopt;
  return number_of(record);
}

class Reading {
 public:
  explicit Reading(const std::vector<Json>& records) : records_(records), found_(records.size()) {}

  History read() {
    for (std::size_t i = records_.size(); i-- > 0;) look_ahead(i);
    for (std::size_t i = 0; i < records_.size(); ++i) take(i);
    for (auto& entry : history_.entries) {
      if (type_of(entry.record) != "experiment") continue;
      const auto given = given_.find(*entry.experiment);
      entry.number = given == given_.end() ? number_of(entry.record) : given->second;
    }
    return std::move(history_);
  }

 private:
  /// What later records make of one.
  struct Found {
    bool is_gone = false;     ///< it rests on a run that was forgotten
    bool is_cut_off = false;  ///< of an experiment: never committed
    bool is_named = false;    ///< likewise: a record continues it
    std::string digest = {};  ///< likewise
  };

  /// From the last record to the first.
  void look_ahead(std::size_t place) {
    const auto& record = records_[place];
    auto& found = found_[place];
    if (const auto number = named_experiment(record)) named_.insert(*number);
    const auto type = record_type(record);
    if (type == RecordType::kForget) {
      forgotten_.insert(record.at("run").get<std::string>());
    } else if (type == RecordType::kExperiment) {
      const auto reproduction = from_journal<ReproductionRecord>(record);
      const auto number = number_of(record);
      found.digest = reproduction_digest(reproduction);
      found.is_named = named_.erase(number) > 0;
      const auto later = later_.find(number);
      found.is_cut_off = !found.is_named && later != later_.end() && later->second != found.digest;
      later_[number] = found.digest;
      found.is_gone = std::ranges::any_of(reproduction.runs,
                                          [&](const auto& run) { return forgotten_.contains(run.first); });
    } else {
      found.is_gone = forgotten_.contains(record.value("run", std::string()));
    }
  }

  void take(std::size_t place) {
    const auto& record = records_[place];
    const auto& found = found_[place];
    switch (record_type(record)) {
      case RecordType::kExperiment:
        return take_experiment(place);
      case RecordType::kNumber:
        take_last_number(record);
        return take_number(number_of(record), record.at("data").at("digest").get<std::string>());
      case RecordType::kLastNumber:
        return take_last_number(record);
      case RecordType::kForget:
        history_.forgotten.emplace_back(place, record.at("run").get<std::string>());
        return;
      case RecordType::kRun:
        if (!found.is_gone) history_.runs.insert(record.at("run").get<std::string>());
        break;
      case RecordType::kPromptSet:
      case RecordType::kCheckpoint:
      case RecordType::kEvaluation:
      case RecordType::kSelection:
      case RecordType::kNotRun:
      case RecordType::kJob:
      case RecordType::kJobState:
      case RecordType::kExperimentAgain:
      case RecordType::kComparisons:
      case RecordType::kAlarms:
      case RecordType::kArtifact:
      case RecordType::kPlan:
      case RecordType::kOpened:
        break;
    }
    if (const auto number = named_experiment(record)) {
      take_named(place, *number);
    } else if (!found.is_gone) {
      keep(place);
    }
  }

  void take_experiment(std::size_t place) {
    const auto& found = found_[place];
    if (found.is_cut_off) return;
    const auto number = number_of(records_[place]);
    history_.last_number = std::max(history_.last_number, number);
    current_[number] = std::nullopt;
    if (found.is_gone) return;
    current_[number] = found.digest;
    history_.experiments.insert(found.digest);
    keep(place, found.digest);
  }

  void take_last_number(const Json& record) {
    history_.last_number = std::max(history_.last_number, number_of(record));
  }

  void take_number(std::int64_t number, const std::string& digest) {
    current_[number] = history_.experiments.contains(digest) ? std::optional(digest) : std::nullopt;
    given_[digest] = number;
  }

  void take_named(std::size_t place, std::int64_t number) {
    const auto current = current_.find(number);
    if (current == current_.end()) {
      history_.orphans.push_back(
          fmt::format("{} of experiment {}: the journal does not hold it", type_of(records_[place]), number));
    } else if (current->second) {
      keep(place, current->second);
    }
  }

  void keep(std::size_t place, const std::optional<std::string>& digest = {}) {
    history_.entries.push_back({.place = place,
                                .record = records_[place],
                                .experiment = digest,
                                .is_named_later = found_[place].is_named,
                                .highest = history_.last_number});
  }

  const std::vector<Json>& records_;
  std::vector<Found> found_;
  std::set<std::string> forgotten_;            ///< runs
  std::set<std::int64_t> named_;               ///< experiments that a later record continues
  std::map<std::int64_t, std::string> later_;  ///< number -> digest of the experiment that has it next
  std::map<std::int64_t, std::optional<std::string>> current_;  ///< nothing: it does not count
  std::map<std::string, std::int64_t> given_;  ///< digest -> number of a later "number" record
  History history_;
};

}  // namespace

History history_of(const std::vector<Json>& records) {
  return Reading(records).read();
}

}  // namespace harness
