#include "datasets/geneval_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::array<std::string_view, 3> kNumbers = {"two", "three", "four"};  // of counting, from 2
constexpr std::array kRelations = {GenevalRelation::kLeftOf, GenevalRelation::kRightOf,
                                   GenevalRelation::kAbove, GenevalRelation::kBelow};

std::string with_article(std::string_view name) {
  const bool vowel = std::string_view("aeiou").find(name.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", name);
}

/// As the benchmark writes it: "sheeps", "benchs", "buses".
std::string plural(const std::string& name) {
  return name + (name.back() == 's' ? "es" : "s");
}

std::string colour_of(const GenevalClause& clause) {
  return std::string(kGenevalColours.at(static_cast<std::size_t>(*clause.colour)));
}

std::string named(const GenevalClause& clause) {
  return with_article(clause.colour ? colour_of(clause) + " " + clause.name() : clause.name());
}

/// How many records of a tag a set has.
struct Share {
  std::string_view tag;
  int records;
};

/// Draws until each tag has its share of records that `takes` accepts; in random order.
std::vector<GenevalRecord> draw_shares(GenevalGenerator& generator, const std::vector<Share>& shares,
                                       const std::function<bool(const GenevalRecord&)>& takes) {
  std::vector<GenevalRecord> records;
  for (const auto& share : shares) {
    for (int left = share.records; left > 0;) {
      auto record = generator.draw(share.tag);
      if (!takes(record)) continue;
      records.push_back(std::move(record));
      --left;
    }
  }
  generator.random().shuffle(records);
  return records;
}

}  // namespace

GenevalGenerator::GenevalGenerator(const GenevalVocabulary& vocabulary, std::vector<std::string> carriers,
                                   std::string_view decimal_seed)
    : vocabulary_(vocabulary), carriers_(std::move(carriers)), random_(decimal_seed) {}

int GenevalGenerator::any(std::size_t of) {
  return static_cast<int>(random_.randrange(static_cast<std::int64_t>(of)));
}

GenevalGenerator::Pair GenevalGenerator::two(std::size_t of) {
  const int first = any(of), second = any(of - 1);
  return {first, second < first ? second : second + 1};
}

int GenevalGenerator::coloured_class() {
  const bool has_person = vocabulary_.classes.front() == "person";
  return has_person ? 1 + any(vocabulary_.classes.size() - 1) : any(vocabulary_.classes.size());
}

GenevalGenerator::Pair GenevalGenerator::two_coloured_classes() {
  const int first = coloured_class();
  int second = first;
  while (second == first) second = coloured_class();
  return {first, second};
}

GenevalClause GenevalGenerator::clause(int label, int count) const {
  return {.label = label, .count = count, .vocabulary = &vocabulary_};
}

GenevalClause GenevalGenerator::coloured(int label, int colour) const {
  return {.label = label, .colour = colour, .vocabulary = &vocabulary_};
}

void GenevalGenerator::describe(GenevalRecord& record, const std::string& things) {
  record.prompt = carriers_.at(static_cast<std::size_t>(any(carriers_.size()))) + " " + things;
}

void GenevalGenerator::single_object(GenevalRecord& record) {
  record.include = {clause(any(vocabulary_.classes.size()))};
  describe(record, named(record.include[0]));
}

void GenevalGenerator::two_object(GenevalRecord& record) {
  const auto [a, b] = two(vocabulary_.classes.size());
  record.include = {clause(a), clause(b)};
  describe(record, named(record.include[0]) + " and " + named(record.include[1]));
}

void GenevalGenerator::counting(GenevalRecord& record) {
  const int label = any(vocabulary_.classes.size());
  const int number = any(kNumbers.size());
  record.include = {clause(label, number + 2)};
  record.exclude = {clause(label, number + 3)};
  describe(record, fmt::format("{} {}", kNumbers.at(static_cast<std::size_t>(number)),
                               plural(record.include[0].name())));
}

