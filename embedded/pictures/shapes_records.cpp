#include "embedded/pictures/shapes_records.h"

#include <algorithm>
#include <set>
#include <string>

#include "datasets/geneval_generator.h"

namespace harness {
namespace {

constexpr int kDraws = 3000;  // of a tag

/// Share of each tag, in the order of kGenevalTags.
constexpr std::array<double, 6> kShares = {.08, .16, .18, .20, .18, .20};

}  // namespace

ShapesRecords::ShapesRecords(std::uint64_t seed) {
  std::set<std::string> held_out;
  for (const auto& record : make_shapes_sets().evaluation) held_out.insert(words_sum(record.prompt));
  GenevalGenerator generator(shapes_vocabulary(),
                             {"a photo of", "a picture of", "a drawing of", "an image of"},
                             std::to_string(seed));
  for (std::size_t tag = 0; tag < by_tag_.size(); ++tag) {
    for (int i = 0; i < kDraws; ++i) {
      auto record = generator.draw(kGenevalTags.at(tag));
      if (!held_out.contains(words_sum(record.prompt))) by_tag_.at(tag).push_back(std::move(record));
    }
  }
}

const GenevalRecord& ShapesRecords::any(DataEngine& engine) const {
  double left = uniform(engine);
  std::size_t tag = 0;
  while (tag + 1 < kShares.size() && left >= kShares.at(tag)) left -= kShares.at(tag++);
  const auto& records = by_tag_.at(tag);
  return records.at(static_cast<std::size_t>(uniform_int(engine, 0, static_cast<int>(records.size()) - 1)));
}

}  // namespace harness
