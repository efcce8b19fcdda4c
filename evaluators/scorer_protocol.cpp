#include "evaluators/scorer_protocol.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/score_limit.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr int kLongestSide = 16384;

/// A JSON line; dump() escapes line feeds inside strings, and replaces what is not UTF-8 instead of throwing.
std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The lines are open for further fields: a reader ignores what it does not know.
Json object_of(std::string_view line, const std::string& where) {
  constexpr std::size_t kShown = 60;
  Json value;
  try {
    value = parse_json_line(line, where);
  } catch (const Error& error) {
    throw Error(fmt::format("its standard output holds a line that is no JSON ({}): {}; print messages on "
                            "standard error",
                            error.problem(), in_quotes(line.substr(0, kShown))),
                where);
  }
  if (!value.is_object()) throw Error("not a JSON object", where);
  return value;
}

std::vector<ScorerData> data_of(const Json& list, const std::string& where) {
  if (!list.is_array()) throw Error("\"data\" is not a list", where);
  std::vector<ScorerData> data;
  for (const Json& entry : list) {
    Fields fields(entry, fmt::format("{}: data[{}]", where, data.size()));
    data.push_back({fields.required<std::string>("file"), fields.required<std::string>("sha256")});
  }
  return data;
}

/// The line with NaN, Infinity and -Infinity, which many writers put in the place of numbers and JSON does
/// not have, in double quotes.
std::string with_quoted_non_numbers(std::string_view line) {
  constexpr std::array<std::string_view, 3> kWords{"NaN", "-Infinity", "Infinity"};
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto rest = line.substr(i);
    const auto* word = std::find_if(kWords.begin(), kWords.end(),
                                    [&](std::string_view w) { return !in_text && rest.starts_with(w); });
    if (word != kWords.end()) {
      out += fmt::format("\"{}\"", *word);
      i += word->size() - 1;
      continue;
    }
    if (in_text && line[i] == '\\' && i + 1 < line.size()) {
      out += line.substr(i++, 2);
      continue;
    }
    if (line[i] == '"') in_text = !in_text;
    out += line[i];
  }
  return out;
}

bool is_printable(std::u32string_view words) {
  constexpr std::size_t kPiece = 16;  // in_quotes cuts long texts
  for (std::size_t at = 0; at < words.size(); at += kPiece) {
    auto piece = utf32_to_utf8(words.substr(at, kPiece));
    std::erase_if(piece, [](char c) { return c == '"' || c == '\\'; });
    if (in_quotes(piece) != fmt::format("\"{}\"", piece)) return false;
  }
  return true;
}

/// A scorer's own words, on one printable line of bounded length.
std::string readable(const std::string& text) {
  constexpr std::size_t kLongest = 400;
  return text.size() <= kLongest && is_printable(utf8_to_utf32(text)) ? text : in_quotes(text);
}

/// An absent field of a hello, where something is stated instead of it.
template <class T>
T field_or(Fields& fields, const std::string& key, const ScorerHello* stated, const T& fallback) {
  return stated != nullptr && !fields.has(key) ? fallback : fields.required<T>(key);
}

void read_value(const Json& value, const std::string& name, ScorerAnswer& answer) {
  if (value.is_number() && is_usable_score(value.get<double>())) {
    answer.values[name] = value.get<double>();
  } else if (value.is_number() && std::isfinite(value.get<double>())) {
    answer.unusable[name] = fmt::format("{:.4g}, which is beyond the limit of {:g} either way",
                                        value.get<double>(), kLargestScore);
  } else {
    const auto text = value.is_string() ? value.get<std::string>()
                                        : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    answer.unusable[name] = fmt::format("{}, which is no number", in_quotes(text));
  }
}

}  // namespace

Json ScorerHello::to_json() const {
  Json files = Json::array();
  for (const ScorerData& entry : data) files.push_back({{"file", entry.file}, {"sha256", entry.sha256}});
  return {{"protocol", kScorerProtocol},
          {"name", name},
          {"version", version},
          {"settings", settings},
          {"data", files}};
}

