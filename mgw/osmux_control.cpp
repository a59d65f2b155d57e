#include "mgw/osmux_control.h"

#include "io/log.h"
#include "mgw/osmux_device.h"
#include "rtp/osmux_encoder.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace mgw {

namespace {

using io::AddressFamily;
using io::SocketAddress;
using mgcp::OsmuxParameter;
using mgcp::ProtocolError;
using mgcp::ResponseCode;
using MaybeError = std::optional<ProtocolError>;

/// Devices that are made at most. A worker keeps a device to its end, so one whose sockets it can't
/// take over must not be tried for ever.
constexpr std::uint32_t kDevicesMax = 16;

/// The address of that family that is configured for Osmux, else for RTP, else for MGCP.
std::optional<SocketAddress> configured(AddressFamily family, const conf::Config& config) {
  const bool ipv4 = family == AddressFamily::ipv4;
  for (const std::string& text : {ipv4 ? config.osmux.bind : config.osmux.bind_v6,
                                  ipv4 ? config.rtp.bind : config.rtp.bind_v6, config.mgcp.bind}) {
    const auto address =
        text.empty() ? std::nullopt : SocketAddress::parse(text, config.osmux.port);
    if (address && address->family() == family) {
      return address;
    }
  }
  return std::nullopt;
}

rtp::OsmuxOptions link_options(const conf::OsmuxOptions& options) {
  rtp::OsmuxOptions link;
  link.batch_factor = options.batch_factor;
  link.batch_bytes = options.batch_bytes;
  link.dummy_padding = options.dummy_padding;
  return link;
}

}  // namespace

OsmuxControl::OsmuxControl(const conf::Config& config, io::SocketFactory& factory)
    : config_(config), options_(config.osmux), factory_(factory) {
  read_addresses();
}

void OsmuxControl::read_addresses() {
  if (device_ == nullptr) {
    bind_ipv4_ = configured(AddressFamily::ipv4, config_);
    bind_ipv6_ = configured(AddressFamily::ipv6, config_);
  }
}

MaybeError OsmuxControl::check_crcx(const mgcp::Request& request) const noexcept {
  const bool wanted = request.osmux.state != OsmuxParameter::State::absent;
  if (wanted && !on()) {
    return ProtocolError{ResponseCode::unrecognized_extension, "Osmux is off"};
  }
  if (!wanted && options_.mode == conf::OsmuxMode::only) {
    return ProtocolError{ResponseCode::unsupported_mode, "Osmux circuits only"};
  }
  return std::nullopt;
}

MaybeError OsmuxControl::check_mdcx(const mgcp::Request& request,
                                    const Connection& connection) const noexcept {
  const OsmuxParameter& parameter = request.osmux;
  if (!connection.osmux) {
    return on() || parameter.state == OsmuxParameter::State::absent
               ? MaybeError()
               : ProtocolError{ResponseCode::unrecognized_extension, "Osmux is off"};
  }
  if (parameter.state != OsmuxParameter::State::number) {
    return ProtocolError{ResponseCode::endpoint_unknown, "Osmux circuit id missing"};
  }
  if (connection.osmux->remote.value_or(parameter.circuit_id) != parameter.circuit_id) {
    return ProtocolError{ResponseCode::endpoint_unknown, "another Osmux circuit id than before"};
  }
  return std::nullopt;
}

MaybeError OsmuxControl::set_up(const mgcp::Request& request, Connection& connection,
                                const SocketAddress& agent,
                                std::span<const std::unique_ptr<Connection>> leaving) {
  read_addresses();
  const auto host = choose(connection.remote_host, agent);
  if (!host) {
    return host.error();
  }
  if (const MaybeError error = open()) {
    return error;
  }
  const auto local = next_free();
  if (!local) {
    return ProtocolError{ResponseCode::transient_error, "no free Osmux circuit id"};
  }
  std::optional<std::uint8_t> remote;
  if (request.osmux.state == OsmuxParameter::State::number) {
    remote = request.osmux.circuit_id;
  }
  std::bitset<rtp::kOsmuxCircuits> removed;
  for (const auto& other : leaving) {
    if (other->osmux) {
      removed.set(other->osmux->local);
    }
  }
  const SocketAddress peer = peer_of(connection, options_.peer_behind_nat);
  if (is_taken(removed, peer, remote)) {
    return ProtocolError{ResponseCode::endpoint_unknown, "the peer has that Osmux circuit already"};
  }
  circuits_[*local] = {true, remote, peer};
  last_ = *local;
  connection.osmux =
      OsmuxCircuit{*local, remote, device_, options_.peer_behind_nat, link_options(options_)};
  connection.local = host->bind;
  connection.announced = host->announce;
  return std::nullopt;
}

MaybeError OsmuxControl::check_change(const mgcp::Request& request, const Connection& next) const {
  if (!next.osmux) {
    return std::nullopt;
  }
  std::bitset<rtp::kOsmuxCircuits> own;
  own.set(next.osmux->local);
  if (is_taken(own, peer_of(next, next.osmux->peer_behind_nat), request.osmux.circuit_id)) {
    return ProtocolError{ResponseCode::endpoint_unknown, "the peer has that Osmux circuit already"};
  }
  return std::nullopt;
}

