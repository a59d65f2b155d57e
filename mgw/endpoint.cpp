#include "mgw/endpoint.h"

#include "io/assert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace mgw {

io::SocketAddress Connection::remote_rtcp() const noexcept {
  if (remote_port == 0) {
    return {};
  }
  if (rtcp_mux) {
    return remote_rtp();
  }
  const io::SocketAddress& host =
      remote_rtcp_host.family() != io::AddressFamily::none ? remote_rtcp_host : remote_host;
  if (remote_rtcp_port != 0) {
    return host.with_port(remote_rtcp_port);
  }
  // Port 65535 has no successor: then there is no RTCP.
  return host.with_port(static_cast<std::uint16_t>(remote_port + 1));
}

std::string Connection::id_text() const {
  return fmt::format("{:08X}", id);
}

Connection* Endpoint::find(std::uint32_t id) noexcept {
  const auto found = std::find_if(connections.begin(), connections.end(),
                                  [id](const auto& connection) { return connection->id == id; });
  return found == connections.end() ? nullptr : found->get();
}

VirtualTrunk::VirtualTrunk(std::uint32_t endpoints)
    : endpoints_(endpoints), free_(endpoints), used_(endpoints) {
  for (std::uint32_t i = 0; i < endpoints; ++i) {
    used_.erase(i);
  }
}

Endpoint* VirtualTrunk::find(std::uint32_t number) noexcept {
  return number >= 1 && number <= endpoints_.size() ? &endpoints_[number - 1] : nullptr;
}

std::optional<std::uint32_t> VirtualTrunk::lowest_free() const noexcept {
  const auto index = free_.lowest();
  return index ? std::optional(static_cast<std::uint32_t>(*index + 1)) : std::nullopt;
}

void VirtualTrunk::claim(std::uint32_t number, std::string call_id, std::uint32_t worker) {
  Endpoint* endpoint = find(number);
  MGW_ASSERT(endpoint != nullptr);
  MGW_ASSERT(endpoint->call_id.empty());
  endpoint->call_id = std::move(call_id);
  endpoint->ignore_call_id = false;
  endpoint->worker = worker;
  free_.erase(number - 1);
  used_.insert(number - 1);
}

void VirtualTrunk::release(std::uint32_t number) {
  Endpoint* endpoint = find(number);
  MGW_ASSERT(endpoint != nullptr);
  MGW_ASSERT(endpoint->connections.empty());
  endpoint->call_id.clear();
  endpoint->ignore_call_id = false;
  free_.insert(number - 1);
  used_.erase(number - 1);
}

std::optional<std::uint32_t> VirtualTrunk::next_used(std::uint32_t number) const noexcept {
  const auto index = used_.next_from(number >= 1 ? number - 1 : 0);
  return index ? std::optional(static_cast<std::uint32_t>(*index + 1)) : std::nullopt;
}

std::optional<std::uint32_t> connection_number(std::string_view text) noexcept {
  const auto digits = std::min(text.find_first_not_of('0'), text.size());
  text.remove_prefix(digits);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

bool mode_receives(mgcp::ConnectionMode mode) noexcept {
  switch (mode) {
    case mgcp::ConnectionMode::recvonly:
    case mgcp::ConnectionMode::sendrecv:
    case mgcp::ConnectionMode::confecho:
    case mgcp::ConnectionMode::loopback:
      return true;
    case mgcp::ConnectionMode::sendonly:
    case mgcp::ConnectionMode::inactive:
      return false;
  }
  return false;
}

bool mode_sends(mgcp::ConnectionMode mode) noexcept {
  switch (mode) {
    case mgcp::ConnectionMode::sendonly:
    case mgcp::ConnectionMode::sendrecv:
    case mgcp::ConnectionMode::confecho:
      return true;
    case mgcp::ConnectionMode::recvonly:
    case mgcp::ConnectionMode::inactive:
    case mgcp::ConnectionMode::loopback:
      return false;
  }
  return false;
}

bool mode_echoes(mgcp::ConnectionMode mode) noexcept {
  return mode == mgcp::ConnectionMode::loopback || mode == mgcp::ConnectionMode::confecho;
}

}  // namespace mgw