ScorerHello parse_hello(std::string_view line, const std::string& where, const ScorerHello* stated) {
  const Json value = object_of(line, where);
  Fields fields(value, where);
  const int protocol = fields.required<int>("protocol");
  if (protocol != kScorerProtocol) {
    throw Error(fmt::format("speaks scorer protocol {}, this program {}", protocol, kScorerProtocol), where);
  }
  if (fields.has("error")) throw Error(readable(fields.required<std::string>("error")), where);
  const ScorerHello nothing;
  const ScorerHello& known = stated != nullptr ? *stated : nothing;
  ScorerHello hello{field_or(fields, "name", stated, known.name),
                    field_or(fields, "version", stated, known.version), known.settings, known.data};
  if (stated == nullptr || fields.has("settings")) hello.settings = fields.get("settings");
  if (stated == nullptr || fields.has("data")) hello.data = data_of(fields.get("data"), where);
  if (stated != nullptr && (hello.name != stated->name || hello.version != stated->version)) {
    throw Error(
        fmt::format("says that it is {} version {}, and {} version {} was expected", in_quotes(hello.name),
                    in_quotes(hello.version), in_quotes(stated->name), in_quotes(stated->version)),
        where);
  }
  if (!hello.settings.is_object()) throw Error("\"settings\" is not an object", where);
  return hello;
}

std::string request_line(const ScorerRequest& request) {
  Json line{{"id", request.id}, {"width", request.width}, {"height", request.height}};
  if (request.path.empty()) {
    line["channels"] = 3;
    line["bytes"] = request.bytes();
  } else {
    line["path"] = request.path;
  }
  if (request.text) {
    line["prompt"] = request.text->prompt;
    line["target"] = request.text->target;
  }
  return line_of(line);
}

ScorerRequest parse_request(std::string_view line) {
  const std::string where = "request";
  const Json value = object_of(line, where);
  Fields fields(value, where);
  const ScorerRequest request{fields.required<std::uint64_t>("id"), fields.required<int>("width"),
                              fields.required<int>("height")};
  for (const int side : {request.width, request.height}) {
    if (side < 1 || side > kLongestSide)
      throw Error(fmt::format("{} pixels a side", side), where, "1 to 16384 are allowed");
  }
  if (fields.required<int>("channels") != 3) throw Error("\"channels\" is not 3", where);
  if (fields.required<std::size_t>("bytes") != request.bytes()) {
    throw Error("\"bytes\" is not width x height x 3", where);
  }
  return request;
}

std::string answer_line(std::uint64_t id, const ScorerAnswer& answer) {
  Json value{{"id", id}};
  if (answer.error) {
    value["error"] = *answer.error;
    return line_of(value);
  }
  if (answer.transcript_raw) value["transcript_raw"] = *answer.transcript_raw;
  if (answer.confidence) value["confidence"] = *answer.confidence;
  if (!answer.values.empty()) value["values"] = answer.values;
  return line_of(value);
}

ScorerAnswer parse_answer(std::string_view line, std::uint64_t id) {
  const std::string where = "answer";
  const Json value = object_of(with_quoted_non_numbers(line), where);
  Fields fields(value, where);
  if (fields.required<std::uint64_t>("id") != id) throw Error("it answers another image", where);
  ScorerAnswer answer;
  if (fields.has("error")) {
    answer.error = readable(fields.required<std::string>("error"));
    return answer;
  }
  if (fields.has("transcript_raw")) answer.transcript_raw = fields.required<std::string>("transcript_raw");
  if (fields.has("confidence")) answer.confidence = fields.required<double>("confidence");
  if (fields.has("values")) {
    Fields values = fields.object("values");
    for (const std::string& name : values.keys()) read_value(values.get(name), name, answer);
  }
  if (!answer.transcript_raw && answer.values.empty() && answer.unusable.empty()) {
    throw Error("it holds neither \"transcript_raw\", \"values\" nor \"error\"", where);
  }
  return answer;
}

}  // namespace harness
