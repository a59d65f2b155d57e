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
#include <cstdint>
#include <optional>
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

  /// Both must outlive it. Addresses in the configuration have been checked when it was loaded.
  OsmuxControl(const conf::Config& config, io::SocketFactory& factory);

  /// Whether there may be circuits.
  [[nodiscard]] bool on() const noexcept { return options_.mode != conf::OsmuxMode::off; }

  /// Whether a CRCX may, or has to, ask for a circuit: 511, 517.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check_crcx(
      const mgcp::Request& request) const noexcept;
  /// Whether an MDCX says what it has to about the connection's circuit: 511, 500. `X-Osmux` means
  /// nothing for a connection that is no circuit.
  [[nodiscard]] std::optional<mgcp::ProtocolError> check_mdcx(
      const mgcp::Request& request, const Connection& connection) const noexcept;

  /// Makes the connection a circuit: opens the sockets if they are not, gives it a number and a
  /// local address. On an error nothing is changed but for open sockets: 505 if there is no address
  /// of the peer's family, 400 without sockets or free numbers, 500 if the peer has another circuit
  /// under the number it gave.
  [[nodiscard]] std::optional<mgcp::ProtocolError> set_up(const mgcp::Request& request,
                                                          Connection& connection,
                                                          const io::SocketAddress& agent);
  /// `next` is what a circuit is to become by `request`, which check_mdcx() has passed: takes its
  /// peer and the peer's number over. 500 if the peer has another circuit of that number. Does
  /// nothing for other connections.
  [[nodiscard]] std::optional<mgcp::ProtocolError> change(const mgcp::Request& request,
                                                          Connection& next);
  /// The local address towards `remote` (family none = not known yet). Port 0; 505 if there is
  /// none.
  [[nodiscard]] tl::expected<LocalHost, mgcp::ProtocolError> choose(
      const io::SocketAddress& remote, const io::SocketAddress& agent) const;

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
  [[nodiscard]] std::optional<std::uint8_t> next_free() const noexcept;
  /// Whether another circuit than `local` is known to `peer` by the number `remote`.
  [[nodiscard]] bool is_taken(std::optional<std::uint8_t> local, const io::SocketAddress& peer,
                              std::optional<std::uint8_t> remote) const noexcept;
  /// The peer by which the circuit is claimed; none with peers behind NAT, whose addresses only the
  /// worker learns.
  [[nodiscard]] io::SocketAddress peer_of(const Connection& connection) const noexcept;

  const conf::Config& config_;
  const conf::OsmuxOptions& options_;
  io::SocketFactory& factory_;
  std::optional<io::SocketAddress> bind_ipv4_;
  std::optional<io::SocketAddress> bind_ipv6_;
  OsmuxDevice* device_ = nullptr;              // the worker's, or that of waiting_
  std::optional<MediaDeviceInstall> waiting_;  // for the next command
  std::size_t open_sockets_ = 0;
  std::uint32_t devices_ = 0;
  std::array<Circuit, rtp::kOsmuxCircuits> circuits_{};
  std::uint8_t last_ = rtp::kOsmuxCircuits - 1;  // given out last
};

}  // namespace mgw
