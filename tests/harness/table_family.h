// The family of a table as a test finds it in the table's document.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/verdict/multiplicity.h"

namespace harness::test {

/// A comparison of checkpoints in a document as a question: its p is 1 where the interval holds 0.
inline TableQuestion question_in(const Json& c) {
  std::optional<double> p;
  if (c.at("p_value").is_number()) p = c.at("p_value").get<double>();
  const auto& interval = c.at("prompts").at("ci95");
  if (p && (interval.is_null() || (interval.at(0) <= 0 && interval.at(1) >= 0))) p = 1;
  return {c.at("baseline"), c.at("method"), c.at("metric"), p,
          c.at("metric") == "cer_paper" ? "ocr_reward" : ""};
}

/// What a table compares and its guardrails, without what stands in both twice.
inline std::vector<Json> differences_in(const Json& table) {
  std::vector<Json> differences;
  for (const auto* list : {&table.at("comparisons"), &table.at("guardrails").at("effects")}) {
    for (const auto& c : *list) {
      const auto question = question_in(c);
      const auto is_it = [&](const Json& other) { return is_same_question(question_in(other), question); };
      if (std::ranges::none_of(differences, is_it)) differences.push_back(c);
    }
  }
  return differences;
}

/// Its questions of checkpoints, which are all equal.
inline std::vector<TableQuestion> questions_in(const Json& table) {
  std::vector<TableQuestion> questions;
  for (const auto& c : differences_in(table)) questions.push_back(question_in(c));
  return questions;
}

}  // namespace harness::test
