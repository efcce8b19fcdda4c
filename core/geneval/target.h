#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/geneval/record.h"

namespace harness {

/// What the image of a prompt shall show: words that are read in it, or of a GenEval prompt a record that it
/// is judged by.
class Target {
 public:
  Target() = default;  ///< nothing: the prompt quotes no words
  explicit Target(std::string words) : text_(std::move(words)) {}
  explicit Target(GenevalRecord record) : text_(geneval_target(record)), record_(std::move(record)) {}

  /// The target of a GenEval prompt, from its text(). A text that is no record is taken for words: a DB may
  /// hold anything.
  static Target of_record(const std::string& prompt, const std::string& text);

  bool empty() const { return text_.empty(); }
  const std::optional<GenevalRecord>& record() const { return record_; }
  std::string words() const { return record_ ? std::string() : text_; }
  /// As scorers and the DB have it: the words, or the record without its prompt, JSON in one line.
  const std::string& text() const { return text_; }
  /// As a person reads it: the words, or "counting: 3 star", "position: red circle left of blue square".
  std::string shown() const;
  /// The record's, "counting"; empty for words.
  std::string tag() const { return record_ ? record_->tag : std::string(); }

 private:
  std::string text_;
  std::optional<GenevalRecord> record_;
};

}  // namespace harness
