#include "results/bounded_functions.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace harness {
namespace {

constexpr std::int64_t kMostWork = 100'000'000;  // some tenths of a second
constexpr unsigned kJsonSubtype = 'J';           // by which SQLite's JSON functions know each other's results

constexpr std::int64_t kWidest = 1'000'000;  // a width or precision that stands among printf's arguments
constexpr int kAnyNumber = -1;

struct Builtin {
  const char* name;
  int arguments;
};
constexpr std::array<Builtin, 11> kBuiltins = {{{"instr", 2},
                                                {"trim", 2},
                                                {"ltrim", 2},
                                                {"rtrim", 2},
                                                {"replace", 3},
                                                {"like", 2},
                                                {"like", 3},
                                                {"glob", 2},
                                                {"json_patch", 2},
                                                {"printf", kAnyNumber},
                                                {"format", kAnyNumber}}};

std::int64_t length(sqlite3_value* value) {
  constexpr int kNumber = 32;
  const int type = sqlite3_value_type(value);
  return type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_value_bytes(value) : kNumber;
}

std::string call_of(const char* name, int arguments) {
  std::string sql = fmt::format("SELECT {}(", name);
  for (int i = 1; i <= arguments; ++i) sql += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return sql + ")";
}

/// Why a call would take too long; empty if it would not.
std::string excess_of(const Builtin& builtin, int count, sqlite3_value** values) {
  if (builtin.arguments != kAnyNumber) {
    if (length(values[0]) * length(values[1]) <= kMostWork) return {};
    return fmt::format("the texts given to {} are too long: {} and {} bytes", builtin.name, length(values[0]),
                       length(values[1]));
  }
  for (int i = 1; i < count; ++i) {
    const auto width = sqlite3_value_type(values[i]) == SQLITE_INTEGER ? sqlite3_value_int64(values[i]) : 0;
    const auto* format = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
    const bool may_be_width =
        format != nullptr && std::string_view(format).find('*') != std::string_view::npos;
    if (may_be_width && (width > kWidest || width < -kWidest))
      return fmt::format("a width of {} given to {} is too large", width, builtin.name);
  }
  return {};
}

}  // namespace

struct BoundedFunctions::Impl {
  struct Function {
    Impl* owner = nullptr;
    Builtin builtin = {};
    std::map<int, sqlite3_stmt*> originals = {};  ///< by number of arguments
  };

  sqlite3 *db = nullptr, *own = nullptr;
  std::function<bool()> expired;
  std::array<Function, kBuiltins.size()> functions = {};

  static void call(sqlite3_context* context, int count, sqlite3_value** values);
  sqlite3_stmt* original(Function& function, int count) const;
  void answer(Function& function, sqlite3_context* context, int count, sqlite3_value** values) const;
};

void BoundedFunctions::Impl::call(sqlite3_context* context, int count, sqlite3_value** values) {
  auto& function = *static_cast<Function*>(sqlite3_user_data(context));
  const auto& owner = *function.owner;
  if (owner.expired()) return sqlite3_interrupt(owner.db);
  const auto excess = excess_of(function.builtin, count, values);
  if (!excess.empty()) return sqlite3_result_error(context, excess.c_str(), -1);
  owner.answer(function, context, count, values);
}

sqlite3_stmt* BoundedFunctions::Impl::original(Function& function, int count) const {
  auto& statement = function.originals[count];
  if (statement == nullptr)
    sqlite3_prepare_v2(own, call_of(function.builtin.name, count).c_str(), -1, &statement, nullptr);
  return statement;
}

void BoundedFunctions::Impl::answer(Function& function, sqlite3_context* context, int count,
                                    sqlite3_value** values) const {
  auto* const call = original(function, count);
  for (int i = 0; i < count; ++i) sqlite3_bind_value(call, i + 1, values[i]);
  if (sqlite3_step(call) == SQLITE_ROW) {
    sqlite3_result_value(context, sqlite3_column_value(call, 0));
    if (std::string(function.builtin.name) == "json_patch") sqlite3_result_subtype(context, kJsonSubtype);
  } else {
    sqlite3_result_error(context, sqlite3_errmsg(own), -1);
  }
  sqlite3_reset(call);
  sqlite3_clear_bindings(call);
}

BoundedFunctions::BoundedFunctions(sqlite3* db, int length_limit, std::function<bool()> expired)
    : impl_(std::make_unique<Impl>()) {
  impl_->db = db;
  impl_->expired = std::move(expired);
  sqlite3_open_v2(":memory:", &impl_->own, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_limit(impl_->own, SQLITE_LIMIT_LENGTH, length_limit);
  for (std::size_t i = 0; i < kBuiltins.size(); ++i) {
    auto& function = impl_->functions[i];
    function = {.owner = impl_.get(), .builtin = kBuiltins[i], .originals = {}};
    sqlite3_create_function_v2(db, kBuiltins[i].name, kBuiltins[i].arguments,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, &function, Impl::call,
                               nullptr, nullptr, nullptr);
  }
}

BoundedFunctions::~BoundedFunctions() {
  for (auto& function : impl_->functions) {
    sqlite3_create_function_v2(impl_->db, function.builtin.name, function.builtin.arguments, SQLITE_UTF8,
                               nullptr, nullptr, nullptr, nullptr, nullptr);
    for (const auto& [_, statement] : function.originals) sqlite3_finalize(statement);
  }
  sqlite3_close(impl_->own);
}

}  // namespace harness
