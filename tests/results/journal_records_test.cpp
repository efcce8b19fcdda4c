#include "results/statistics/verdict.h"
#include "results/store/journal.h"
#include "tests/results/store_fixture.h"

// The journal's format: a workspace of any version is rebuilt from these lines.

namespace harness {
namespace {

template <class Record>
Json again(const Json& record) {
  return journal_record(from_journal<Record>(record));
}

template <class Record>
Json again_with_id_behind(const Json& record) {
  return journal_record(from_journal<Record>(record), record.at("data").at("id"));
}

template <class Record>
Json again_with_id_before(const Json& record) {
  return journal_record(record.at("data").at("id").get<std::int64_t>(), from_journal<Record>(record));
}

using Comparisons = std::vector<ComparisonRow>;

struct Line {
  Json (*rewritten)(const Json& record);
  const char* text;
};
const Line kLines[] = {
    {again<PromptSet>,
     R"({"data":{"known":true,"name":"n","origin":"o","prompts":[[0,"a sign","W"],[1,"none",""]],)"
     R"("sha256":"x"},"key":"x","type":"prompt_set"})"},
    {again<RunRecord>,
     R"({"data":{"arm":"slow","backbone":"glyph","config":{"k":1},"effective_settings":{"lr":0.001},)"
     R"("folder":"f","id":"r1","method":"dual","numerics_version":3,"requested_settings":{},)"
     R"("scale":"smoke","seed":42,"table":"t","task":"ocr","weights_sha256":"w"},)"
     R"("key":"r1","run":"r1","type":"run"})"},
    {again<CheckpointRecord>,
     R"({"data":{"clip_fraction":null,"lambda_late":0.5,"lambda_late_last":null,"path":"p","run":"r1",)"
     R"("sha256":null,"step":4},"key":"r1 4","run":"r1","type":"checkpoint"})"},
    {again<CheckpointRecord>,
     R"({"data":{"clip_fraction":null,"core_seconds":24.5,"lambda_late":null,"lambda_late_last":null,)"
     R"("path":"p","peak_bytes":1024,"run":"r1","scorer_seconds":0.25,"seconds":12.5,"sha256":"x","step":4,)"
     R"("weight_copies":2.0},"key":"r1 4","run":"r1","type":"checkpoint"})"},
    {again<EvaluationRecord>,
     R"({"data":{"config":{},"folder":"f","id":"e1","n":4,"peek":true,"prompt_set_sha256":"p",)"
     R"("run":"r1","scale":"smoke","seed":42,"selection":7,"settings":{"steps":10},"split":"test",)"
     R"("split_sha256":"s","step":4,"table":"t"},"key":"e1","run":"r1","type":"evaluation"})"},
    {again_with_id_behind<SelectionRecord>,
     R"({"data":{"candidates":["e1","e2"],"evaluation":"e1","id":7,"metric":"m","rule":"max",)"
     R"("run":"r1","split":"validation","step":4,"value":0.25},"key":"r1 validation m max e1,e2",)"
     R"("run":"r1","type":"selection"})"},
    {again<JobRecord>,
     R"({"data":{"evaluation":null,"folder":"runs/r1","id":"r1","kind":"train","run":"r1"},)"
     R"("key":"r1","run":"r1","type":"job"})"},
    {again_with_id_behind<ReproductionRecord>,
     R"({"data":{"backbone":"glyph","evaluations":["e2","e1"],"id":3,"methods":["dual"],)"
     R"("runs":[["r1","dual"]],"scale":"smoke","seeds":[42],"signature":"s","spec":{"k":1},"table":"t",)"
     R"("wall_seconds":1.5},"key":"3","type":"experiment"})"},
    {again_with_id_before<Comparisons>,
     R"({"data":{"comparisons":[{"baseline":"base","baseline_mean":0.5,"ci95":[-0.5,1.0],"clusters":4,)"
     R"("delta":0.25,"losses":1,"method":"dual","method_mean":0.75,"metric":"m","n":8,"n_missing":0,)"
     R"("note":"unequal movement","p_value":0.5,"runs":{"ci95":[0.125,0.375],"df":2.5,"n":3,)"
     R"("p_value":0.25,"se":0.0625},"split":"test","t":1.5,"test":"paired-t","ties":2,"wins":5}],)"
     R"("id":3},"key":"3","type":"comparisons"})"},
    {again_with_id_before<Comparisons>,
     R"({"data":{"comparisons":[{"baseline":"base","baseline_mean":0.5,"ci95":[-0.5,1.0],"clusters":4,)"
     R"("delta":0.25,"losses":1,"method":"dual","method_mean":0.75,"metric":"m","n":8,"n_missing":0,)"
     R"("note":"unequal movement","p_value":0.5,"prompts_won":0.75,"runs":{"ci95":[0.125,0.375],"df":2.5,)"
     R"("n":3,"p_value":0.25,"se":0.0625},"split":"test","t":1.5,"test":"paired-t","ties":2,"wins":5}],)"
     R"("id":3},"key":"3","type":"comparisons"})"},
    {again_with_id_before<Comparisons>,
     R"({"data":{"comparisons":[{"baseline":"base","baseline_mean":null,"ci95":null,"clusters":0,)"
     R"("delta":null,"losses":0,"method":"dual","method_mean":null,"metric":"m","n":0,"n_missing":8,)"
     R"("note":null,"p_value":null,"runs":null,"split":"test","t":null,"test":"paired-t","ties":0,)"
     R"("wins":0}],"id":3},"key":"3","type":"comparisons"})"},
    {again_with_id_before<std::vector<AlarmRecord>>,
     R"({"data":{"alarms":[{"baseline":"base","ci95":[0.25,0.5],"delta":0.375,"guardrail":"g",)"
     R"("harmful":"higher","method":"dual","minimal_effect":0.125,"p_holm":null,"reward":"m",)"
     R"("reward_ci95":[0.0625,0.25],"reward_delta":0.125,"rule_version":3,"split":"test"}],"id":3},)"
     R"("key":"3","type":"alarms"})"},
    {again<ArtifactRecord>, R"({"data":{"id":3,"name":"table.md","path":"p","sha256":"x","table":"t"},)"
                            R"("key":"t table.md 3","type":"artifact"})"},
    {again<ArtifactRecord>, R"({"data":{"id":null,"name":"grid.png","path":"p","sha256":"x","table":"t"},)"
                            R"("key":"t grid.png 0","type":"artifact"})"}};

TEST(JournalLine, IsReadAndWrittenWithTheSameBytes) {
  for (const auto& [rewritten, text] : kLines)
    EXPECT_EQ(canonical_json(rewritten(parse_json(text, "journal"))), text);
}

Error refusal_of(const std::string& data) {
  return error_of([&] {
    from_journal<CheckpointRecord>({{"type", "checkpoint"}, {"data", parse_json(data, "data")}});
  });
}

TEST(JournalRecord, ThatIsNotWholeIsRefusedWithTheFieldThatIsWrong) {
  EXPECT_EQ(refusal_of(R"({"run": "r1"})").problem(), R"("step" is missing)");
  EXPECT_EQ(refusal_of(R"({"run": "r1", "step": "4"})").problem(), R"("step" has the wrong type (string))");
  EXPECT_EQ(refusal_of("{}").where(), "journal: checkpoint");
  EXPECT_THROW(from_journal<RunRecord>({{"type", "run"}}), Error);
}

TEST(JournalRecord, OfAComparisonKeepsWhatItsClaimRestsOn) {
  Comparison comparison{.split = "test", .metric = "m", .baseline = "base", .method = "dual"};
  auto& runs = comparison.values.crossed.emplace();
  runs.runs = kFewestRuns;
  runs.ci = Interval{0.25, 0.5};
  runs.p_value = 0.125;
  const auto kept = from_journal<Comparisons>(journal_record(1, Comparisons{row_of(comparison)})).at(0);
  EXPECT_EQ(kept.claim, "methods");
  EXPECT_EQ(kept.runs, kFewestRuns);
  EXPECT_EQ(kept.runs_p_value, 0.125);
  EXPECT_EQ(kept.runs_ci95->high, 0.5);
}

}  // namespace
}  // namespace harness
