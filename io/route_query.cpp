#include "io/route_query.h"

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace io {

namespace {

/// A route or a neighbour with all its attributes is a few hundred bytes.
constexpr std::size_t kAnswerBytesMax = 4096;
/// Answers to earlier questions that may lie before the one that is waited for.
constexpr int kAnswersMax = 4;

/// A request with room for attributes.
template <typename Header>
struct Request {
  nlmsghdr head{};
  Header body{};
  std::array<std::byte, 128> attributes{};

  void begin(std::uint16_t type) noexcept {
    head.nlmsg_type = type;
    head.nlmsg_flags = NLM_F_REQUEST;
    head.nlmsg_len = NLMSG_LENGTH(sizeof(Header));
  }
  void add(std::uint16_t type, const void* value, std::size_t size) noexcept {
    std::byte* const at = reinterpret_cast<std::byte*>(this) + NLMSG_ALIGN(head.nlmsg_len);
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
    std::memcpy(at, &attribute, sizeof(attribute));
    std::memcpy(at + RTA_LENGTH(0), value, size);
    head.nlmsg_len =
        static_cast<std::uint32_t>(NLMSG_ALIGN(head.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
  }
  void add(std::uint16_t type, const SocketAddress& address) noexcept {
    add(type, address.host_bytes().data(), address.host_bytes().size());
  }
};

/// The attributes of a message of `type`: its body in `body`, each attribute's value to `take`.
/// False if the answer is another one.
template <typename Header, typename Take>
bool read_answer(const std::byte* answer, std::size_t size, std::uint16_t type, Header& body,
                 Take take) noexcept {
  nlmsghdr head{};
  if (size < NLMSG_LENGTH(sizeof(Header))) {
    return false;
  }
  std::memcpy(&head, answer, sizeof(head));
  if (head.nlmsg_type != type) {
    return false;
  }
  const std::size_t end = std::min<std::size_t>(head.nlmsg_len, size);  // a link's may be cut
  std::memcpy(&body, answer + NLMSG_LENGTH(0), sizeof(body));
  std::size_t at = NLMSG_LENGTH(sizeof(Header));
  while (at + sizeof(rtattr) <= end) {
    rtattr attribute{};
    std::memcpy(&attribute, answer + at, sizeof(attribute));
    if (attribute.rta_len < sizeof(attribute) || at + attribute.rta_len > end) {
      break;
    }
    take(attribute.rta_type, answer + at + RTA_LENGTH(0),
         static_cast<std::size_t>(attribute.rta_len) - RTA_LENGTH(0));
    at += RTA_ALIGN(attribute.rta_len);
  }
  return true;
}

/// An address as the kernel's tables have it.
SocketAddress from_bytes(unsigned family, const std::byte* bytes, std::size_t size) noexcept {
  sockaddr_in6 storage{};
  if (family == AF_INET && size == sizeof(in_addr)) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    std::memcpy(&ipv4.sin_addr, bytes, size);
    return SocketAddress::from_kernel(&ipv4, sizeof(ipv4));
  }
  if (family == AF_INET6 && size == sizeof(in6_addr)) {
    storage.sin6_family = AF_INET6;
    std::memcpy(&storage.sin6_addr, bytes, size);
    return SocketAddress::from_kernel(&storage, sizeof(storage));
  }
  return SocketAddress();
}

unsigned kernel_family(const SocketAddress& address) noexcept {
  return address.family() == AddressFamily::ipv4 ? AF_INET : AF_INET6;
}

NetworkDevice& device_named(std::vector<NetworkDevice>& devices, const char* name) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [name](const NetworkDevice& one) { return one.name == name; });
  if (found != devices.end()) {
    return *found;
  }
  NetworkDevice& device = devices.emplace_back();
  device.name = name;
  return device;
}

void take_link(const sockaddr* address, NetworkDevice& device) {
  sockaddr_ll link{};
  std::memcpy(&link, address, sizeof(link));
  device.number = static_cast<std::uint32_t>(link.sll_ifindex);
  device.has_ethernet_frames =
      link.sll_hatype == ARPHRD_ETHER || link.sll_hatype == ARPHRD_LOOPBACK;
  if (link.sll_halen == device.mac.size()) {
    std::memcpy(device.mac.data(), link.sll_addr, device.mac.size());
  }
  device.is_physical = ::access(("/sys/class/net/" + device.name + "/device").c_str(), F_OK) == 0;
}

}  // namespace

std::vector<NetworkDevice> network_devices() {
  std::vector<NetworkDevice> devices;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return devices;
  }
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    NetworkDevice& device = device_named(devices, one->ifa_name);
    device.is_up = (one->ifa_flags & IFF_UP) != 0;
    device.is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    if (one->ifa_addr == nullptr) {
      continue;
    }
    if (one->ifa_addr->sa_family == AF_PACKET) {
      take_link(one->ifa_addr, device);
    } else if (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6) {
      device.addresses.push_back(SocketAddress::from_kernel(
          one->ifa_addr,
          one->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)));
    }
  }
  ::freeifaddrs(all);
  return devices;
}

