// The client of osmo-e1d: its messages bit by bit, and the driver against a server that does what a
// test wants, over real sockets but in the test's own time.
#include "mgw/e1d_driver.h"

#include "tests/sim/e1d_server.h"
#include "tests/sim/temporary_directory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

using namespace std::chrono_literals;
using mgw::E1Block;
using mgw::E1dAlarm;
using mgw::E1dDriver;
using mgw::E1dLineMode;
using mgw::E1dMessage;
using mgw::E1LineState;
using Octets = sim::E1dServer::Octets;

namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;

/// The two octets of a number, in the machine's order.
void append(Octets& octets, unsigned value) {
  const auto low = static_cast<std::uint8_t>(value & 0xffU);
  const auto high = static_cast<std::uint8_t>(value >> 8U);
  octets.push_back(kLittle ? low : high);
  octets.push_back(kLittle ? high : low);
}

Octets message(std::uint8_t type, const Octets& content, unsigned magic = 0x01e1,
               std::uint8_t interface = 0, std::uint8_t line = 0) {
  Octets octets;
  append(octets, magic);
  append(octets, static_cast<unsigned>(8 + content.size()));
  octets.insert(octets.end(), {type, interface, line, 0});
  octets.insert(octets.end(), content.begin(), content.end());
  return octets;
}

std::optional<E1dMessage> read(const Octets& octets, std::uint8_t line = 0) {
  return mgw::read_e1d_message(std::as_bytes(std::span(octets)), line);
}

template <std::size_t Size>
Octets plain(const std::array<std::byte, Size>& bytes) {
  Octets octets(Size);
  std::memcpy(octets.data(), bytes.data(), Size);
  return octets;
}

E1Block block_of(std::uint8_t value) {
  E1Block block;
  block.fill(std::byte{value});
  return block;
}

/// A driver with its server, both stepped by hand.
struct Bench {
  sim::TemporaryDirectory directory;
  sim::E1dServer server{directory.path() + "/e1d"};
  std::shared_ptr<mgw::E1LineStatus> status = std::make_shared<mgw::E1LineStatus>();
  E1dDriver driver{directory.path() + "/e1d", {0, 0}, status};
  io::TimePoint now{1000s};

  [[nodiscard]] E1LineState state() const { return status->line_state(); }
  [[nodiscard]] bool refused(unsigned timeslot) const {
    return (status->refused.value() >> timeslot & 1U) != 0;
  }
  /// So many looks, with the server answering between them.
  void poll(int times = 1) {
    for (int i = 0; i < times; ++i) {
      driver.poll(now);
      server.step();
      now += E1dDriver::kInterval;
    }
  }
  void open(std::uint8_t timeslot) {
    driver.open(timeslot);
    poll(4);
    REQUIRE(server.is_open(timeslot));
  }
  /// What the driver has now, block by block, each answered with one of `reply`.
  std::vector<E1Block> exchange(std::uint8_t timeslot, std::uint8_t reply = 0x55) {
    std::vector<E1Block> blocks;
    for (E1Block block; blocks.size() < 20 && driver.receive(timeslot, block);) {
      blocks.push_back(block);
      driver.transmit(timeslot, block_of(reply));
    }
    return blocks;
  }
};

}  // namespace

TEST_CASE("requests to osmo-e1d have its header, and what they ask for") {
  Octets query;
  append(query, 0x01e1);
  append(query, 8);
  query.insert(query.end(), {0x01, 3, 2, 0xff});
  CHECK(plain(mgw::write_e1d_line_query({3, 2})) == query);
  Octets open;
  append(open, 0x01e1);
  append(open, 12);
  open.insert(open.end(), {0x04, 3, 2, 31, 0x10, 0x00});
  append(open, 160);
  CHECK(plain(mgw::write_e1d_open({3, 2}, 31)) == open);
}

