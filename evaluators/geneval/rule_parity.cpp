#include "evaluators/geneval/rule_parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluators/geneval/rule.h"

namespace harness {
namespace {

template <std::size_t N>
int index_in(const std::array<std::string_view, N>& names, const std::string& name,
             const std::string& where) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw Error(fmt::format("\"{}\" is unknown", name), where);
  return static_cast<int>(found - names.begin());
}

GenevalObject read_object(const Json& value, const std::string& where) {
  Fields fields(value, where);
  GenevalObject object{.box = fields.required<std::array<double, 4>>("bbox"),
                       .score = fields.required<float>("score")};
  const Json& colour = fields.get("color");
  if (!colour.is_null()) object.colour = index_in(kGenevalColours, colour.get<std::string>(), where);
  fields.finish();
  return object;
}

GenevalDetections read_detections(Fields fields) {
  GenevalDetections detections;
  for (const auto& name : fields.keys()) {
    const auto where = fields.where() + "." + name;
    auto& objects = detections[index_in(kGenevalClasses, name, where)];
    for (const auto& object : fields.get(name)) objects.push_back(read_object(object, where));
  }
  return detections;
}

GenevalRule read_rule(Fields params) {
  if (params.required<double>("nms_threshold") != 1)
    params.fail("nms_threshold", "is not 1, with which nothing is suppressed");
  return {.threshold = params.required<float>("threshold"),
          .counting_threshold = params.required<float>("counting_threshold"),
          .most = params.required<std::size_t>("max_objects"),
          .position_threshold = params.required<double>("position_threshold")};
}

/// A record of the case, whose expected verdict and detections stand beside it.
class Record {
 public:
  Record(const Json& document, const std::string& where)
      : fields_(document, where), name_(fields_.required<std::string>("name")) {
    Json own = {{"tag", fields_.get("tag")}, {"prompt", name_}, {"include", fields_.get("include")}};
    if (fields_.has("exclude")) own["exclude"] = fields_.get("exclude");
    record_ = read_geneval_record(own, where);
    detections_ = read_detections(fields_.object("detections"));
  }

  void hold_against(GenevalRule rule, const Tolerance& tolerance, ParityReport& report) {
    auto expected = fields_.object("expected");
    const auto kept = kept_objects(record_, detections_, rule);
    const auto verdict = judge(record_, kept, rule);
    rule.single_position = true;
    const auto single = judge(record_, kept, rule);
    expect_equal(verdict.correct, expected.required<bool>("correct"), "correct", report);
    expect_equal(verdict.reason, expected.required<std::string>("reason"), "reason", report);
    expect_equal(verdict.strict, expected.required<bool>("strict_correct"), "strict_correct", report);
    add(verdict.score, expected.required<double>("score"), "score", tolerance, report);
    add(single.score, expected.required<double>("score_single_position"), "score_single_position", tolerance,
        report);
  }

 private:
  template <class T>
  void expect_equal(const T& ours, const T& theirs, const char* what, ParityReport& report) const {
    if (ours != theirs) report.fail(name_ + "." + what, fmt::format("{} instead of {}", ours, theirs));
  }
  void add(double ours, double theirs, const char* what, const Tolerance& tolerance,
           ParityReport& report) const {
    report.add(name_ + "." + what, std::abs(ours - theirs), std::abs(theirs), tolerance);
  }

  Fields fields_;
  std::string name_;
  GenevalRecord record_;
  GenevalDetections detections_;
};

}  // namespace

ParityReport check_geneval_rule_case(const std::filesystem::path& folder) {
  const auto file = folder / "case.json";
  const Json document = read_json(file);
  Fields fields(document, file.string());
  ParityReport report{.name = fields.required<std::string>("name"), .kind = "geneval_rule"};
  const auto rule = read_rule(fields.object("params"));
  const auto tolerance = Tolerance::of(fields.get("tolerance"), "score");
  const Json& records = fields.get("records");
  if (!records.is_array() || records.empty()) fields.fail("records", "must be a list");
  for (std::size_t i = 0; i < records.size(); ++i)
    Record(records[i], fmt::format("{}: records[{}]", file.string(), i))
        .hold_against(rule, tolerance, report);
  return report;
}

}  // namespace harness
