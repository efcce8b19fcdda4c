#pragma once

#include <array>
#include <filesystem>
#include <optional>
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
/// single_object, two_object, counting, colors, position, color_attr.
extern const std::array<std::string_view, 6> kGenevalTags;

/// Where an object must lie relative to others: in the image, whose y points down.
enum class GenevalRelation { kLeftOf, kRightOf, kAbove, kBelow };
/// "left of", "right of", "above", "below".
std::string_view name_of(GenevalRelation relation);

/// What a clause of a record asks for.
struct GenevalClause {
  int label = 0;  ///< index in kGenevalClasses
  int count = 1;
  std::optional<int> colour = {};  ///< index in kGenevalColours
  struct Position {
    GenevalRelation relation = GenevalRelation::kLeftOf;
    std::size_t other = 0;  ///< index of an earlier clause of `include`
  };
  std::optional<Position> position = {};

  std::string name() const { return std::string(kGenevalClasses.at(static_cast<std::size_t>(label))); }
};

/// A prompt of GenEval (Ghosh et al. 2023, arXiv:2310.11513) with what its image must hold.
struct GenevalRecord {
  std::string tag, prompt;
  std::vector<GenevalClause> include;
  std::vector<GenevalClause> exclude;  ///< no more than so many: a class and a count each

  bool is_counting() const { return tag == "counting"; }
};

/// Throws Error naming the field: a class, colour, relation or tag that the benchmark does not know (with the
/// nearest), a count below 1, a position that points at no earlier clause, a key or type that is none of its.
GenevalRecord read_geneval_record(const Json& document, const std::string& where);

/// A file of one JSON object a line; blank lines are skipped. Throws Error naming file and line.
std::vector<GenevalRecord> load_geneval_records(const std::filesystem::path& file);

}  // namespace harness