TEST_CASE("answers of osmo-e1d say how a line is, and whether a time slot is ours") {
  CHECK(read(message(0x81, {5, 0x20, 0}), 5)->mode == E1dLineMode::channelised);
  CHECK(read(message(0x81, {5, 0x21, 0}), 5)->mode == E1dLineMode::other);
  CHECK(read(message(0x81, {0, 0x20, 0, 5, 0x00, 0}), 5)->mode == E1dLineMode::other);
  CHECK(read(message(0x81, {4, 0x20, 0}), 5)->mode == E1dLineMode::absent);
  CHECK(read(message(0x81, {}), 5)->mode == E1dLineMode::absent);
  CHECK(read(message(0x81, {5, 0x20}), 5)->mode == E1dLineMode::absent);
  CHECK(read(message(0x81, {}))->kind == E1dMessage::Kind::line);
  const auto opened = read(message(0x84, {1, 0x10, 0, 0, 0, 0xa5}));
  CHECK(opened->kind == E1dMessage::Kind::timeslot);
  CHECK(opened->accepted);
  CHECK_FALSE(read(message(0x84, {}))->accepted);
  CHECK(read(message(0xc5, {}))->kind == E1dMessage::Kind::refusal);
  CHECK(read(message(0x80, {0, 1}))->kind == E1dMessage::Kind::other);
  CHECK(read(message(0x7f, {0x1f}))->kind == E1dMessage::Kind::other);
}

TEST_CASE("events of osmo-e1d say which fault of which line begins or ends") {
  for (unsigned number = 0; number < 8; ++number) {
    const auto type = static_cast<std::uint8_t>(0x40 + number);
    const auto event = read(message(type, {}, 0x01e1, 3, 7));
    REQUIRE(event.has_value());
    CHECK(event->kind == E1dMessage::Kind::alarm);
    CHECK(event->alarm == static_cast<E1dAlarm>(number / 2));
    CHECK(event->present == (number % 2 == 0));
    CHECK(event->at.interface == 3);
    CHECK(event->at.line == 7);
  }
}

TEST_CASE("what is no message of the protocol is not read") {
  CHECK_FALSE(read({}));
  CHECK_FALSE(read(message(0x81, {}, 0x00e1)));  // osmo-e1d before 0.2
  Octets octets = message(0x81, {0, 0x20, 0});
  octets.push_back(0);
  CHECK_FALSE(read(octets));
  octets.resize(10);
  CHECK_FALSE(read(octets));
  octets.resize(7);
  CHECK_FALSE(read(octets));
}

TEST_CASE("a line is up once osmo-e1d has said that it has time slots") {
  Bench bench;
  CHECK(bench.state() == E1LineState::connecting);
  bench.poll();
  CHECK(bench.state() == E1LineState::connecting);
  bench.poll();
  CHECK(bench.state() == E1LineState::up);
  CHECK(bench.server.clients() == 1);
  CHECK(bench.status->losses.value() == 0);
}

TEST_CASE("a line that osmo-e1d has not, or not in time slots, is asked for again and again") {
  Bench bench;
  bench.server.has_line = false;
  bench.poll(2);
  CHECK(bench.state() == E1LineState::absent);
  bench.server.has_line = true;
  bench.server.line_mode = 0x21;
  bench.poll(14);
  CHECK(bench.state() == E1LineState::unchannelised);
  bench.server.line_mode = 0x20;
  bench.poll(30);
  CHECK(bench.state() == E1LineState::up);
  CHECK(bench.server.clients() == 1);
}

TEST_CASE("without a server it is tried less and less often, at least every 5 seconds") {
  Bench bench;
  bench.server.stop();
  bench.poll();
  CHECK(bench.state() == E1LineState::unreachable);
  bench.now += 60s;
  for (int i = 0; i < 20; ++i) {  // 100 ms, 200 ms, ... 5 s
    bench.driver.poll(bench.now);
    bench.now += E1dDriver::kRetryLast;
  }
  bench.server.start();
  bench.driver.poll(bench.now - 1ms);
  bench.server.step();
  CHECK(bench.server.clients() == 0);
  bench.poll(2);
  CHECK(bench.state() == E1LineState::up);
}

