#pragma once
// The gateway's own side of a leg: which local address it takes, which ports, and the bound
// sockets.

#include "conf/config.h"
#include "io/log.h"
#include "io/socket_factory.h"
#include "io/time.h"
#include "mgcp/response_code.h"
#include "mgw/media_command.h"
#include "mgw/port_pool.h"

#include <tl/expected.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mgw {

/// Where a leg is to be bound and what is announced. Ports are 0.
struct LocalHost {
  io::SocketAddress bind;
  io::SocketAddress announce;
};

/// A bound pair of sockets.
struct BoundPair {
  SocketPair sockets;
  io::SocketAddress local;  ///< of the RTP socket
  PortPool* ports = nullptr;
};

/// Chooses addresses and binds port pairs. Control thread only.
class LocalMedia {
 public:
  /// Both must outlive it. Addresses in the configuration have been checked when it was loaded.
  LocalMedia(const conf::Config& config, io::SocketFactory& factory);

  /// The configuration has become another: new legs go by it, those that are up keep their ports.
  void reconfigured(const conf::Config& config);

  /// The local address towards `remote` (family none = not known yet) for a leg set up by `agent`.
  /// Refused with 505 if there is none of that family, or no way there where the way decides.
  [[nodiscard]] tl::expected<LocalHost, mgcp::ProtocolError> choose(const io::SocketAddress& remote,
                                                                    const io::SocketAddress& agent);

  /// Binds the next free pair on `host`. Pairs that others have are skipped. 500 with a reason that
  /// names ports or the system's limit.
  [[nodiscard]] tl::expected<BoundPair, mgcp::ProtocolError> bind(const io::SocketAddress& host,
                                                                  io::TimePoint now);

  /// Whether one of our own RTP sockets may be at that address. Where it is surely not, this costs
  /// next to nothing.
  [[nodiscard]] bool may_own(const io::SocketAddress& address) const;

  /// Binds the very pair at `local` (address and RTP port), which a connection had in another
  /// process. Outside of the range it belongs to no pool.
  [[nodiscard]] tl::expected<BoundPair, mgcp::ProtocolError> rebind(const io::SocketAddress& local,
                                                                    io::TimePoint now);

  /// The sockets of a pair that is in use and whose sockets were given away; empty ones if they
  /// can't be had.
  [[nodiscard]] SocketPair reopen(const io::SocketAddress& local);

  /// Pairs in all ranges, and those in use.
  [[nodiscard]] std::size_t ports_total() const noexcept;
  [[nodiscard]] std::size_t ports_used() const noexcept;
  /// How often no pair could be had.
  [[nodiscard]] std::uint64_t exhausted() const noexcept { return exhausted_; }

 private:
  struct HostPorts {
    io::SocketAddress host;
    std::unique_ptr<PortPool> pool;
  };

  [[nodiscard]] std::optional<io::SocketAddress> host_for(io::AddressFamily family,
                                                          const io::SocketAddress& remote,
                                                          const io::SocketAddress& agent);
  void take_addresses(const conf::Config& config);
  [[nodiscard]] io::SocketOptions socket_options() const noexcept;
  [[nodiscard]] PortPool* pool_for(const io::SocketAddress& host);
  [[nodiscard]] io::SocketAddress announced(const io::SocketAddress& bound) const;

  const conf::RtpOptions& options_;
  const conf::IoOptions& io_options_;
  io::SocketFactory& factory_;
  std::optional<io::SocketAddress> bind_ipv4_;
  std::optional<io::SocketAddress> bind_ipv6_;
  std::optional<io::SocketAddress> advertise_ipv4_;
  std::optional<io::SocketAddress> advertise_ipv6_;
  std::optional<io::SocketAddress> mgcp_bind_;
  std::vector<HostPorts> pools_;
  std::vector<HostPorts> former_pools_;  // of an earlier port range, until the last leg is gone
  std::uint16_t port_min_ = 0;           // of pools_
  std::uint16_t port_max_ = 0;
  std::uint64_t exhausted_ = 0;
  io::LogLimiter warnings_;  ///< a call agent that keeps trying does not fill the log
};

}  // namespace mgw
