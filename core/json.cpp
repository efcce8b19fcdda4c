#include "core/json.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace {

/// Whether a text is a whole document, or a line of one that has its number already.
enum class Extent { kDocument, kLine };

/// "line L, column C" of a byte offset; of a line "column C".
std::string position_of(std::string_view text, std::size_t offset, Extent extent) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < std::min(offset, text.size()); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return extent == Extent::kLine ? fmt::format("column {}", column)
                                 : fmt::format("line {}, column {}", line, column);
}

constexpr int kMaxDepth = 64;

/// Builds the document while refusing what nlohmann-json would let through.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string_view text, const std::string& where, Extent extent)
      : text_(text), where_(where), extent_(extent) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& literal) override {
    if (!std::isfinite(value))
      throw Error(fmt::format("number {} is out of range", in_quotes(literal)), where_);
    return put(value);
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (stack_.back()->contains(name))
      throw Error(fmt::format("key {} occurs twice in one object", in_quotes(name)), where_);
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t offset, const std::string& token,
                   const nlohmann::detail::exception&) override {
    throw Error(
        fmt::format("not valid JSON near {}", in_quotes(token)),
        fmt::format("{}: {}", where_, position_of(text_, offset == 0 ? 0 : offset - 1, extent_)),
        offset > text_.size() ? "the text ends too early: a bracket, a brace or a quote is not closed" : "");
  }

  Json take() { return std::move(root_); }

 private:
  template <class T>
  bool put(T&& value) {
    place(Json(std::forward<T>(value)));
    return true;
  }
  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool open(Json value) {
    if (stack_.size() >= kMaxDepth) throw Error(fmt::format("nested deeper than {}", kMaxDepth), where_);
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& where_;
  Extent extent_;
  Json root_;
  std::vector<Json*> stack_;
  std::string key_;
};

void refuse_non_finite(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw Error("a number is not finite", "JSON");
  if (value.is_structured()) {
    for (const auto& child : value) refuse_non_finite(child);
  }
}

/// What the lexer would not see as it should: it takes a zero byte for the end of the text.
void check_bytes(std::string_view text, const std::string& where, Extent extent) {
  if (const auto at = invalid_utf8_at(text))
    throw Error("not UTF-8", fmt::format("{}: {}", where, position_of(text, *at, extent)));
  if (const auto at = text.find('\0'); at != std::string_view::npos)
    throw Error("not valid JSON: a zero byte", fmt::format("{}: {}", where, position_of(text, at, extent)));
}

Json parse(std::string_view text, const std::string& where, Extent extent) {
  check_bytes(text, where, extent);
  StrictBuilder builder(text, where, extent);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  return parse(text, where, Extent::kDocument);
}

Json parse_json_line(std::string_view line, const std::string& where) {
  return parse(line, where, Extent::kLine);
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

/// The first text in it that is not UTF-8, by its place: {"scorers.hps.files", "b\xff.txt"}.
static std::optional<std::pair<std::string, std::string>> text_not_utf8(const Json& value,
                                                                        const std::string& place) {
  if (value.is_string() && invalid_utf8_at(value.get_ref<const std::string&>()))
    return std::pair(place, value.get<std::string>());
  if (!value.is_structured()) return std::nullopt;
  for (const auto& [key, child] : value.items()) {
    if (invalid_utf8_at(key)) return std::pair(place, key);
    if (auto found = text_not_utf8(child, place.empty() ? key : place + "." + key)) return found;
  }
  return std::nullopt;
}

std::string canonical_json(const Json& value) {
  refuse_non_finite(value);
  try {
    return value.dump();
  } catch (const Json::type_error&) {
    const auto found = text_not_utf8(value, "");
    if (!found) throw;
    throw Error(fmt::format("{} is not valid UTF-8", in_quotes(found->second)), found->first,
                "rename it: names and texts are recorded in UTF-8");
  }
}

Fields::Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) throw Error(fmt::format("must be an object, not {}", object.type_name()), where_);
}

bool Fields::has(const std::string& key) const {
  return object_->contains(key);
}

const Json& Fields::get(const std::string& key) {
  read_.insert(key);
  const auto found = object_->find(key);
  if (found == object_->end()) fail(key, "is missing");
  return *found;
}

Fields Fields::object(const std::string& key) {
  const char* joint = where_.find(": ") == std::string::npos ? ": " : ".";
  return Fields(get(key), where_ + joint + key);
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> names;
  for (const auto& item : object_->items()) names.push_back(item.key());
  return names;
}

std::vector<std::string> Fields::unread() const {
  auto names = keys();
  std::erase_if(names, [this](const std::string& name) { return read_.contains(name); });
  return names;
}

void Fields::finish() const {
  if (const auto names = unread(); !names.empty()) fail_unknown(names.front());
}

std::string Fields::wrong_type(const Json& value) {
  return fmt::format("has the wrong type ({})", value.type_name());
}

std::string Fields::no_integer(const Json& value) {
  return value.is_number() ? fmt::format("must be a whole number, not {}", value.dump()) : wrong_type(value);
}

std::string Fields::out_of_range(const Json& value) {
  return fmt::format("is out of range ({})", value.dump());
}

std::string Fields::at_index(std::size_t index, const std::string& problem) {
  return fmt::format("[{}] {}", index, problem);
}

void Fields::fail(const std::string& key, const std::string& problem, const std::string& hint) const {
  throw Error(fmt::format("{} {}", in_quotes(key), problem), where_, hint);
}

void Fields::fail_unknown(const std::string& key) const {
  throw Error(fmt::format("unknown key {}", in_quotes(key)), where_, suggestion(key, asked_for()));
}

}  // namespace harness
