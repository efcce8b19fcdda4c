#include "evaluators/geneval/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

using Objects = std::span<const GenevalObject>;

Objects objects_of(const GenevalDetections& kept, int label) {
  const auto found = kept.find(label);
  return found == kept.end() ? Objects{} : Objects(found->second);
}

std::size_t wanted(const GenevalClause& clause) {
  return static_cast<std::size_t>(clause.count);
}

std::string colour_name(int colour) {
  return std::string(kGenevalColours.at(static_cast<std::size_t>(colour)));
}

int colour_of(const GenevalObject& object, const GenevalClause& clause) {
  if (!object.colour)
    throw Error(fmt::format("the colour of a {} was not classified", clause.name()), "geneval", "",
                Status::kFailed);
  return *object.colour;
}

std::size_t count_of_colour(Objects objects, const GenevalClause& clause) {
  return static_cast<std::size_t>(std::ranges::count_if(
      objects, [&](const GenevalObject& object) { return colour_of(object, clause) == *clause.colour; }));
}

/// "2 red, 1 blue" in the benchmark's order of colours.
std::string colours_seen(Objects objects, const GenevalClause& clause) {
  std::vector<std::string> seen;
  for (int colour = 0; colour < static_cast<int>(kGenevalColours.size()); ++colour) {
    const auto count = std::ranges::count_if(
        objects, [&](const GenevalObject& object) { return colour_of(object, clause) == colour; });
    if (count > 0) seen.push_back(fmt::format("{} {}", count, colour_name(colour)));
  }
  return join(seen, ", ");
}

/// The relations that `a` has to `b`, in alphabetical order: of their centres, whose distance on either axis
/// is shortened by what overlap allows, against the length of the distance that was not.
std::vector<GenevalRelation> relations_of(const GenevalObject& a, const GenevalObject& b, double allowed) {
  constexpr double kNothing = 1e-3, kEnough = 0.5;
  const auto axis = [&](std::size_t low, std::size_t high) {
    const double offset = (a.box[low] + a.box[high]) / 2 - (b.box[low] + b.box[high]) / 2;
    const double sizes = std::abs(a.box[high] - a.box[low]) + std::abs(b.box[high] - b.box[low]);
    const double shortened = std::max(std::abs(offset) - allowed * sizes, 0.0);
    return std::pair(offset, std::copysign(shortened, offset));
  };
  const auto [offset_x, x] = axis(0, 2);
  const auto [offset_y, y] = axis(1, 3);
  if (std::abs(x) < kNothing && std::abs(y) < kNothing) return {};
  const double length = std::hypot(offset_x, offset_y);
  std::vector<GenevalRelation> relations;
  if (y / length < -kEnough) relations.push_back(GenevalRelation::kAbove);
  if (y / length > kEnough) relations.push_back(GenevalRelation::kBelow);
  if (x / length < -kEnough) relations.push_back(GenevalRelation::kLeftOf);
  if (x / length > kEnough) relations.push_back(GenevalRelation::kRightOf);
  return relations;
}

/// What the first pair of `objects` and `targets` that lacks the relation has instead; nothing if all have
/// it.
std::optional<std::string> wrong_relation(Objects objects, Objects targets, GenevalRelation asked,
                                          double allowed) {
  for (const auto& object : objects) {
    for (const auto& target : targets) {
      const auto relations = relations_of(object, target, allowed);
      if (std::ranges::count(relations, asked) > 0) continue;
      std::vector<std::string> names;
      for (const auto relation : relations) names.emplace_back(name_of(relation));
      return join(names, " and ");
    }
  }
  return std::nullopt;
}

/// The benchmark's verdict.
class Correctness {
 public:
  Correctness(const GenevalRecord& record, const GenevalDetections& kept, const GenevalRule& rule)
      : kept_(kept), rule_(rule) {
    for (const auto& clause : record.include) add(clause);
    for (const auto& clause : record.exclude) {
      const auto count = objects_of(kept_, clause.label).size();
      if (count >= wanted(clause))
        wrong(fmt::format("expected {}<{}, found {}", clause.name(), clause.count, count));
    }
  }

  std::string reason() const { return join(reasons_, "\n"); }

 private:
  void wrong(std::string reason) { reasons_.push_back(std::move(reason)); }

  void add(const GenevalClause& clause) {
    const auto all = objects_of(kept_, clause.label);
    const auto found = all.first(std::min(all.size(), wanted(clause)));
    const auto before = reasons_.size();
    if (found.size() < wanted(clause)) {
      wrong(fmt::format("expected {}>={}, found {}", clause.name(), clause.count, found.size()));
    } else {
      check_colour(clause, found);
      if (reasons_.size() == before) check_position(clause, found);
    }
    groups_.push_back(reasons_.size() == before ? found : Objects{});
  }

