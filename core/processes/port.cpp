#include "core/processes/port.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <thread>

#include "core/error.h"

namespace harness {

using boost::asio::ip::tcp;

std::uint16_t free_port() {
  boost::asio::io_context context;
  try {
    const tcp::acceptor listening(context, tcp::endpoint(tcp::v4(), 0));
    return listening.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw Error(std::string("no free TCP port: ") + error.what(), "network", "", Status::kFailed);
  }
}

bool answers(const std::string& host, std::uint16_t port, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kPause{50};
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + wait;
  while (true) {
    tcp::iostream connection;
    connection.expires_at(until);
    connection.connect(host, std::to_string(port));
    if (connection) return true;
    if (Clock::now() + kPause >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace harness