RouteQuery::RouteQuery() noexcept
    : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}

RouteQuery::~RouteQuery() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

std::size_t RouteQuery::ask(const void* request, std::size_t size, void* answer,
                            std::size_t room) noexcept {
  if (socket_ < 0 || ::send(socket_, request, size, 0) != static_cast<ssize_t>(size)) {
    return 0;
  }
  // The kernel has answered before send() returns.
  for (int i = 0; i < kAnswersMax; ++i) {
    const ssize_t got = ::recv(socket_, answer, room, MSG_DONTWAIT);
    nlmsghdr head{};
    if (got < static_cast<ssize_t>(sizeof(head))) {
      return 0;
    }
    std::memcpy(&head, answer, sizeof(head));
    if (head.nlmsg_seq == sequence_) {
      return static_cast<std::size_t>(got);
    }
  }
  return 0;
}

std::optional<RouteQuery::Hop> RouteQuery::next_hop(const SocketAddress& local,
                                                    const SocketAddress& remote,
                                                    std::uint8_t traffic_class) noexcept {
  Request<rtmsg> request;
  request.begin(RTM_GETROUTE);
  request.head.nlmsg_seq = ++sequence_;
  request.body.rtm_family = static_cast<unsigned char>(kernel_family(remote));
  request.body.rtm_dst_len = static_cast<unsigned char>(8 * remote.host_bytes().size());
  request.body.rtm_src_len = static_cast<unsigned char>(8 * local.host_bytes().size());
  request.body.rtm_tos = local.family() == AddressFamily::ipv4 ? traffic_class : 0;
  request.add(RTA_DST, remote);
  request.add(RTA_SRC, local);
  std::array<std::byte, kAnswerBytesMax> answer;
  const std::size_t size = ask(&request, request.head.nlmsg_len, answer.data(), answer.size());
  Hop hop;
  hop.address = remote;
  rtmsg body{};
  const bool understood =
      read_answer(answer.data(), size, RTM_NEWROUTE, body,
                  [&](std::uint16_t type, const std::byte* value, std::size_t bytes) {
                    if (type == RTA_OIF && bytes == sizeof(hop.device)) {
                      std::memcpy(&hop.device, value, sizeof(hop.device));
                    } else if (type == RTA_GATEWAY) {
                      hop.address = from_bytes(kernel_family(remote), value, bytes);
                    }
                  });
  hop.is_local = body.rtm_type == RTN_LOCAL;
  if (!understood || (!hop.is_local && (body.rtm_type != RTN_UNICAST || hop.device == 0))) {
    return std::nullopt;
  }
  return hop;
}

bool RouteQuery::find_macs(const Hop& hop, Way& way) noexcept {
  constexpr unsigned kUsable =
      NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
  Request<ndmsg> request;
  request.begin(RTM_GETNEIGH);
  request.head.nlmsg_seq = ++sequence_;
  request.body.ndm_family = static_cast<unsigned char>(kernel_family(hop.address));
  request.body.ndm_ifindex = static_cast<int>(hop.device);
  request.add(NDA_DST, hop.address);
  std::array<std::byte, kAnswerBytesMax> answer;
  std::size_t size = ask(&request, request.head.nlmsg_len, answer.data(), answer.size());
  ndmsg neighbour{};
  bool known = false;
  static_cast<void>(read_answer(answer.data(), size, RTM_NEWNEIGH, neighbour,
                                [&](std::uint16_t type, const std::byte* value, std::size_t bytes) {
                                  if (type == NDA_LLADDR && bytes == sizeof(way.target_mac)) {
                                    std::memcpy(way.target_mac, value, sizeof(way.target_mac));
                                    known = (neighbour.ndm_state & kUsable) != 0;
                                  }
                                }));
  if (!known) {
    return false;
  }
  Request<ifinfomsg> link;
  link.begin(RTM_GETLINK);
  link.head.nlmsg_seq = ++sequence_;
  link.body.ifi_index = static_cast<int>(hop.device);
  size = ask(&link, link.head.nlmsg_len, answer.data(), answer.size());
  ifinfomsg device{};
  bool found = false;
  static_cast<void>(read_answer(answer.data(), size, RTM_NEWLINK, device,
                                [&](std::uint16_t type, const std::byte* value, std::size_t bytes) {
                                  if (type == IFLA_ADDRESS && bytes == sizeof(way.from_mac)) {
                                    std::memcpy(way.from_mac, value, sizeof(way.from_mac));
                                    found = true;
                                  }
                                }));
  return found;
}

std::optional<Way> RouteQuery::find_way(const SocketAddress& local, const SocketAddress& remote,
                                        std::uint8_t traffic_class, bool with_macs) noexcept {
  const auto hop = next_hop(local, remote, traffic_class);
  if (!hop) {
    return std::nullopt;
  }
  Way way;
  if (hop->is_local) {
    return way;
  }
  way.device = hop->device;
  if (with_macs && !find_macs(*hop, way)) {
    return std::nullopt;
  }
  return way;
}

}  // namespace io
