// FreeSet against std::set, PortPool's order and quarantine, and the numbers and names of endpoints
// and connections: all pure.

#include "mgw/free_set.h"

#include "io/sim_network.h"
#include "mgw/endpoint.h"
#include "mgw/port_pool.h"

#include <doctest/doctest.h>

#include <chrono>
#include <set>

using namespace std::chrono_literals;
using mgw::FreeSet;
using mgw::PortPool;

namespace {

std::optional<std::size_t> next_in(const std::set<std::size_t>& model, std::size_t from) {
  const auto found = model.lower_bound(from);
  return found == model.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

TEST_CASE("a set of free numbers answers as a sorted set does, whatever is done to it") {
  io::SimRandom random(7);
  for (const std::size_t size : {1U, 2U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 65534U}) {
    CAPTURE(size);
    FreeSet tested(size);
    std::set<std::size_t> model;
    for (std::size_t i = 0; i < size; ++i) {
      model.insert(i);
    }
    for (int step = 0; step < 4000; ++step) {
      // Long runs of one number after the other empty and fill whole words and summary words.
      const std::size_t start = random.below(size);
      const std::size_t length = random.chance(0.1) ? random.below(300) : 1;
      const bool insert = random.chance(size > 1000 && step % 1000 < 500 ? 0.05 : 0.5);
      for (std::size_t i = start; i < std::min(start + length, size); ++i) {
        if (insert) {
          tested.insert(i);
          model.insert(i);
        } else {
          tested.erase(i);
          model.erase(i);
        }
      }
      const std::size_t from = random.below(size + 70);
      REQUIRE(tested.next_from(from) == next_in(model, from));
      REQUIRE(tested.lowest() == next_in(model, 0));
      REQUIRE(tested.count() == model.size());
      REQUIRE(tested.contains(start) == (model.count(start) != 0));
    }
  }
}

TEST_CASE("an emptied set of 65,534 numbers has no lowest member until one comes back") {
  FreeSet set(65534);
  CHECK(set.count() == 65534);
  for (std::size_t i = 0; i < 65534; ++i) {
    REQUIRE(set.lowest() == i);
    set.erase(i);
  }
  CHECK_FALSE(set.lowest());
  CHECK_FALSE(set.next_from(65533));
  set.insert(65533);
  CHECK(set.lowest() == 65533);
  CHECK(set.next_from(65533) == 65533);
  CHECK_FALSE(set.next_from(65534));
  CHECK_FALSE(set.contains(65534));
}

TEST_CASE("port pairs are handed out from the low end, in order, and round robin") {
  PortPool pool(4000, 4007, 0ms);
  const io::TimePoint now{1s};
  CHECK(pool.total() == 4);
  CHECK(pool.acquire(now) == 4000);
  CHECK(pool.acquire(now) == 4002);
  pool.release(4000, now);
  CHECK(pool.acquire(now) == 4004);
  CHECK(pool.acquire(now) == 4006);
  CHECK(pool.acquire(now) == 4000);
  CHECK_FALSE(pool.acquire(now));
  CHECK(pool.used() == 4);
}

TEST_CASE("a released pair rests for the quarantine to the nanosecond, and counts as unused") {
  PortPool pool(4000, 4003, 2s);
  const io::TimePoint start{100s};
  CHECK(pool.acquire(start) == 4000);
  CHECK(pool.acquire(start) == 4002);
  pool.release(4002, start);
  pool.release(4000, start + 500ms);
  CHECK(pool.used() == 0);
  CHECK_FALSE(pool.acquire(start + 2s - 1ns));
  CHECK(pool.acquire(start + 2s) == 4002);
  CHECK_FALSE(pool.acquire(start + 2500ms - 1ns));
  CHECK(pool.acquire(start + 2500ms) == 4000);
}

TEST_CASE("a pair that somebody else has is not tried again at once") {
  PortPool pool(4000, 4003, 2s);
  const io::TimePoint now{1s};
  CHECK(pool.acquire(now) == 4000);
  pool.release(4000, now);
  CHECK(pool.acquire(now) == 4002);
  CHECK_FALSE(pool.acquire(now));
  CHECK(pool.acquire(now + 2s) == 4000);
}

TEST_CASE("a range that ends at the last port of all works") {
  PortPool pool(65532, 65535, 0s);
  CHECK(pool.total() == 2);
  CHECK(pool.acquire(io::TimePoint{}) == 65532);
  CHECK(pool.acquire(io::TimePoint{}) == 65534);
  CHECK_FALSE(pool.acquire(io::TimePoint{}));
}

TEST_CASE("a connection id is a number: letter case and leading zeros don't matter") {
  CHECK(mgw::connection_number("0000abCD") == 0xabcdU);
  CHECK(mgw::connection_number("ABCD") == 0xabcdU);
  CHECK(mgw::connection_number("00000000000000000000000000000001") == 1U);
  CHECK(mgw::connection_number("FFFFFFFF") == 0xffffffffU);
  for (const char* text : {"", "0", "000", "1FFFFFFFF", "12G", " 1", "1 ", "0x1", "-1", "+1"}) {
    CAPTURE(text);
    CHECK_FALSE(mgw::connection_number(text));
  }
  mgw::Connection connection;
  connection.id = 0xab;
  CHECK(connection.id_text() == "000000AB");
}

TEST_CASE("RTCP goes to the port after the RTP port unless the peer named another") {
  mgw::Connection connection;
  CHECK(connection.remote_rtcp().port() == 0);
  connection.remote_host = *io::SocketAddress::parse("192.0.2.9", 0);
  connection.remote_port = 5000;
  CHECK(connection.remote_rtcp().text() == "192.0.2.9:5001");
  connection.remote_port = 65535;  // has no successor
  CHECK(connection.remote_rtcp().port() == 0);
  connection.remote_rtcp_port = 7000;
  CHECK(connection.remote_rtcp().text() == "192.0.2.9:7000");
  connection.remote_rtcp_host = *io::SocketAddress::parse("192.0.2.8", 0);
  CHECK(connection.remote_rtcp().text() == "192.0.2.8:7000");
  connection.rtcp_mux = true;
  CHECK(connection.remote_rtcp().text() == "192.0.2.9:65535");
  connection.remote_port = 0;  // on hold
  CHECK(connection.remote_rtcp().family() == io::AddressFamily::none);
}
