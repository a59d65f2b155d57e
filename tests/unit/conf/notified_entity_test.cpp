// NotifiedEntity texts: what is read from them and what is refused.

#include "conf/notified_entity.h"

#include <doctest/doctest.h>

#include <string>

using conf::parse_notified_entity;

TEST_CASE("a notified entity has an optional name, an address and an optional port") {
  const auto full = parse_notified_entity("ca@192.0.2.1:2999");
  REQUIRE(full.has_value());
  CHECK(full->name == "ca");
  CHECK(full->address == "192.0.2.1");
  CHECK(full->port == 2999);

  const auto bare = parse_notified_entity("192.0.2.1");
  REQUIRE(bare.has_value());
  CHECK(bare->name.empty());
  CHECK(bare->port == 2727);

  const auto ipv6 = parse_notified_entity("ca@[2001:db8::1]:2427");
  REQUIRE(ipv6.has_value());
  CHECK(ipv6->address == "2001:db8::1");
  CHECK(ipv6->port == 2427);
  CHECK(parse_notified_entity("[::1]")->port == 2727);
}

TEST_CASE("a text that is no notified entity is refused") {
  for (const char* text :
       {"", "@", "ca@", "ca@host", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:x",
        "192.0.2.1:1 ", "::1", "[::1", "[::1]2427", "[192.0.2.1]", "[]", "c a@192.0.2.1",
        "a@b@192.0.2.1", ":2427", "[::1]:"}) {
    CHECK_MESSAGE(!parse_notified_entity(text).has_value(), text);
  }
  CHECK(parse_notified_entity(std::string(255, 'a') + "@192.0.2.1").has_value());
  CHECK_FALSE(parse_notified_entity(std::string(256, 'a') + "@192.0.2.1").has_value());
}
