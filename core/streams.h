#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace harness {

/// First thing in every program: where standard input, output or error is closed it becomes /dev/null, so
/// that no file is opened in its place; a reader that has gone and a limit on file sizes are errors of a
/// write (EPIPE, EFBIG) instead of signals that end the program.
void prepare_streams();

/// Bytes as they are. What cannot be written is lost: no message is worth the work that it is about. Never
/// throws.
void write_or_forget(std::FILE* out, std::string_view bytes) noexcept;

/// A message on standard error, made printable (core/text.h). A message that cannot be written is dropped;
/// never throws.
void tell_text(std::string_view text) noexcept;

/// tell_text of a format: everything that the program writes to standard error, but the live line of
/// Progress.
template <typename... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) noexcept {
  try {
    tell_text(fmt::format(format, std::forward<Values>(values)...));
  } catch (...) {
  }
}

/// Part of the answer on standard output, for a program that reads it: the bytes as they are.
void put_exactly(std::string_view bytes);

/// Part of the answer on standard output, made printable (core/text.h). In a JSON document that leaves the
/// data as they are: unprintable characters occur in strings alone and become JSON escapes.
void put_text(std::string_view text);

template <typename... Values>
void put(fmt::format_string<Values...> format, Values&&... values) {
  put_text(fmt::format(format, std::forward<Values>(values)...));
}

/// False once the reader of the output has gone or it cannot be written: the rest need not be made.
bool is_output_wanted();

/// Hands on what is left of the answer. Throws Error (Status::kFailed), once, if a part of it could not be
/// written. A reader that has gone (`| head -1`, a closed terminal) has what it wanted: no error.
void finish_output();

/// Last thing in every program: finish_output, and the status to end with: `status`, or that of the Error,
/// which is told, where all had gone well before.
int finished_status(int status);

}  // namespace harness
