#pragma once

#include <string>

namespace harness {

/// The part of a table below which a note is printed, in the order of printing.
enum class NotePlace {
  kTestSplit,  ///< what else was tested on its prompts: above all others, whatever part is shown
  kResults,
  kLeaderboard,        ///< its groups and verdicts
  kEqualEvaluations,   ///< its comparison at equal network evaluations
  kDifferences,        ///< what differences are and how they are judged
  kSingleDifferences,  ///< what single differences call for
  kGuardrails
};

/// A note under a table: it changes what a reader may conclude.
struct TableNote {
  std::string text;               ///< for every reader; empty: the note is for the operator alone
  std::string for_operator = {};  ///< further sentences for those who run the table
  NotePlace place = NotePlace::kResults;
  bool warns = false;  ///< no number of the table should be read without it

  bool operator==(const TableNote&) const = default;

  /// Both texts, as everybody but a paper's reader sees them.
  std::string whole() const {
    return text + (text.empty() || for_operator.empty() ? "" : " ") + for_operator;
  }
};

}  // namespace harness
