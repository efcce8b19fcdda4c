#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace harness {

/// A TCP port that nothing on this machine listens on now.
std::uint16_t free_port();

/// Whether something at host:port accepts a connection within `wait`. False for an unknown host.
bool answers(const std::string& host, std::uint16_t port, std::chrono::milliseconds wait);

}  // namespace harness
