#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/geneval/record.h"

namespace harness {

/// An object that the detector found: box x0, y0, x1, y1 in pixels, y down.
struct GenevalObject {
  std::array<double, 4> box{};
  float score = 0;
  std::optional<int> colour = {};  ///< what the classifier answered; index in kGenevalColours
};

/// By class label.
using GenevalDetections = std::map<int, std::vector<GenevalObject>>;

/// How detections are judged; the defaults are the benchmark's (djghosh13/geneval, evaluate_images.py).
struct GenevalRule {
  float threshold = 0.3F, counting_threshold = 0.9F;  ///< scores above this count
  std::size_t most = 16;                              ///< objects of a class
  double position_threshold = 0.1;                    ///< overlap that a relation allows, in sizes
  /// What training code of the field rewards: a pair in the wrong relation adds a term 0 and then, all the
  /// same, a term 1. True: the term 0 alone.
  bool single_position = false;
};

/// What a picture is worth.
struct GenevalVerdict {
  bool correct = false;  ///< the benchmark's; more objects than asked pass, except in counting
  std::string reason;    ///< why it is not, one line each
  double score = 0;      ///< graded: the mean of the clauses' terms, at most 1 and not bounded by 0
  bool strict = false;   ///< every clause is met exactly
};

/// Of each class those whose score counts, best first (of equal ones in their order), at most `most`.
GenevalDetections kept_objects(const GenevalRecord& record, const GenevalDetections& all,
                               const GenevalRule& rule = {});

/// Those of the kept objects whose colour the verdict depends on: by label, the first so many.
std::map<int, std::size_t> objects_to_colour(const GenevalRecord& record, const GenevalDetections& kept);

/// `kept`: of kept_objects, coloured where objects_to_colour says. Throws Error where a colour is missing.
GenevalVerdict judge(const GenevalRecord& record, const GenevalDetections& kept,
                     const GenevalRule& rule = {});

}  // namespace harness
