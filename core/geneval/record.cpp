#include "core/geneval/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/unicode/plain_text.h"

namespace harness {

const std::array<std::string_view, 80> kGenevalClasses = {"person",
                                                          "bicycle",
                                                          "car",
                                                          "motorcycle",
                                                          "airplane",
                                                          "bus",
                                                          "train",
                                                          "truck",
                                                          "boat",
                                                          "traffic light",
                                                          "fire hydrant",
                                                          "stop sign",
                                                          "parking meter",
                                                          "bench",
                                                          "bird",
                                                          "cat",
                                                          "dog",
                                                          "horse",
                                                          "sheep",
                                                          "cow",
                                                          "elephant",
                                                          "bear",
                                                          "zebra",
                                                          "giraffe",
                                                          "backpack",
                                                          "umbrella",
                                                          "handbag",
                                                          "tie",
                                                          "suitcase",
                                                          "frisbee",
                                                          "skis",
                                                          "snowboard",
                                                          "sports ball",
                                                          "kite",
                                                          "baseball bat",
                                                          "baseball glove",
                                                          "skateboard",
                                                          "surfboard",
                                                          "tennis racket",
                                                          "bottle",
                                                          "wine glass",
                                                          "cup",
                                                          "fork",
                                                          "knife",
                                                          "spoon",
                                                          "bowl",
                                                          "banana",
                                                          "apple",
                                                          "sandwich",
                                                          "orange",
                                                          "broccoli",
                                                          "carrot",
                                                          "hot dog",
                                                          "pizza",
                                                          "donut",
                                                          "cake",
                                                          "chair",
                                                          "couch",
                                                          "potted plant",
                                                          "bed",
                                                          "dining table",
                                                          "toilet",
                                                          "tv",
                                                          "laptop",
                                                          "computer mouse",
                                                          "tv remote",
                                                          "computer keyboard",
                                                          "cell phone",
                                                          "microwave",
                                                          "oven",
                                                          "toaster",
                                                          "sink",
                                                          "refrigerator",
                                                          "book",
                                                          "clock",
                                                          "vase",
                                                          "scissors",
                                                          "teddy bear",
                                                          "hair drier",
                                                          "toothbrush"};
const std::array<std::string_view, 10> kGenevalColours = {"red",    "orange", "yellow", "green", "blue",
                                                          "purple", "pink",   "brown",  "black", "white"};
const std::array<std::string_view, 8> kShapeClasses = {"circle", "square", "triangle", "star",
                                                       "heart",  "cross",  "ring",     "diamond"};
const std::array<std::string_view, 6> kGenevalTags = {"single_object", "two_object", "counting",
                                                      "colors",        "position",   "color_attr"};

namespace {

constexpr std::array<std::string_view, 4> kRelations = {"left of", "right of", "above", "below"};

using Names = std::span<const std::string_view>;

[[noreturn]] void refuse_name(const Fields& fields, const std::string& key, const std::string& text,
                              Names known) {
  throw Error(fmt::format("unknown {} \"{}\"", key, text), fields.where() + "." + key,
              suggestion(text, std::vector<std::string>(known.begin(), known.end())));
}

/// The place of a field's text among names; Error with the nearest.
int index_of(Fields& fields, const std::string& key, Names names) {
  const auto text = fields.required<std::string>(key);
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) refuse_name(fields, key, text, names);
  return static_cast<int>(found - names.begin());
}

/// Label and vocabulary of a clause's class.
void read_class(Fields& fields, GenevalClause& clause) {
  const auto text = fields.required<std::string>("class");
  std::vector<std::string_view> known;
  for (const auto* vocabulary : {&benchmark_vocabulary(), &shapes_vocabulary()}) {
    const auto& classes = vocabulary->classes;
    if (const auto found = std::ranges::find(classes, text); found != classes.end()) {
      clause.vocabulary = vocabulary;
      clause.label = static_cast<int>(found - classes.begin());
      return;
    }
    known.insert(known.end(), classes.begin(), classes.end());
  }
  refuse_name(fields, "class", text, known);
}

/// ["right of", 0]
GenevalClause::Position read_position(const Json& value, std::size_t clause, const std::string& where) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number_integer())
    throw Error("must be [relation, index of an earlier clause]", where, R"(for instance ["left of", 0])");
  const auto text = value[0].get<std::string>();
  const auto relation = std::ranges::find(kRelations, text);
  if (relation == kRelations.end()) {
    throw Error(fmt::format("unknown relation \"{}\"", text), where,
                suggestion(text, std::vector<std::string>(kRelations.begin(), kRelations.end())));
  }
  const auto other = value[1].get<std::int64_t>();
  if (other < 0 || other >= static_cast<std::int64_t>(clause))
    throw Error(
        fmt::format("points at clause {}, and only those before clause {} can be meant", other, clause),
        where, "put the object that the other one is placed by first");
  return {static_cast<GenevalRelation>(relation - kRelations.begin()), static_cast<std::size_t>(other)};
}

GenevalClause read_clause(const Json& value, std::size_t index, bool is_included, const std::string& where) {
  Fields fields(value, where);
  GenevalClause clause;
  read_class(fields, clause);
  clause.count = fields.required<int>("count");
  if (clause.count < 1) throw Error(fmt::format("is {}", clause.count), where + ".count", "give 1 or more");
  if (is_included) {
    fields.mark("color");
    fields.mark("position");
  }
  if (is_included && fields.has("color")) clause.colour = index_of(fields, "color", kGenevalColours);
  if (is_included && fields.has("position"))
    clause.position = read_position(fields.get("position"), index, where + ".position");
  fields.finish();
  return clause;
}

