#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace harness {

/// The 80 classes of GenEval's detector by label, under the benchmark's names (COCO's mouse, remote and
/// keyboard are "computer mouse", "tv remote" and "computer keyboard" there), and its ten colours, both in
/// the benchmark's order.
extern const std::array<std::string_view, 80> kGenevalClasses;
extern const std::array<std::string_view, 10> kGenevalColours;

/// The classes that the embedded models draw and detect, by label.
extern const std::array<std::string_view, 8> kShapeClasses;

/// What records name and a detector finds. No class is in two vocabularies.
struct GenevalVocabulary {
  std::string_view name;  ///< "geneval", "shapes"
  std::span<const std::string_view> classes;
};
const GenevalVocabulary& benchmark_vocabulary();
const GenevalVocabulary& shapes_vocabulary();
/// single_object, two_object, counting, colors, position, color_attr.
extern const std::array<std::string_view, 6> kGenevalTags;

/// Where an object must lie relative to others: in the image, whose y points down.
enum class GenevalRelation { kLeftOf, kRightOf, kAbove, kBelow };
/// "left of", "right of", "above", "below".
std::string_view name_of(GenevalRelation relation);

/// What a clause of a record asks for.
struct GenevalClause {
  int label = 0;  ///< index in the vocabulary's classes
  int count = 1;
  std::optional<int> colour = {};  ///< index in kGenevalColours
  struct Position {
    GenevalRelation relation = GenevalRelation::kLeftOf;
    std::size_t other = 0;  ///< index of an earlier clause of `include`
  };
  std::optional<Position> position = {};
  const GenevalVocabulary* vocabulary = &benchmark_vocabulary();

  std::string name() const { return std::string(vocabulary->classes[static_cast<std::size_t>(label)]); }
};

/// A prompt of GenEval (Ghosh et al. 2023, arXiv:2310.11513) with what its image must hold.
struct GenevalRecord {
  std::string tag, prompt;
  std::vector<GenevalClause> include;
  std::vector<GenevalClause> exclude;    ///< no more than so many: a class and a count each
  std::vector<std::string> unread = {};  ///< keys that the benchmark ignores: "id", "source"

  bool is_counting() const { return tag == "counting"; }
  const GenevalVocabulary& vocabulary() const { return *include.front().vocabulary; }
};

/// Throws Error naming the field: a class, colour, relation or tag that no vocabulary knows (with the
/// nearest), classes of two vocabularies, a count below 1, a position that points at no earlier clause,
/// another type, an unknown key of a clause, and of the record one that may be a misspelt "exclude".
GenevalRecord read_geneval_record(const Json& document, const std::string& where);

/// The record as read_geneval_record reads it.
Json to_json(const GenevalRecord& record);

/// All of a record but its prompt, in one line: the target of a prompt set, of a scorer's text and of the DB.
std::string geneval_target(const GenevalRecord& record);
/// The record as the benchmark's own files write it: equal records give equal bytes, without a newline.
std::string geneval_line(const GenevalRecord& record);
/// The record of a prompt and its target. Throws Error (where: `where`) for any other target.
GenevalRecord record_of_target(const std::string& prompt, const std::string& target,
                               const std::string& where);

/// A file of one JSON object a line (plain_text); blank lines are skipped. Throws Error naming file and line.
std::vector<GenevalRecord> load_geneval_records(const std::filesystem::path& file);

}  // namespace harness
