#pragma once
// Asks the kernel's tables of devices, routes and neighbours (rtnetlink(7)).

#include "io/kernel_flow_table.h"
#include "io/result.h"
#include "io/socket_address.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace io {

/// A network device.
struct NetworkDevice {
  std::string name;
  std::uint32_t number = 0;
  bool is_up = false;
  bool is_loopback = false;
  bool has_ethernet_frames = false;  ///< loopback has them too
  bool is_physical = false;          ///< not made by software (veth, bridge, VLAN)
  std::array<std::uint8_t, 6> mac{};
  std::vector<SocketAddress> addresses;
};

/// All devices of this network namespace; empty if the kernel does not tell.
[[nodiscard]] std::vector<NetworkDevice> network_devices();

/// A netlink socket. One thread at a time.
class RouteQuery {
 public:
  RouteQuery() noexcept;
  RouteQuery(const RouteQuery&) = delete;
  RouteQuery& operator=(const RouteQuery&) = delete;
  RouteQuery(RouteQuery&&) = delete;
  RouteQuery& operator=(RouteQuery&&) = delete;
  ~RouteQuery();

  /// The way from `local` to `remote`; `traffic_class` as in the packets. With `with_macs` also the
  /// addresses of its Ethernet frames; none then if the next hop's is not known at the moment.
  [[nodiscard]] std::optional<Way> find_way(const SocketAddress& local, const SocketAddress& remote,
                                            std::uint8_t traffic_class, bool with_macs) noexcept;

 private:
  struct Hop {
    std::uint32_t device = 0;
    bool is_local = false;
    SocketAddress address;
  };

  [[nodiscard]] std::optional<Hop> next_hop(const SocketAddress& local, const SocketAddress& remote,
                                            std::uint8_t traffic_class) noexcept;
  [[nodiscard]] bool find_macs(const Hop& hop, Way& way) noexcept;
  /// Sends `request` and reads the answer into `answer`; its size, or 0.
  [[nodiscard]] std::size_t ask(const void* request, std::size_t size, void* answer,
                                std::size_t room) noexcept;

  int socket_ = -1;
  std::uint32_t sequence_ = 0;
};

}  // namespace io
