#include "io/socket_address.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <unordered_set>

using io::AddressFamily;
using io::SocketAddress;

TEST_CASE("numeric addresses are parsed and printed in their usual form") {
  struct Example {
    const char* text;
    const char* printed;
    AddressFamily family;
  };
  const std::array<Example, 9> examples{
      {{"127.0.0.1", "127.0.0.1", AddressFamily::ipv4},
       {"0.0.0.0", "0.0.0.0", AddressFamily::ipv4},
       {"255.255.255.255", "255.255.255.255", AddressFamily::ipv4},
       {"::1", "::1", AddressFamily::ipv6},
       {"::", "::", AddressFamily::ipv6},
       {"2001:DB8:0:0:0:0:0:1", "2001:db8::1", AddressFamily::ipv6},
       {"::ffff:192.0.2.1", "::ffff:192.0.2.1", AddressFamily::ipv6},
       {"fe80::1%2", "fe80::1%2", AddressFamily::ipv6},
       {"1:2:3:4:5:6:255.255.255.255", "1:2:3:4:5:6:ffff:ffff", AddressFamily::ipv6}}};
  for (const Example& example : examples) {
    CAPTURE(example.text);
    const auto address = SocketAddress::parse(example.text, 4000);
    REQUIRE(address);
    CHECK(address->family() == example.family);
    CHECK(address->port() == 4000);
    CHECK(address->host_text() == example.printed);
    CHECK(SocketAddress::parse_with_port(address->text()) == address);
    CHECK(SocketAddress::from_kernel(address->kernel_address(), address->kernel_size()) ==
          *address);
  }
}

TEST_CASE("what is no numeric address is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv,
        " "sv,
        "localhost"sv,
        "127.0.0"sv,
        "127.0.0.1 "sv,
        "127.0.0.256"sv,
        "127.1"sv,
        "0127.0.0.1"sv,
        "127.0.0.1\0"sv,
        "\0"sv,
        "::1\0x"sv,
        ":::"sv,
        "[::1]"sv,
        "::1%"sv,
        "::1%eth0"sv,
        "::1%4294967296"sv,
        "::1%-1"sv,
        "::1% 1"sv,
        "127.0.0.1%1"sv,
        "g::1"sv,
        "1:2:3:4:5:6:7:8:9"sv,
        "%1"sv,
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee"sv}) {
    CAPTURE(text);
    CHECK_FALSE(SocketAddress::parse(text, 1));
  }
}

TEST_CASE("text with a port needs exactly one, and brackets around IPv6 only") {
  CHECK(SocketAddress::parse_with_port("127.0.0.1:2427")->text() == "127.0.0.1:2427");
  CHECK(SocketAddress::parse_with_port("[::1]:0")->text() == "[::1]:0");
  CHECK(SocketAddress::parse_with_port("[fe80::1%3]:65535")->text() == "[fe80::1%3]:65535");
  for (const char* text :
       {"", ":", "127.0.0.1", "127.0.0.1:", ":2427", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:+1", "127.0.0.1:1x", "127.0.0.1: 1", "::1:2427", "[::1]", "[::1]2427", "[::1:1",
        "::1]:1", "[127.0.0.1]:1", "[]:1", "[[::1]]:1", "127.0.0.1:1:1"}) {
    CAPTURE(text);
    CHECK_FALSE(SocketAddress::parse_with_port(text));
  }
}

TEST_CASE("addresses are equal when family, host, scope and port are") {
  const auto base = *SocketAddress::parse("127.0.0.1", 1);
  CHECK(base == *SocketAddress::parse("127.0.0.1", 1));
  CHECK_FALSE(base == base.with_port(2));
  CHECK(base.same_host(base.with_port(2)));
  CHECK_FALSE(base == *SocketAddress::parse("127.0.0.2", 1));
  CHECK_FALSE(base.same_host(*SocketAddress::parse("::ffff:127.0.0.1", 1)));
  CHECK_FALSE(*SocketAddress::parse("fe80::1%1", 1) == *SocketAddress::parse("fe80::1%2", 1));
  CHECK(SocketAddress() == SocketAddress());
  CHECK_FALSE(SocketAddress() == SocketAddress::any(AddressFamily::ipv4, 0));
}

TEST_CASE("unspecified and loopback addresses are known as such") {
  CHECK(SocketAddress().is_unspecified());
  CHECK(SocketAddress().text().empty());
  CHECK(SocketAddress().kernel_size() == 0);
  CHECK(SocketAddress().with_port(5).port() == 0);
  for (const AddressFamily family : {AddressFamily::ipv4, AddressFamily::ipv6}) {
    const auto any = SocketAddress::any(family, 9);
    CHECK(any.is_unspecified());
    CHECK_FALSE(any.is_loopback());
    CHECK(any.family() == family);
    CHECK(any.port() == 9);
  }
  CHECK(SocketAddress::parse("127.255.0.1", 1)->is_loopback());
  CHECK(SocketAddress::parse("::1", 1)->is_loopback());
  CHECK_FALSE(SocketAddress::parse("128.0.0.1", 1)->is_loopback());
  CHECK_FALSE(SocketAddress::parse("::2", 1)->is_loopback());
}

TEST_CASE("what the kernel wrote is taken only if it is whole and of a known family") {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(5004);
  raw.sin6_flowinfo = htonl(0x12345);
  raw.sin6_addr = in6addr_loopback;
  const auto address = SocketAddress::from_kernel(&raw, sizeof(raw));
  CHECK(address == *SocketAddress::parse("::1", 5004));
  CHECK(address.hash() == SocketAddress::parse("::1", 5004)->hash());
  for (std::size_t size = 0; size < sizeof(raw); ++size) {
    CHECK(SocketAddress::from_kernel(&raw, size).family() == AddressFamily::none);
  }
  raw.sin6_family = AF_UNIX;
  CHECK(SocketAddress::from_kernel(&raw, sizeof(raw)).family() == AddressFamily::none);
}

TEST_CASE("neighbouring addresses have different hashes") {
  std::unordered_set<std::size_t> low_bits;
  for (std::uint16_t port = 10'000; port < 11'024; ++port) {
    low_bits.insert(SocketAddress::parse("127.0.0.1", port)->hash() & 0xffffU);
    low_bits.insert(SocketAddress::parse("2001:db8::1", port)->hash() & 0xffffU);
  }
  CHECK(low_bits.size() > 1900);
}
