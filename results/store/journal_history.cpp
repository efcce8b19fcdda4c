#include "results/store/journal_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "results/store/store_impl.h"

namespace harness {
namespace {

std::string type_of(const Json& record) {
  return record.value("type", std::string());
}

/// The number of the experiment that a record tells more of; nothing for any other record.
std::optional<std::int64_t> named_experiment(const Json& record) {
  static const std::set<std::string> kTypes = {"experiment_again", "comparisons", "alarms", "artifact"};
  if (!kTypes.contains(type_of(record)) || record.at("data").at("id").is_null()) return std::nullopt;
  return record.at("data").at("id").get<std::int64_t>();
}

class Reading {
 public:
  explicit Reading(const std::vector<Json>& records) : records_(records) {}

  History read();

 private:
  struct Experiment {
    std::size_t place;
    std::int64_t number;
    std::string digest;
    std::vector<std::string> runs;
    bool named = false;
  };

  void find_forgotten();
  void find_experiments();
  bool is_gone(const std::string& run, std::size_t place) const;
  bool counts(const Experiment& experiment) const;
  void take(std::size_t place);
  void take_named(std::size_t place, std::int64_t number);
  void keep(std::size_t place, const std::optional<std::string>& digest = {}, bool named = false);

  const std::vector<Json>& records_;
  std::map<std::string, std::size_t> forgotten_;  ///< run -> where it was forgotten last
  std::map<std::size_t, Experiment> experiments_;
  std::set<std::size_t> cut_off_;  ///< places of experiments that were never committed
  std::map<std::int64_t, std::optional<std::string>> current_;  ///< nothing: it does not count
  std::map<std::string, std::int64_t> given_;  ///< digest -> number of a later "number" record
  History history_;
};

void Reading::find_forgotten() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (type_of(records_[i]) == "forget") forgotten_[records_[i].at("run")] = i;
  }
}

void Reading::find_experiments() {
  std::map<std::int64_t, std::size_t> last;  // number -> place
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (const auto number = named_experiment(records_[i]); number && last.contains(*number)) {
      experiments_.at(last[*number]).named = true;
    }
    if (type_of(records_[i]) != "experiment") continue;
    const auto reproduction = from_journal<ReproductionRecord>(records_[i]);
    Experiment experiment{.place = i,
                          .number = records_[i].at("data").at("id").get<std::int64_t>(),
                          .digest = reproduction_digest(reproduction),
                          .runs = {}};
    for (const auto& run : reproduction.runs) experiment.runs.push_back(run.first);
    if (const auto before = last.find(experiment.number); before != last.end()) {
      const auto& other = experiments_.at(before->second);
      if (!other.named && other.digest != experiment.digest) cut_off_.insert(other.place);
    }
    last[experiment.number] = i;
    experiments_.emplace(i, std::move(experiment));
  }
}

bool Reading::is_gone(const std::string& run, std::size_t place) const {
  const auto found = forgotten_.find(run);
  return found != forgotten_.end() && place <= found->second;
}

bool Reading::counts(const Experiment& experiment) const {
  return std::ranges::none_of(experiment.runs,
                              [&](const std::string& run) { return is_gone(run, experiment.place); });
}

void Reading::keep(std::size_t place, const std::optional<std::string>& digest, bool named) {
  history_.entries.push_back({.place = place,
                              .record = records_[place],
                              .experiment = digest,
                              .is_named_later = named,
                              .highest = history_.last_number});
}

void Reading::take_named(std::size_t place, std::int64_t number) {
  const auto found = current_.find(number);
  if (found == current_.end()) {
    history_.orphans.push_back(
        fmt::format("{} of experiment {}: the journal does not hold it", type_of(records_[place]), number));
  } else if (found->second) {
    keep(place, found->second);
  }
}

void Reading::take(std::size_t place) {
  const auto& record = records_[place];
  const auto type = type_of(record);
  if (type == "experiment") {
    const auto& experiment = experiments_.at(place);
    if (cut_off_.contains(place)) return;
    history_.last_number = std::max(history_.last_number, experiment.number);
    current_[experiment.number] = std::nullopt;
    if (!counts(experiment)) return;
    current_[experiment.number] = experiment.digest;
    history_.numbers.emplace(experiment.digest, experiment.number);
    return keep(place, experiment.digest, experiment.named);
  }
  if (type == "number" || type == "last_number") {
    const auto number = record.at("data").at("id").get<std::int64_t>();
    history_.last_number = std::max(history_.last_number, number);
    if (type == "last_number") return;
    const auto digest = record.at("data").at("digest").get<std::string>();
    current_[number] = history_.numbers.contains(digest) ? std::optional(digest) : std::nullopt;
    given_[digest] = number;
    return;
  }
  if (const auto number = named_experiment(record)) return take_named(place, *number);
  const auto run = record.value("run", std::string());
  if (!run.empty() && type != "forget" && is_gone(run, place)) return;
  if (type == "run") history_.runs.insert(run);
  keep(place);
}

History Reading::read() {
  find_forgotten();
  find_experiments();
  for (std::size_t i = 0; i < records_.size(); ++i) take(i);
  for (const auto& [number, digest] : current_) {
    if (digest) history_.meaning[number] = *digest;
  }
  for (auto& entry : history_.entries) {
    if (type_of(entry.record) != "experiment") continue;
    const auto given = given_.find(*entry.experiment);
    entry.number = given == given_.end() ? experiments_.at(entry.place).number : given->second;
  }
  return std::move(history_);
}

}  // namespace

History history_of(const std::vector<Json>& records) {
  return Reading(records).read();
}

}  // namespace harness
