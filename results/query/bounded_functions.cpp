#include "results/query/bounded_functions.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace harness {
namespace {

constexpr std::int64_t kMostWork = 100'000'000;  // some tenths of a second
constexpr unsigned kJsonSubtype = 'J';           // by which SQLite's JSON functions know each other's results

std::int64_t length(sqlite3_value* value) {
  constexpr int kNumber = 32;
  const int type = sqlite3_value_type(value);
  return type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_value_bytes(value) : kNumber;
}

/// Every place of one text against every place of another.
std::int64_t product(int, sqlite3_value** values) {
  return length(values[0]) * length(values[1]);
}

/// printf pads character by character, also what is then too long to be a value: all widths and precisions
/// that its format names, or takes from the arguments.
std::int64_t padding(int count, sqlite3_value** values) {
  constexpr std::int64_t kCharacter = 4, kEnough = kMostWork;
  std::int64_t total = 0, number = 0;
  bool takes_arguments = false;
  const auto* format = count > 0 ? reinterpret_cast<const char*>(sqlite3_value_text(values[0])) : nullptr;
  for (; format != nullptr && *format != '\0' && total < kEnough; ++format) {
    const bool digit = *format >= '0' && *format <= '9';
    number = digit ? std::min(10 * number + (*format - '0'), kEnough) : 0;
    total += number;
    takes_arguments = takes_arguments || *format == '*';
  }
  for (int i = 1; takes_arguments && i < count && total < kEnough; ++i) {
    const auto width = sqlite3_value_int64(values[i]);
    total += width < -kEnough || width > kEnough ? kEnough : std::abs(width);
  }
  return kCharacter * total;
}

struct Builtin {
  const char* name;
  int arguments;  ///< -1: any number
  std::int64_t (*work)(int count, sqlite3_value** values);
};
constexpr Builtin kBuiltins[] = {{"instr", 2, product},   {"trim", 2, product},    {"ltrim", 2, product},
                                 {"rtrim", 2, product},   {"replace", 3, product}, {"like", 2, product},
                                 {"like", 3, product},    {"glob", 2, product},    {"json_patch", 2, product},
                                 {"printf", -1, padding}, {"format", -1, padding}};

std::string call_of(const char* name, int count) {
  std::string sql = fmt::format("SELECT {}(", name);
  for (int i = 1; i <= count; ++i) sql += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return sql + ")";
}

}  // namespace

struct BoundedFunctions::Function {
  const BoundedFunctions* owner;
  Builtin builtin;
  std::map<int, sqlite3_stmt*> originals = {};  ///< by number of arguments

  static void call(sqlite3_context* context, int count, sqlite3_value** values);
  void answer(sqlite3_context* context, int count, sqlite3_value** values);
};

void BoundedFunctions::Function::call(sqlite3_context* context, int count, sqlite3_value** values) {
  auto& function = *static_cast<Function*>(sqlite3_user_data(context));
  if (function.owner->expired_()) return sqlite3_interrupt(function.owner->db_);
  if (function.builtin.work(count, values) > kMostWork) {
    const auto message = fmt::format("the arguments of {} are too long", function.builtin.name);
    return sqlite3_result_error(context, message.c_str(), -1);
  }
  function.answer(context, count, values);
}

void BoundedFunctions::Function::answer(sqlite3_context* context, int count, sqlite3_value** values) {
  auto& original = originals[count];
  if (original == nullptr) {
    const auto sql = call_of(builtin.name, count);
    sqlite3_prepare_v2(owner->own_, sql.c_str(), -1, &original, nullptr);
  }
  if (original == nullptr) return sqlite3_result_error(context, sqlite3_errmsg(owner->own_), -1);
  for (int i = 0; i < count; ++i) sqlite3_bind_value(original, i + 1, values[i]);
  if (sqlite3_step(original) == SQLITE_ROW) {
    sqlite3_result_value(context, sqlite3_column_value(original, 0));
    if (builtin.name == std::string_view("json_patch")) sqlite3_result_subtype(context, kJsonSubtype);
  } else {
    sqlite3_result_error(context, sqlite3_errmsg(owner->own_), -1);
  }
  sqlite3_reset(original);
  sqlite3_clear_bindings(original);
}

BoundedFunctions::BoundedFunctions(sqlite3* db, int length_limit, std::function<bool()> expired)
    : db_(db), expired_(std::move(expired)) {
  sqlite3_open_v2(":memory:", &own_, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_limit(own_, SQLITE_LIMIT_LENGTH, length_limit);
  for (const auto& builtin : kBuiltins) functions_.push_back({.owner = this, .builtin = builtin});
  for (auto& function : functions_) {
    sqlite3_create_function_v2(db, function.builtin.name, function.builtin.arguments,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &function,
                               Function::call, nullptr, nullptr, nullptr);
  }
}

BoundedFunctions::~BoundedFunctions() {
  for (auto& function : functions_) {
    sqlite3_create_function_v2(db_, function.builtin.name, function.builtin.arguments, SQLITE_UTF8, nullptr,
                               nullptr, nullptr, nullptr, nullptr);
    for (auto& [count, original] : function.originals) sqlite3_finalize(original);
  }
  sqlite3_close(own_);
}

}  // namespace harness
