#include "mgw/endpoint.h"

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

std::vector<const Connection*> Endpoint::legs() const {
  std::vector<const Connection*> all;
  all.reserve(connections.size() + 1);
  if (line_side != nullptr) {
    all.push_back(line_side.get());
  }
  for (const auto& connection : connections) {
    all.push_back(connection.get());
  }
  return all;
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