  void check_colour(const GenevalClause& clause, Objects found) {
    if (!clause.colour) return;
    const auto count = count_of_colour(found, clause);
    if (count >= wanted(clause)) return;
    const auto colour = colour_name(*clause.colour);
    wrong(fmt::format("expected {} {}>={}, found {} {}; and {}", colour, clause.name(), clause.count, count,
                      colour, colours_seen(found, clause)));
  }

  void check_position(const GenevalClause& clause, Objects found) {
    if (!clause.position) return;
    const auto asked = clause.position->relation;
    const auto targets = groups_.at(clause.position->other);
    if (targets.empty())
      return wrong(fmt::format("no target for {} to be {}", clause.name(), name_of(asked)));
    if (const auto is = wrong_relation(found, targets, asked, rule_.position_threshold))
      wrong(fmt::format("expected {} {} target, found {} target", clause.name(), name_of(asked), *is));
  }

  const GenevalDetections& kept_;
  const GenevalRule& rule_;
  std::vector<std::string> reasons_;
  std::vector<Objects> groups_;  ///< by clause, what met it; empty where nothing did
};

/// The graded score of public training code (yifan123/reward-server, gen_eval.py), and its strict flag.
class Grade {
 public:
  Grade(const GenevalRecord& record, const GenevalDetections& kept, const GenevalRule& rule)
      : kept_(kept), rule_(rule) {
    for (const auto& clause : record.include) add(clause);
  }

  double score() const {
    double sum = 0;
    for (const double term : terms_) sum += term;
    return terms_.empty() ? 0 : sum / static_cast<double>(terms_.size());
  }
  bool strict() const { return strict_; }

 private:
  /// 1 - |asked - there| / asked, which has no lower bound.
  static double closeness(std::size_t asked, std::size_t there) {
    const auto n = static_cast<double>(asked);
    return 1 - std::abs(n - static_cast<double>(there)) / n;
  }

  void add(const GenevalClause& clause) {
    const auto found = objects_of(kept_, clause.label);
    terms_.push_back(closeness(wanted(clause), found.size()));
    bool right = found.size() == wanted(clause);
    if (!right) {
      if (clause.colour || clause.position) terms_.push_back(0);
    } else {
      right = add_colour(clause, found);
      if (right) right = add_position(clause, found);
    }
    strict_ = strict_ && right;
    groups_.push_back(right ? found : Objects{});
  }

  bool add_colour(const GenevalClause& clause, Objects found) {
    if (!clause.colour) return true;
    const auto count = count_of_colour(found, clause);
    terms_.push_back(closeness(wanted(clause), count));
    return count == wanted(clause);
  }

  bool add_position(const GenevalClause& clause, Objects found) {
    if (!clause.position) return true;
    const auto targets = groups_.at(clause.position->other);
    if (targets.empty()) {
      terms_.push_back(0);
      return false;
    }
    const bool holds =
        !wrong_relation(found, targets, clause.position->relation, rule_.position_threshold).has_value();
    if (!holds) terms_.push_back(0);
    if (holds || !rule_.single_position) terms_.push_back(1);
    return holds;
  }

  const GenevalDetections& kept_;
  const GenevalRule& rule_;
  std::vector<double> terms_;
  std::vector<Objects> groups_;
  bool strict_ = true;
};

}  // namespace

GenevalDetections kept_objects(const GenevalRecord& record, const GenevalDetections& all,
                               const GenevalRule& rule) {
  const float threshold = record.is_counting() ? rule.counting_threshold : rule.threshold;
  GenevalDetections kept;
  for (const auto& [label, objects] : all) {
    auto& best = kept[label];
    std::ranges::copy_if(objects, std::back_inserter(best),
                         [&](const GenevalObject& object) { return object.score > threshold; });
    std::ranges::stable_sort(best, std::greater<>(), &GenevalObject::score);
    if (best.size() > rule.most) best.resize(rule.most);
  }
  return kept;
}

std::map<int, std::size_t> objects_to_colour(const GenevalRecord& record, const GenevalDetections& kept) {
  std::map<int, std::size_t> first;
  for (const auto& clause : record.include) {
    // With fewer than asked for no rule looks at colours; with more only the benchmark's, at so many.
    if (clause.colour && objects_of(kept, clause.label).size() >= wanted(clause))
      first[clause.label] = std::max(first[clause.label], wanted(clause));
  }
  return first;
}

GenevalVerdict judge(const GenevalRecord& record, const GenevalDetections& kept, const GenevalRule& rule) {
  const auto reason = Correctness(record, kept, rule).reason();
  const Grade grade(record, kept, rule);
  return {.correct = reason.empty(), .reason = reason, .score = grade.score(), .strict = grade.strict()};
}

}  // namespace harness
