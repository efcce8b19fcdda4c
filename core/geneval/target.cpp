#include "core/geneval/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// "3 star", "red circle".
std::string object_in_words(const GenevalRecord& record, const GenevalClause& clause) {
  std::string text;
  if (clause.count > 1 || record.is_counting()) text += fmt::format("{} ", clause.count);
  if (clause.colour) text += fmt::format("{} ", kGenevalColours.at(static_cast<std::size_t>(*clause.colour)));
  return text + clause.name();
}

std::string clause_in_words(const GenevalRecord& record, const GenevalClause& clause) {
  const auto object = object_in_words(record, clause);
  if (!clause.position) return object;
  return fmt::format("{} {} {}", object, name_of(clause.position->relation),
                     clause_in_words(record, record.include.at(clause.position->other)));
}

bool is_named_by_another(const GenevalRecord& record, std::size_t index) {
  return std::ranges::any_of(record.include, [&](const GenevalClause& clause) {
    return clause.position && clause.position->other == index;
  });
}

/// Whether an exclusion only states that the requested count is exact.
bool is_plain_count(const GenevalRecord& record, const GenevalClause& excluded) {
  return record.is_counting() && std::ranges::any_of(record.include, [&](const GenevalClause& clause) {
           return clause.label == excluded.label && clause.count + 1 == excluded.count;
         });
}

}  // namespace

Target Target::of_record(const std::string& prompt, const std::string& text) {
  constexpr std::size_t kLongest = 1 << 14;
  Target target(text);
  if (!text.starts_with("{") || text.size() > kLongest) return target;
  try {
    target.record_ = record_of_target(prompt, text, "target");
  } catch (const Error&) {
    return Target(text);
  }
  return target;
}

std::string Target::shown() const {
  if (!record_) return text_;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < record_->include.size(); ++i) {
    if (!is_named_by_another(*record_, i)) parts.push_back(clause_in_words(*record_, record_->include[i]));
  }
  for (const auto& excluded : record_->exclude) {
    if (!is_plain_count(*record_, excluded))
      parts.push_back(fmt::format("fewer than {} {}", excluded.count, excluded.name()));
  }
  return fmt::format("{}: {}", record_->tag, join(parts, ", "));
}

}  // namespace harness
