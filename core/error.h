#pragma once

#include <exception>
#include <string>

namespace harness {

/// Exit status of the program that an error leads to.
enum class Status {
  kFailed = 1,        ///< the work itself failed
  kUsage = 2,         ///< the command line, or a file given to it, was wrong
  kInterrupted = 130  ///< stopped by the user; the work can be continued
};

/// The one exception of the project: something that a user can cause and can mend.
/// what: what was wrong; where: file, field, line or flag (may be empty); hint: what to do (may be empty).
/// For states that only a programming mistake can reach, use require (core/require.h) or TORCH_CHECK instead.
class Error : public std::exception {
 public:
  explicit Error(std::string what, std::string where = {}, std::string hint = {},
                 Status status = Status::kUsage);

  /// "WHERE: WHAT; HINT", with the empty parts left out.
  const char* what() const noexcept override { return message_.c_str(); }

  const std::string& problem() const noexcept { return what_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& hint() const noexcept { return hint_; }
  Status status() const noexcept { return status_; }

 private:
  std::string what_, where_, hint_, message_;
  Status status_;
};

/// Throws Error (Status::kUsage) unless it holds.
inline void refuse_unless(bool holds, const std::string& what, const std::string& where,
                          const std::string& hint = {}) {
  if (!holds) throw Error(what, where, hint);
}

}  // namespace harness
