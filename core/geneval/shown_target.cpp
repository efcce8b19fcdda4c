#include "core/geneval/shown_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/geneval/record.h"
#include "core/text.h"

namespace harness {
namespace {

/// Nothing where the target is not a record, such as a text to be read.
std::optional<GenevalRecord> record_behind(const std::string& target) {
  constexpr std::size_t kLongest = 1 << 14;
  if (!target.starts_with("{") || target.size() > kLongest) return std::nullopt;
  try {
    return record_of_target("", target, "target");
  } catch (const Error&) {
    return std::nullopt;
  }
}

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

std::string shown_target(const std::string& target) {
  const auto record = record_behind(target);
  if (!record) return target;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < record->include.size(); ++i) {
    if (!is_named_by_another(*record, i)) parts.push_back(clause_in_words(*record, record->include[i]));
  }
  for (const auto& excluded : record->exclude) {
    if (!is_plain_count(*record, excluded))
      parts.push_back(fmt::format("fewer than {} {}", excluded.count, excluded.name()));
  }
  return fmt::format("{}: {}", record->tag, join(parts, ", "));
}

std::string tag_of_target(const std::string& target) {
  const auto record = record_behind(target);
  return record ? record->tag : "";
}

}  // namespace harness
