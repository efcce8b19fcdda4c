#include "harness/run/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include "core/error.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

Descriptor open_to_append(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() >= 0) return file;
  throw Error(fmt::format("cannot open: {}", std::strerror(errno)), path.string(), {}, Status::kFailed);
}

}  // namespace

WorkerProcess::WorkerProcess(boost::asio::io_context& io, const std::vector<std::string>& words,
                             const fs::path& stderr_file, OnLine on_line)
    : process_(words,
               {.in = kPipe, .out = kPipe, .err = open_to_append(stderr_file).get(), .own_group = true}),
      output_(io, process_.out.release()),
      on_line_(std::move(on_line)) {
  read_more();
}

std::optional<ExitStatus> WorkerProcess::ended() {
  if (!process_.has_ended()) return std::nullopt;
  const auto status = process_.wait();
  drain();
  return status;
}

void WorkerProcess::read_more() {
  const auto handle = [this, reading = reading_](const boost::system::error_code& error) {
    if (error || !*reading) return;
    if (take()) read_more();
  };
  output_.async_wait(boost::asio::posix::stream_descriptor::wait_read, handle);
}

std::optional<std::size_t> WorkerProcess::take() {
  const auto bytes = read_some(output_.native_handle());
  if (!bytes) return std::nullopt;
  partial_ += *bytes;
  std::size_t begin = 0;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', begin)) {
    on_line_(std::string_view(partial_).substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return bytes->size();
}

void WorkerProcess::drain() {
  *reading_ = false;
  boost::system::error_code ignored;
  output_.cancel(ignored);
  while (take().value_or(0) > 0) {
  }
}

std::string tail_of_file(const fs::path& file, std::size_t lines) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  constexpr std::streamoff kWindow = 64 << 10;
  in.seekg(std::max<std::streamoff>(0, in.tellg() - kWindow));
  std::deque<std::string> last;
  for (std::string line; std::getline(in, line);) {
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const auto& line : last) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace harness
