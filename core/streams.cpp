#include "core/streams.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

int output_error = 0;             ///< errno of the first part of the answer that could not be written
bool output_is_terminal = false;  ///< when the program began: one that has gone says no more what it was

/// The pipe's other end, or the terminal.
bool has_reader_gone() {
  return output_error == EPIPE || (output_error == EIO && output_is_terminal);
}

void note_error() {
  if (output_error == 0) output_error = errno != 0 ? errno : EIO;
}

void flush_answer() {
  errno = 0;
  if (output_error == 0 && std::fflush(stdout) != 0) note_error();
}

}  // namespace

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Those before it are open by now: the lowest free number, which open takes, is this one.
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  output_is_terminal = ::isatty(STDOUT_FILENO) == 1;
}

void write_or_forget(std::FILE* out, std::string_view bytes) noexcept {
  std::fwrite(bytes.data(), 1, bytes.size(), out);
  std::fflush(out);
  std::clearerr(out);
}

void tell_text(std::string_view text) noexcept {
  try {
    flush_answer();  // in one file with it, a message comes after earlier output
    write_or_forget(stderr, printable(text));
  } catch (...) {
  }
}

void put_exactly(std::string_view bytes) {
  if (output_error != 0 || bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) note_error();
}

void put_text(std::string_view text) {
  if (output_error == 0) put_exactly(printable(text));
}

bool is_output_wanted() {
  return output_error == 0;
}

void finish_output() {
  flush_answer();
  // A network file system, or one with quotas, may report failed writes only at the close.
  if (const int copy = output_error == 0 ? ::dup(STDOUT_FILENO) : -1; copy >= 0 && ::close(copy) != 0)
    note_error();
  if (output_error == 0 || has_reader_gone()) return;
  throw Error(
      fmt::format("cannot write to standard output: {}", std::strerror(std::exchange(output_error, EPIPE))),
      {}, "the output is incomplete", Status::kFailed);
}

int finished_status(int status) {
  try {
    finish_output();
  } catch (const Error& error) {
    tell("error: {}\n", error.what());
    return status == 0 ? static_cast<int>(error.status()) : status;
  }
  return status;
}

}  // namespace harness
