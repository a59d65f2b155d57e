#pragma once
// Osmux on the signalling side: what may be asked for, the numbers of the circuits, the sockets'
// addresses, and the device that a worker gets with the first circuit.

#include "conf/config.h"
#include "io/socket_factory.h"
#include "mgcp/message.h"
#include "mgw/endpoint.h"
#include "mgw/local_media.h"
#include "mgw/media_command.h"
#include "rtp/osmux_chunk.h"

#include <tl/expected.hpp>

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mgw {

/// Our number for an Osmux circuit, as it stands in answers; none for other connections.
[[nodiscard]] inline std::optional<std::uint8_t> circuit_number(const Connection& connection) {
  return connection.osmux ? std::optional(connection.osmux->local) : std::nullopt;
}

/// Control thread only.
class OsmuxControl {
 public:
  /// All circuits live on this worker, since they share sockets; so do all endpoints that may come
  /// to have one, since an endpoint's connections are never on different workers.
  static constexpr std::uint32_t kWorker = 0;

  /// Both must outlive it. The configuration may change between two commands: circuits that exist
  /// go on as they began, also where Osmux is switched off, and open sockets stay open. Its
  /// addresses have been checked.
  OsmuxControl(const conf::Config& config, io::SocketFactory& factory);

  /// Whether there may be further circuits.
  [[nodiscard]] bool on() const noexcept { return options_.mode != conf::OsmuxMode::off; }

  /// Whether a CRCX may, or has to, ask for a circuit: 511, 517.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check_crcx(
      const mgcp::Request& request) const noexcept;
  /// Whether an MDCX says what it has to about the connection's circuit: 511, 500. `X-Osmux` means
  /// nothing for a connection that is no circuit.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check_mdcx(
      const mgcp::Request& request, const Connection& connection) const noexcept;

  /// Makes the connection a circuit: opens the sockets if they are not, gives it a number and a
  /// local address. Those of `leaving` are removed before it begins. On an error nothing is changed
  /// but for open sockets: 505 if there is no address of the peer's family, 400 without sockets or
  /// free numbers, 500 if the peer has another circuit under the number it gave.
  [[nodiscard]] std::optional<mgcp::ProtocolError> set_up(
      const mgcp::Request& request, Connection& connection, const io::SocketAddress& agent,
      std::span<const std::unique_ptr<Connection>> leaving);
  /// Whether the connection may become `next`, as `request` that check_mdcx() has passed wants it:
  /// 500 if the peer has another circuit of that number. Others than circuits may.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check_change(const mgcp::Request& request,
                                                                const Connection& next) const;
  /// Takes the peer and its number of `next`, if that is a circuit, over.
  void change(const mgcp::Request& request, Connection& next) noexcept;
  /// The local address towards `remote` (family none = not known yet). Port 0; 505 if there is
  /// none.
  [[nodiscard]] tl::expected<LocalHost, mgcp::ProtocolError> choose(
      const io::SocketAddress& remote, const io::SocketAddress& agent) const;

  /// Makes a connection that was a circuit in another process one of the same number again; false
  /// if it can't be.
  [[nodiscard]] bool restore(Connection& connection);

  /// Puts the device into the command of the first circuit; whether it did.
  [[nodiscard]] bool append_device(MediaCommand& command);
  /// The worker could not take the device's sockets over; the next circuit tries anew.
  void device_failed() noexcept;

  /// The circuit is about to go: its peer may use its number again.
  void forget_peer(std::uint8_t local) noexcept { circuits_[local].peer = {}; }
  /// The worker has let the circuit go: its number is free.
  void release(std::uint8_t local) noexcept { circuits_[local] = {}; }

  /// Numbers in use.
  [[nodiscard]] std::size_t used() const noexcept;
  /// Sockets that a worker has, or will have soon.
  [[nodiscard]] std::size_t sockets() const noexcept { return open_sockets_; }

 private:
  struct Circuit {
    bool used = false;
    std::optional<std::uint8_t> remote;
    io::SocketAddress peer;  ///< family none: not known
  };

  [[nodiscard]] std::optional<mgcp::ProtocolError> open();
  /// The addresses that the sockets are to have; without effect on open ones.
  void read_addresses();
  [[nodiscard]] std::optional<std::uint8_t> next_free() const noexcept;
  /// Whether another circuit than those of `but` is known to `peer` by the number `remote`.
  [[nodiscard]] bool is_taken(const std::bitset<rtp::kOsmuxCircuits>& but,
                              const io::SocketAddress& peer,
                              std::optional<std::uint8_t> remote) const noexcept;
  /// The peer by which the circuit is claimed; none with peers behind NAT, whose addresses only the
  /// worker learns.
  [[nodiscard]] static io::SocketAddress peer_of(const Connection& connection,
                                                 bool peer_behind_nat) noexcept;

  const conf::Config& config_;
  const conf::OsmuxOptions& options_;
  io::SocketFactory& factory_;
  std::optional<io::SocketAddress> bind_ipv4_;  // ports included
  std::optional<io::SocketAddress> bind_ipv6_;
  OsmuxDevice* device_ = nullptr;              // the worker's, or that of waiting_
  std::optional<MediaDeviceInstall> waiting_;  // for the next command
  std::size_t open_sockets_ = 0;
  std::uint32_t devices_ = 0;
  std::array<Circuit, rtp::kOsmuxCircuits> circuits_{};
  std::uint8_t last_ = rtp::kOsmuxCircuits - 1;  // given out last
};

}  // namespace mgw