void OsmuxControl::change(const mgcp::Request& request, Connection& next) noexcept {
  if (next.osmux) {
    next.osmux->remote = request.osmux.circuit_id;
    circuits_[next.osmux->local] = {true, next.osmux->remote,
                                    peer_of(next, next.osmux->peer_behind_nat)};
  }
}

tl::expected<LocalHost, ProtocolError> OsmuxControl::choose(const SocketAddress& remote,
                                                            const SocketAddress& agent) const {
  const bool unknown = remote.family() == AddressFamily::none;
  // As deployed agents know it: IPv6 if there is an IPv6 address, until the peer's family is known.
  const bool ipv6 = unknown ? bind_ipv6_.has_value() : remote.family() == AddressFamily::ipv6;
  const auto& bind = ipv6 ? bind_ipv6_ : bind_ipv4_;
  if (bind) {
    const std::string& advertised = ipv6 ? config_.rtp.advertise_v6 : config_.rtp.advertise;
    if (const auto address = SocketAddress::parse(advertised, 0); address) {
      return LocalHost{*bind, *address};
    }
    if (!bind->is_unspecified()) {
      return LocalHost{*bind, bind->with_port(0)};
    }
    const SocketAddress& towards = unknown || remote.is_unspecified() ? agent : remote;
    if (towards.family() == bind->family()) {
      if (const auto source = factory_.route_source(towards)) {
        return LocalHost{*bind, *source};
      }
    }
  }
  return tl::unexpected(
      ProtocolError{ResponseCode::unsupported_description, "no Osmux address of that family"});
}

MaybeError OsmuxControl::open() {
  if (device_ != nullptr) {
    return std::nullopt;
  }
  io::SocketOptions socket;
  socket.dscp = config_.rtp.dscp;
  socket.priority = config_.rtp.socket_priority;
  socket.receive_buffer_bytes = config_.io.receive_buffer_bytes;
  socket.send_buffer_bytes = config_.io.send_buffer_bytes;
  socket.join_received = true;
  socket.join_sent = true;
  MediaDeviceInstall install;
  std::vector<AddressFamily> families;
  for (const auto& host : {bind_ipv4_, bind_ipv6_}) {
    if (!host) {
      continue;
    }
    socket.local = *host;
    auto bound = factory_.bind_udp(socket);
    if (!bound) {
      io::log(io::LogLevel::error, io::LogCategory::osmux, "cannot bind {}: {}",
              socket.local.text(), bound.error().message());
      return ProtocolError{ResponseCode::transient_error, "the Osmux socket cannot be bound"};
    }
    install.sockets.push_back(std::move(*bound));
    families.push_back(host->family());
  }
  if (devices_ == kDevicesMax) {
    return ProtocolError{ResponseCode::transient_error, "the Osmux socket cannot be opened"};
  }
  ++devices_;
  open_sockets_ = install.sockets.size();
  auto device = std::make_unique<OsmuxDevice>(std::move(families));
  device_ = device.get();
  install.device = std::move(device);
  waiting_ = std::move(install);
  return std::nullopt;
}

bool OsmuxControl::append_device(MediaCommand& command) {
  if (!waiting_) {
    return false;
  }
  command.devices.push_back(std::move(*waiting_));
  waiting_.reset();
  return true;
}

void OsmuxControl::device_failed() noexcept {
  device_ = nullptr;
  open_sockets_ = 0;
}

std::optional<std::uint8_t> OsmuxControl::next_free() const noexcept {
  for (std::size_t step = 1; step <= rtp::kOsmuxCircuits; ++step) {
    const auto local = static_cast<std::uint8_t>(last_ + step);
    if (!circuits_[local].used) {
      return local;
    }
  }
  return std::nullopt;
}

bool OsmuxControl::is_taken(const std::bitset<rtp::kOsmuxCircuits>& but, const SocketAddress& peer,
                            std::optional<std::uint8_t> remote) const noexcept {
  if (!remote || peer.port() == 0 || peer.is_unspecified()) {
    return false;  // nobody, or somebody on hold
  }
  for (std::size_t i = 0; i < circuits_.size(); ++i) {
    const Circuit& other = circuits_[i];
    if (other.used && !but[i] && other.remote == remote && other.peer == peer) {
      return true;
    }
  }
  return false;
}

bool OsmuxControl::restore(Connection& connection) {
  OsmuxCircuit& circuit = *connection.osmux;
  read_addresses();
  if (!on() || circuits_[circuit.local].used || open()) {
    return false;
  }
  circuit.device = device_;
  circuits_[circuit.local] = {true, circuit.remote, peer_of(connection, circuit.peer_behind_nat)};
  return true;
}

SocketAddress OsmuxControl::peer_of(const Connection& connection, bool peer_behind_nat) noexcept {
  return peer_behind_nat ? SocketAddress() : connection.remote_rtp();
}

std::size_t OsmuxControl::used() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      circuits_.begin(), circuits_.end(), [](const Circuit& circuit) { return circuit.used; }));
}

}  // namespace mgw
