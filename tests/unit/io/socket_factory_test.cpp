// The kernel's sockets: options as asked for, errors as promised.

#include "io/socket_factory.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ostream>
#include <utility>
#include <vector>

using io::AddressFamily;
using io::KernelSocketFactory;
using io::SocketAddress;
using io::SocketOptions;

namespace {

SocketAddress loopback(AddressFamily family) {
  return *SocketAddress::parse(family == AddressFamily::ipv6 ? "::1" : "127.0.0.1", 0);
}

int option(const io::BoundSocket& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  REQUIRE(::getsockopt(socket.handle(), level, name, &value, &size) == 0);
  return value;
}

/// Lowers the limit on open files for the time of a test.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &previous_) == 0);
    rlimit lower = previous_;
    lower.rlim_cur = limit;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  DescriptorLimit(DescriptorLimit&&) = delete;
  DescriptorLimit& operator=(DescriptorLimit&&) = delete;
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &previous_); }

 private:
  rlimit previous_{};
};

}  // namespace

TEST_CASE("a bound socket has its address, its markings and its buffers") {
  KernelSocketFactory factory;
  for (const AddressFamily family : {AddressFamily::ipv4, AddressFamily::ipv6}) {
    SocketOptions options;
    options.local = loopback(family);
    options.dscp = 46;
    options.priority = 6;
    options.receive_buffer_bytes = 50'000;
    options.send_buffer_bytes = 60'000;
    const auto socket = factory.bind_udp(options);
    REQUIRE(socket);
    CHECK(socket->local().same_host(options.local));
    CHECK(socket->local().port() != 0);
    if (family == AddressFamily::ipv4) {
      CHECK(option(*socket, IPPROTO_IP, IP_TOS) == 0xb8);
    } else {
      CHECK(option(*socket, IPPROTO_IPV6, IPV6_TCLASS) == 0xb8);
      CHECK(option(*socket, IPPROTO_IPV6, IPV6_V6ONLY) == 1);
    }
    CHECK(option(*socket, SOL_SOCKET, SO_PRIORITY) == 6);
    // socket(7): the kernel doubles what is asked for.
    CHECK(option(*socket, SOL_SOCKET, SO_RCVBUF) == 100'000);
    CHECK(option(*socket, SOL_SOCKET, SO_SNDBUF) == 120'000);
  }
}

TEST_CASE("IPv4 and IPv6 sockets may have the same port on all addresses") {
  KernelSocketFactory factory;
  bool both = false;
  // Another program may have a port on IPv4, but not every one that is free on IPv6.
  for (int attempt = 0; attempt < 20 && !both; ++attempt) {
    SocketOptions options;
    options.local = SocketAddress::any(AddressFamily::ipv6, 0);
    const auto ipv6 = factory.bind_udp(options);
    REQUIRE(ipv6);
    options.local = SocketAddress::any(AddressFamily::ipv4, ipv6->local().port());
    both = factory.bind_udp(options).has_value();
  }
  CHECK(both);
}

TEST_CASE("errors of binding say what is wrong") {
  KernelSocketFactory factory;
  SocketOptions options;
  CHECK(factory.bind_udp(options).error() == std::errc::address_family_not_supported);
  options.local = loopback(AddressFamily::ipv4);
  const auto first = factory.bind_udp(options);
  REQUIRE(first);
  options.local = first->local();
  CHECK(factory.bind_udp(options).error() == std::errc::address_in_use);
  options.local = *SocketAddress::parse("192.0.2.1", 0);
  CHECK(factory.bind_udp(options).error() == std::errc::address_not_available);
  options.local = loopback(AddressFamily::ipv4);
  options.dscp = 64;
  CHECK(factory.bind_udp(options).error() == std::errc::invalid_argument);
  options.dscp = 0;
  options.connected = loopback(AddressFamily::ipv6).with_port(9);
  CHECK_FALSE(factory.bind_udp(options));
}

TEST_CASE("a bound socket gives its port back when it is dropped or overwritten") {
  KernelSocketFactory factory;
  SocketOptions options;
  options.local = loopback(AddressFamily::ipv4);
  auto first = factory.bind_udp(options);
  auto second = factory.bind_udp(options);
  REQUIRE(first);
  REQUIRE(second);
  SocketOptions again;
  again.local = first->local();
  *first = std::move(*second);
  CHECK(factory.bind_udp(again));
  again.local = first->local();
  io::BoundSocket& same = *first;
  *first = std::move(same);
  CHECK(*first);
  CHECK(factory.bind_udp(again).error() == std::errc::address_in_use);
  *first = io::BoundSocket();
  CHECK(factory.bind_udp(again));
}

TEST_CASE("sockets leave the reserve of file descriptors alone") {
  const DescriptorLimit limit(64);
  KernelSocketFactory factory(32);
  SocketOptions options;
  options.local = loopback(AddressFamily::ipv4);
  std::vector<io::BoundSocket> sockets;
  for (int count = 0; count < 64; ++count) {
    auto socket = factory.bind_udp(options);
    if (!socket) {
      CHECK(socket.error() == std::errc::too_many_files_open);
      break;
    }
    sockets.push_back(std::move(*socket));
  }
  CHECK(sockets.size() < 32);
  CHECK_FALSE(sockets.empty());
  // What the reserve is for: others still get descriptors.
  const int other = ::dup(0);
  CHECK(other >= 0);
  ::close(other);
  sockets.pop_back();
  CHECK(factory.bind_udp(options));
}

TEST_CASE("the source address towards a peer is found without sending anything") {
  KernelSocketFactory factory;
  const auto ipv4 = factory.route_source(*SocketAddress::parse("127.0.0.9", 0));
  REQUIRE(ipv4);
  CHECK(ipv4->is_loopback());
  CHECK(ipv4->port() == 0);
  CHECK(factory.route_source(loopback(AddressFamily::ipv6)) == loopback(AddressFamily::ipv6));
  CHECK_FALSE(factory.route_source(SocketAddress()));
}