TEST_CASE("a server that does not answer, or not in this protocol, is given up and tried again") {
  Bench bench;
  bench.server.answers = false;
  bench.poll(100);
  CHECK(bench.state() == E1LineState::connecting);
  bench.poll(110);
  CHECK(bench.state() == E1LineState::unreachable);
  bench.server.answers = true;
  bench.poll(50);
  CHECK(bench.state() == E1LineState::up);
  for (const Octets& octets : {Octets(12, 0x7e), message(0x84, {}), message(0x81, {}),
                               message(0xc1, {})}) {  // garbage, and answers to nothing
    bench.server.send_raw(octets);
    bench.poll();
    CHECK(bench.state() == E1LineState::unreachable);
    bench.poll(30);
    CHECK(bench.state() == E1LineState::up);
  }
  CHECK(bench.status->losses.value() == 4);
}

TEST_CASE("the octets of a time slot come in blocks, however they are cut, and go in blocks") {
  Bench bench;
  bench.poll(2);
  bench.open(7);
  CHECK(bench.exchange(7).empty());
  Octets octets(320);
  for (std::size_t i = 0; i < octets.size(); ++i) {
    octets[i] = static_cast<std::uint8_t>(i * 7 % 251);
  }
  std::vector<E1Block> blocks;
  for (std::size_t at = 0; at < octets.size(); at += 64) {
    const auto begin = octets.begin() + static_cast<std::ptrdiff_t>(at);
    bench.server.deliver(7, Octets(begin, begin + 64));
    bench.poll();
    const auto more = bench.exchange(7, static_cast<std::uint8_t>(at));
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  REQUIRE(blocks.size() == 2);
  CHECK(plain(blocks[0]) == Octets(octets.begin(), octets.begin() + 160));
  CHECK(plain(blocks[1]) == Octets(octets.begin() + 160, octets.end()));
  // One more than came, so that the line has something while we are late by one.
  Octets expected(160, 0xff);
  expected.insert(expected.end(), 160, 128);
  expected.insert(expected.end(), 160, 0);
  CHECK(bench.server.take(7) == expected);
  CHECK(bench.status->discarded_blocks.value() == 0);
}

TEST_CASE("without data a time slot is idle, in time, and what is sent then goes nowhere") {
  Bench bench;
  bench.poll(2);
  bench.server.answers = false;
  bench.driver.open(1);
  int blocks = 0;
  for (int i = 0; i < 50; ++i) {  // half a second before it is open
    bench.poll();
    for (const E1Block& block : bench.exchange(1)) {
      CHECK(block == block_of(0xff));
      ++blocks;
    }
  }
  CHECK(blocks >= 24);
  CHECK(blocks <= 25);
  Bench silent;
  silent.poll(2);
  silent.open(1);
  blocks = 0;
  for (int i = 0; i < 60; ++i) {  // open, but e1d has nothing
    silent.poll();
    blocks += static_cast<int>(silent.exchange(1).size());
  }
  CHECK(blocks >= 25);  // after 100 ms of patience
  CHECK(blocks <= 30);
  CHECK(silent.server.take(1).empty());
  silent.server.deliver(1, Octets(160, 0x12));
  REQUIRE(silent.exchange(1).front() == block_of(0x12));
  CHECK(silent.server.take(1).size() == 320);
}

TEST_CASE("after a stall as much is sent as the line is still to have, so that no delay remains") {
  Bench bench;
  bench.poll(2);
  bench.open(3);
  bench.server.deliver(3, Octets(160, 0));
  CHECK(bench.exchange(3).size() == 1);
  CHECK(bench.server.take(3).size() == 320);
  bench.now += 140ms;
  for (int i = 0; i < 7; ++i) {
    bench.server.deliver(3, Octets(160, static_cast<std::uint8_t>(i)));
  }
  bench.poll();
  CHECK(bench.exchange(3).size() == 7);  // nothing of what was received is lost
  CHECK(bench.server.take(3).size() == 320);
  CHECK(bench.status->discarded_blocks.value() == 5);
  bench.server.deliver(3, Octets(160, 9));
  CHECK(bench.exchange(3).size() == 1);
  CHECK(bench.server.take(3).size() == 160);
}

TEST_CASE("a server that takes nothing gets no more than a few blocks") {
  Bench bench;
  bench.poll(2);
  bench.open(3);
  for (int i = 0; i < 100; ++i) {
    bench.server.deliver(3, Octets(160, 0));
    bench.poll();
    CHECK(bench.exchange(3).size() == 1);
  }
  CHECK(bench.server.take(3).size() <= 8 * 160);
  CHECK(bench.status->discarded_blocks.value() >= 92);
}

TEST_CASE("a time slot that another program has is asked for until it is free") {
  Bench bench;
  bench.poll(2);
  bench.server.taken[5] = true;
  bench.driver.open(5);
  bench.poll(20);
  CHECK_FALSE(bench.refused(5));
  bench.poll(40);
  CHECK(bench.refused(5));
  CHECK(bench.state() == E1LineState::up);
  CHECK(bench.server.requests().size() < 10);
  bench.server.taken[5] = false;
  bench.server.fails = true;
  bench.poll(15);
  CHECK(bench.refused(5));
  bench.server.fails = false;
  bench.poll(15);
  CHECK_FALSE(bench.refused(5));
  CHECK(bench.server.is_open(5));
  bench.server.taken[6] = true;
  bench.driver.open(6);
  bench.poll(80);
  CHECK(bench.refused(6));
  bench.driver.close(6);
  CHECK_FALSE(bench.refused(6));
}

TEST_CASE("a closed time slot is free at the server, and can be had again at once") {
  Bench bench;
  bench.poll(2);
  bench.open(9);
  bench.driver.close(9);
  CHECK(bench.server.take(9).empty());
  CHECK_FALSE(bench.server.is_open(9));
  bench.driver.open(9);
  bench.driver.poll(bench.now);  // asked for, and closed before the answer
  bench.driver.close(9);
  bench.poll(3);
  CHECK(bench.server.take(9).empty());
  CHECK_FALSE(bench.server.is_open(9));
  bench.open(9);
  bench.server.deliver(9, Octets(160, 0x33));
  CHECK(bench.exchange(9).front() == block_of(0x33));
}

TEST_CASE("after a restart of the server its time slots are opened again") {
  Bench bench;
  bench.poll(2);
  for (std::uint8_t timeslot = 1; timeslot < 32; ++timeslot) {
    bench.driver.open(timeslot);
  }
  bench.poll(3);
  CHECK(bench.server.is_open(31));
  bench.server.stop();
  bench.poll();
  CHECK(bench.state() == E1LineState::unreachable);
  CHECK(bench.status->losses.value() == 1);
  std::size_t idle = 0;
  for (int i = 0; i < 50; ++i) {
    bench.poll();
    idle += bench.exchange(31).size();
  }
  CHECK(idle >= 20);
  bench.server.start();
  for (int i = 0; i < 60; ++i) {
    bench.poll();
    static_cast<void>(bench.exchange(31));
  }
  CHECK(bench.state() == E1LineState::up);
  CHECK(bench.server.is_open(31));
  bench.server.deliver(31, Octets(160, 0x44));
  CHECK(bench.exchange(31).front() == block_of(0x44));
  bench.server.drop(31);  // one alone
  static_cast<void>(bench.exchange(31));
  bench.poll(15);
  CHECK(bench.server.is_open(31));
  CHECK(bench.status->losses.value() == 1);
}

TEST_CASE("alarms of the line take it away, those of others don't") {
  Bench bench;
  bench.poll(2);
  bench.server.send_event(0x40, 0, 1);
  bench.server.send_event(0x40, 1, 0);
  bench.server.send_event(0x7f);
  bench.poll();
  CHECK(bench.state() == E1LineState::up);
  bench.server.send_event(0x40);
  bench.server.send_event(0x44);
  bench.poll();
  CHECK(bench.state() == E1LineState::alarm);
  bench.server.send_event(0x41);
  bench.poll();
  CHECK(bench.state() == E1LineState::alarm);
  bench.server.send_event(0x45);
  bench.poll();
  CHECK(bench.state() == E1LineState::up);
  CHECK(bench.status->losses.value() == 1);
}