void expect_one_vocabulary(const GenevalRecord& record, const std::string& where) {
  const auto check = [&](const std::vector<GenevalClause>& clauses) {
    for (const auto& clause : clauses) {
      if (clause.vocabulary == &record.vocabulary()) continue;
      throw Error(fmt::format("names a {} and a {}, and no detector detects both", clause.name(),
                              record.include.front().name()),
                  where, "ask for objects of one detector in each record");
    }
  };
  check(record.include);
  check(record.exclude);
}

Json to_json(const GenevalClause& clause) {
  Json json = {{"class", clause.name()}, {"count", clause.count}};
  if (clause.colour) json["color"] = kGenevalColours.at(static_cast<std::size_t>(*clause.colour));
  if (clause.position) json["position"] = {name_of(clause.position->relation), clause.position->other};
  return json;
}

/// As Python's json.dumps writes it, with a blank after each comma and colon.
std::string clause_line(const GenevalClause& clause) {
  auto line = fmt::format(R"({{"class": "{}", "count": {})", clause.name(), clause.count);
  if (clause.colour)
    line += fmt::format(R"(, "color": "{}")", kGenevalColours.at(static_cast<std::size_t>(*clause.colour)));
  if (clause.position)
    line += fmt::format(R"(, "position": ["{}", {}])", name_of(clause.position->relation),
                        clause.position->other);
  return line + "}";
}

std::string clauses_line(const std::vector<GenevalClause>& clauses) {
  std::vector<std::string> lines;
  for (const auto& clause : clauses) lines.push_back(clause_line(clause));
  return "[" + join(lines, ", ") + "]";
}

std::vector<GenevalClause> read_clauses(Fields& fields, const char* key) {
  const Json& list = fields.get(key);
  if (!list.is_array())
    throw Error("must be a list of clauses", fields.where() + ": " + key,
                R"(for instance [{"class": "dog", "count": 1}])");
  std::vector<GenevalClause> clauses;
  for (std::size_t i = 0; i < list.size(); ++i)
    clauses.push_back(read_clause(list[i], i, std::string_view(key) == "include",
                                  fmt::format("{}: {}[{}]", fields.where(), key, i)));
  return clauses;
}

/// Throws Error where one may be meant for the only key that a record can lack.
std::vector<std::string> unread_keys(Fields& fields) {
  const std::vector<std::string> optional = {"exclude"};
  auto keys = fields.unread();
  for (const auto& key : keys) {
    if (fields.has(optional.front()) || !nearest(key, optional)) continue;
    fields.mark(optional.front());
    fields.fail_unknown(key);
  }
  return keys;
}

}  // namespace

const GenevalVocabulary& benchmark_vocabulary() {
  static const GenevalVocabulary vocabulary{"geneval", kGenevalClasses};
  return vocabulary;
}

const GenevalVocabulary& shapes_vocabulary() {
  static const GenevalVocabulary vocabulary{"shapes", kShapeClasses};
  return vocabulary;
}

std::string_view name_of(GenevalRelation relation) {
  return kRelations.at(static_cast<std::size_t>(relation));
}

GenevalRecord read_geneval_record(const Json& document, const std::string& where) {
  if (!document.is_object())
    throw Error("is not a JSON object", where, R"(give {"tag", "prompt", "include"} a line)");
  Fields fields(document, where);
  GenevalRecord record;
  record.tag = kGenevalTags.at(static_cast<std::size_t>(index_of(fields, "tag", kGenevalTags)));
  record.prompt = fields.required<std::string>("prompt");
  record.include = read_clauses(fields, "include");
  if (fields.has("exclude")) record.exclude = read_clauses(fields, "exclude");
  record.unread = unread_keys(fields);
  if (record.include.empty()) throw Error("names no object", where + ": include", "name one or more");
  expect_one_vocabulary(record, where);
  return record;
}

Json to_json(const GenevalRecord& record) {
  Json json = {{"tag", record.tag}, {"prompt", record.prompt}, {"include", Json::array()}};
  for (const auto& clause : record.include) json["include"].push_back(to_json(clause));
  for (const auto& clause : record.exclude) json["exclude"].push_back(to_json(clause));
  return json;
}

std::string geneval_target(const GenevalRecord& record) {
  auto json = to_json(record);
  json.erase("prompt");
  return json.dump();
}

std::string geneval_line(const GenevalRecord& record) {
  const bool to_ascii = true;
  const auto exclude =
      record.exclude.empty() ? "" : fmt::format(R"("exclude": {}, )", clauses_line(record.exclude));
  return fmt::format(R"({{"tag": "{}", "include": {}, {}"prompt": {}}})", record.tag,
                     clauses_line(record.include), exclude, Json(record.prompt).dump(-1, ' ', to_ascii));
}

GenevalRecord record_of_target(const std::string& prompt, const std::string& target,
                               const std::string& where) {
  auto json = parse_json(target, where);
  if (!json.is_object()) throw Error("is not a GenEval record", where);
  json["prompt"] = prompt;
  return read_geneval_record(json, where);
}

std::vector<GenevalRecord> load_geneval_records(const std::filesystem::path& file) {
  std::vector<GenevalRecord> records;
  std::size_t number = 0;
  for (const auto& line : split(plain_text(read_file(file), file.string()), '\n')) {
    const auto where = fmt::format("{}: line {}", file.string(), ++number);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    records.push_back(read_geneval_record(parse_json_line(line, where), where));
  }
  if (records.empty()) throw Error("holds no record", file.string());
  return records;
}

}  // namespace harness
