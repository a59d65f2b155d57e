// Access-list entries: what is one, and which addresses it covers.

#include "conf/ip_network.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace {

using conf::IpNetwork;

bool covers(const std::string& network, const std::string& address) {
  const auto parsed = IpNetwork::parse(network);
  REQUIRE_MESSAGE(parsed.has_value(), network);
  std::array<std::uint8_t, 16> bytes{};
  const bool is_ipv4 = conf::address_family(address) == conf::AddressFamily::ipv4;
  REQUIRE(inet_pton(is_ipv4 ? AF_INET : AF_INET6, address.c_str(), bytes.data()) == 1);
  return parsed->contains(std::span<const std::uint8_t>(bytes).first(is_ipv4 ? 4 : 16));
}

}  // namespace

TEST_CASE("a network covers exactly the addresses that share its prefix") {
  CHECK(covers("10.0.0.0/8", "10.255.255.255"));
  CHECK_FALSE(covers("10.0.0.0/8", "11.0.0.0"));
  CHECK(covers("192.0.2.128/25", "192.0.2.128"));
  CHECK(covers("192.0.2.128/25", "192.0.2.255"));
  CHECK_FALSE(covers("192.0.2.128/25", "192.0.2.127"));
  CHECK(covers("0.0.0.0/0", "203.0.113.9"));
  CHECK(covers("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(covers("2001:db8::/33", "2001:db8:8000::1"));
}

TEST_CASE("a single address covers itself only") {
  CHECK(covers("127.0.0.1", "127.0.0.1"));
  CHECK_FALSE(covers("127.0.0.1", "127.0.0.2"));
  CHECK(covers("::1", "::1"));
  CHECK_FALSE(covers("::1", "::2"));
}

TEST_CASE("an IPv4 address in its IPv6 form is the IPv4 address, on either side") {
  CHECK(covers("10.0.0.0/8", "::ffff:10.1.2.3"));
  CHECK(covers("::ffff:10.1.2.3", "10.1.2.3"));
  CHECK(covers("::ffff:10.0.0.0/104", "10.200.0.1"));
  CHECK_FALSE(covers("::ffff:10.0.0.0/104", "11.0.0.1"));
}

TEST_CASE("a network never covers an address of the other family or of an impossible size") {
  CHECK_FALSE(covers("0.0.0.0/0", "2001:db8::1"));
  CHECK_FALSE(covers("::/0", "10.0.0.1"));
  const std::array<std::uint8_t, 5> odd{};
  CHECK_FALSE(IpNetwork::parse("0.0.0.0/0")->contains(odd));
  CHECK_FALSE(IpNetwork::parse("0.0.0.0/0")->contains({}));
}

TEST_CASE("text that is not a network is refused") {
  for (const char* text :
       {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8 ", " 10.0.0.1", "10.0.0",
        "10.0.0.256", "010.0.0.1", "localhost", "::1/129", "fe80::1%lo", "10.0.0.0/8/8", "[::1]",
        "10.0.0.0/0x8", "10.0.0.0/4294967296", "10.0.0.0/99999999999999999999"}) {
    CHECK_MESSAGE(!IpNetwork::parse(text).has_value(), text);
  }
  using std::string_view_literals::operator""sv;
  CHECK_FALSE(IpNetwork::parse("10.0.0.1\0.example"sv).has_value());
}

TEST_CASE("a network with bits behind its prefix is refused, since it says two things") {
  CHECK_FALSE(IpNetwork::parse("10.0.0.1/8").has_value());
  CHECK_FALSE(IpNetwork::parse("192.0.2.64/25").has_value());
  CHECK_FALSE(IpNetwork::parse("2001:db8::1/64").has_value());
}

TEST_CASE("a network is written as it is read") {
  for (const char* text :
       {"10.0.0.0/8", "127.0.0.1", "0.0.0.0/0", "2001:db8::/32", "::1", "::/0"}) {
    CHECK(IpNetwork::parse(text)->to_string() == text);
  }
  CHECK(IpNetwork::parse("10.0.0.1/32")->to_string() == "10.0.0.1");
}
