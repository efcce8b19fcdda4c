#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/geneval/record.h"
#include "datasets/python_random.h"

namespace harness {

/// Draws GenEval records as the benchmark's create_prompts.py words them: "a photo of a red star and an
/// orange ring", with its articles and plurals. Equal seeds give equal records.
class GenevalGenerator {
 public:
  /// `carriers`: what prompts begin with, "a photo of".
  GenevalGenerator(const GenevalVocabulary& vocabulary, std::vector<std::string> carriers,
                   std::string_view decimal_seed);

  /// The next record of a tag. No class is twice in a record, no colour twice, and a person has none. Throws
  /// Error for an unknown tag.
  GenevalRecord draw(std::string_view tag);

  PythonRandom& random() { return random_; }

 private:
  struct Pair {
    int first, second;  ///< different
  };
  int any(std::size_t of);
  Pair two(std::size_t of);
  int coloured_class();
  Pair two_coloured_classes();
  GenevalClause clause(int label, int count = 1) const;
  GenevalClause coloured(int label, int colour) const;
  void describe(GenevalRecord& record, const std::string& things);

  // What each tag asks for, and its prompt.
  void single_object(GenevalRecord& record);
  void two_object(GenevalRecord& record);
  void counting(GenevalRecord& record);
  void colors(GenevalRecord& record);
  void position(GenevalRecord& record);
  void color_attr(GenevalRecord& record);

  const GenevalVocabulary& vocabulary_;
  std::vector<std::string> carriers_;
  PythonRandom random_;
};

/// The project's own sets of records (prompts/geneval-*.jsonl), as datasets/README.md describes them.
struct ShapesSets {
  std::vector<GenevalRecord> evaluation, training;
};
ShapesSets make_shapes_sets();

/// Training records of the benchmark's classes without any whose prompt's words are in `excluded`.
std::vector<GenevalRecord> make_geneval_training(const std::set<std::string>& excluded);

/// 8 hex digits of the SHA-256 of a prompt's words in sorted order, joined by blanks: "a dog and a cat" and
/// "a cat and a dog" have the same.
std::string words_sum(const std::string& prompt);

}  // namespace harness