void GenevalGenerator::colors(GenevalRecord& record) {
  const int label = coloured_class();
  record.include = {coloured(label, any(kGenevalColours.size()))};
  describe(record, named(record.include[0]));
}

void GenevalGenerator::position(GenevalRecord& record) {
  const auto [placed, other] = two(vocabulary_.classes.size());
  const auto relation = kRelations.at(static_cast<std::size_t>(any(kRelations.size())));
  record.include = {clause(other), clause(placed)};
  record.include[1].position = {.relation = relation, .other = 0};
  describe(record,
           fmt::format("{} {} {}", named(record.include[1]), name_of(relation), named(record.include[0])));
}

void GenevalGenerator::color_attr(GenevalRecord& record) {
  const auto [a, b] = two_coloured_classes();
  const auto [of_a, of_b] = two(kGenevalColours.size());
  record.include = {coloured(a, of_a), coloured(b, of_b)};
  describe(record, named(record.include[0]) + " and " + named(record.include[1]));
}

GenevalRecord GenevalGenerator::draw(std::string_view tag) {
  using Draw = void (GenevalGenerator::*)(GenevalRecord&);
  // In the order of kGenevalTags.
  constexpr std::array<Draw, kGenevalTags.size()> kDraws = {
      &GenevalGenerator::single_object, &GenevalGenerator::two_object, &GenevalGenerator::counting,
      &GenevalGenerator::colors,        &GenevalGenerator::position,   &GenevalGenerator::color_attr};
  const auto found = std::ranges::find(kGenevalTags, tag);
  if (found == kGenevalTags.end())
    throw Error(fmt::format("unknown tag \"{}\"", tag), "tag",
                suggestion(tag, std::vector<std::string>(kGenevalTags.begin(), kGenevalTags.end())));
  GenevalRecord record{.tag = std::string(tag), .prompt = {}, .include = {}, .exclude = {}};
  (this->*kDraws.at(static_cast<std::size_t>(found - kGenevalTags.begin())))(record);
  return record;
}

ShapesSets make_shapes_sets() {
  GenevalGenerator generator(shapes_vocabulary(),
                             {"a photo of", "a picture of", "a drawing of", "an image of"}, "20260501");
  // Of single_object there are 32 prompts, of counting 96, of two_object 224, of colors 320.
  const std::vector<Share> evaluation = {{"single_object", 24}, {"two_object", 104}, {"counting", 60},
                                         {"colors", 108},       {"position", 108},   {"color_attr", 108}};
  const std::vector<Share> training = {{"single_object", 32}, {"two_object", 192}, {"counting", 200},
                                       {"colors", 200},       {"position", 200},   {"color_attr", 200}};
  ShapesSets sets;
  std::set<std::string> evaluated;
  sets.evaluation = draw_shares(generator, evaluation, [&](const GenevalRecord& record) {
    return evaluated.insert(record.prompt).second;
  });
  sets.training = draw_shares(
      generator, training, [&](const GenevalRecord& record) { return !evaluated.contains(record.prompt); });
  return sets;
}

std::vector<GenevalRecord> make_geneval_training(const std::set<std::string>& excluded) {
  GenevalGenerator generator(benchmark_vocabulary(), {"a photo of"}, "20260501");
  // The weights of Flow-GRPO's training set (dataset/merge_genevaltask.py): 7 : 5 : 3 : 1 : 1.
  const std::vector<Share> shares = {
      {"position", 896}, {"counting", 640}, {"color_attr", 384}, {"colors", 128}, {"two_object", 128}};
  return draw_shares(generator, shares, [&](const GenevalRecord& record) {
    return !excluded.contains(words_sum(record.prompt));
  });
}

std::string words_sum(const std::string& prompt) {
  constexpr std::size_t kDigits = 8;
  auto words = split(prompt, ' ');
  std::ranges::sort(words);
  return sha256_hex(join(words, " ")).substr(0, kDigits);
}

}  // namespace harness
