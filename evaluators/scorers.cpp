#include "evaluators/scorers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace harness {
namespace {

/// All metrics of one image.
SampleScore merged_scores(std::vector<std::future<SampleScore>> parts) {
  SampleScore all;
  for (auto& part : parts) {
    auto one = part.get();
    if (one.transcript) all.transcript = std::move(one.transcript);
    if (one.transcript_raw) all.transcript_raw = std::move(one.transcript_raw);
    if (one.judgement) all.judgement = std::move(one.judgement);
    std::ranges::move(one.detections, std::back_inserter(all.detections));
    all.metrics.merge(one.metrics);
    all.reasons.merge(one.reasons);
  }
  return all;
}

}  // namespace

void Scorers::add(const std::string& name, std::unique_ptr<Scorer> scorer) {
  scorers_.emplace_back(name, std::move(scorer));
}

Scorer* Scorers::find(const std::string& name) const {
  const auto found = std::ranges::find(scorers_, name, [](const auto& entry) { return entry.first; });
  return found == scorers_.end() ? nullptr : found->second.get();
}

std::future<SampleScore> Scorers::score(const std::string& prompt, const Target& target,
                                        const Image& image) const {
  return score(prompt, target, image, [](const std::string&) { return true; });
}

std::future<SampleScore> Scorers::score(const std::string& prompt, const Target& target, const Image& image,
                                        const std::function<bool(const std::string& name)>& is_asked) const {
  std::vector<std::future<SampleScore>> parts;
  for (auto& [name, scorer] : scorers_) {
    if (!is_asked(name)) continue;
    const ScorerText text{prompt, scorer->reads_records() ? target.text() : target.words()};
    parts.push_back(scorer->score(text, image));
  }
  return std::async(std::launch::deferred, merged_scores, std::move(parts));
}

std::size_t Scorers::replaced() const {
  std::size_t sum = 0;
  for (const auto& [_, scorer] : scorers_) sum += scorer->replaced();
  return sum;
}

std::vector<std::string> Scorers::notes() const {
  std::vector<std::string> notes;
  for (const auto& [_, scorer] : scorers_) {
    if (const auto reason = scorer->given_up())
      notes.push_back(fmt::format("S{}. The images after that have no value of it.", reason->substr(1)));
  }
  return notes;
}

Json Scorers::state() const {
  Json states = Json::object();
  for (const auto& [name, scorer] : scorers_) {
    if (auto state = scorer->state(); !state.is_null()) states[name] = std::move(state);
  }
  return states;
}

void Scorers::restore(const Json& state, const std::string& where) {
  for (const auto& [name, scorer] : scorers_) {
    if (state.contains(name)) scorer->restore(state.at(name), where + ": " + name);
  }
}

}  // namespace harness
