// Whose packet it is: legs by the gateway's address, every misdirection is seen.
#include "tools/rtpload/media_checker.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace {

using namespace rtpload;

constexpr std::uint32_t kSeed = 42;

io::SocketAddress address(const char* text) {
  return io::SocketAddress::parse_with_port(text).value();
}

// Two calls on sockets of their own: legs 0 to 3, gateway ports 4000 to 4006.
std::vector<MediaLeg> four_legs() {
  return {{0, address("127.0.0.1:4000")},
          {1, address("127.0.0.1:4002")},
          {2, address("127.0.0.1:4004")},
          {3, address("127.0.0.1:4006")}};
}

class Peer {
 public:
  explicit Peer(LegLookup lookup = LegLookup::by_source)
      : checker_({codec_, codec_}, kSeed, lookup, four_legs()) {}

  // Packet `sequence` of `stream` comes from the gateway's port of `leg` to the local socket
  // `socket`.
  void arrive(std::uint32_t stream, std::uint32_t sequence, std::uint32_t leg, std::uint32_t socket,
              std::uint64_t latency_ns = 0) {
    arrive_from(stream, sequence, four_legs()[leg].gateway, socket, latency_ns);
  }
  void arrive_from(std::uint32_t stream, std::uint32_t sequence, const io::SocketAddress& source,
                   std::uint32_t socket, std::uint64_t latency_ns = 0) {
    constexpr std::uint64_t kSent = 1'000'000'000'000;
    const std::size_t size =
        write_packet(buffer_, codec_, kSeed, {stream, sequence, make_stamp(kSent)});
    checker_.on_datagram({std::span(buffer_).first(size), source, kSent + latency_ns, socket});
  }
  [[nodiscard]] MediaChecker& checker() { return checker_; }
  [[nodiscard]] const MediaCounters& counters() const { return checker_.counters(); }
  [[nodiscard]] std::array<std::uint8_t, kPacketBytesMax>& buffer() { return buffer_; }

 private:
  Codec codec_ = find_codec("GSM-FR").value();
  std::array<std::uint8_t, kPacketBytesMax> buffer_{};
  MediaChecker checker_;
};

}  // namespace

TEST_CASE("each leg of a call is checked for the form of the frames that it announced") {
  const std::array<Codec, 2> codecs = {find_codec("AMR-12.2").value(),
                                       find_codec("AMR-12.2-BE").value()};
  MediaChecker checker(codecs, kSeed, LegLookup::by_source, four_legs());
  std::array<std::uint8_t, kPacketBytesMax> buffer{};
  const auto arrive = [&](std::uint32_t sequence, std::size_t form) {
    const std::size_t size = write_packet(buffer, codecs[form], kSeed, {0, sequence, 0});
    checker.on_datagram({std::span(buffer).first(size), four_legs()[1].gateway, 0, 1});
  };
  arrive(0, 1);
  CHECK(checker.counters().received == 1);
  arrive(1, 0);
  CHECK(checker.counters().received == 1);
  CHECK(checker.counters().corrupted == 1);
}

TEST_CASE("what one leg sends is received by the other leg of its call") {
  Peer peer;
  peer.arrive(0, 0, 1, 1, 64'000);
  peer.arrive(1, 0, 0, 0);
  peer.arrive(2, 0, 3, 3);
  peer.arrive(3, 0, 2, 2);
  CHECK(peer.counters().received == 4);
  CHECK(peer.counters().wrong_stream == 0);
  CHECK(peer.checker().stream(0).received() == 1);
  CHECK(peer.checker().latency_ns().max() == 64'000);
}

TEST_CASE(
    "a packet at another leg, on another socket, or echoed to its sender is of a wrong stream") {
  Peer peer;
  peer.arrive(0, 0, 3, 3);
  CHECK(peer.counters().wrong_stream == 1);
  peer.arrive(0, 1, 1, 2);
  CHECK(peer.counters().wrong_stream == 2);
  peer.arrive(0, 2, 0, 0);
  CHECK(peer.counters().wrong_stream == 3);
  peer.arrive(17, 0, 1, 1);
  CHECK(peer.counters().wrong_stream == 4);
  peer.arrive_from(0, 3, address("127.0.0.1:5000"), 1);
  CHECK(peer.counters().wrong_stream == 5);
  peer.arrive_from(0, 3, address("127.0.0.2:4002"), 1);
  CHECK(peer.counters().wrong_stream == 6);
  CHECK(peer.counters().received == 0);
  CHECK(peer.counters().corrupted == 0);
}

TEST_CASE("without a gateway the payload tells the leg, the socket must still be the leg's own") {
  Peer peer(LegLookup::by_payload);
  const io::SocketAddress shared = address("127.0.0.1:9000");
  peer.arrive_from(0, 0, shared, 1);
  CHECK(peer.counters().received == 1);
  peer.arrive_from(0, 1, shared, 3);
  peer.arrive_from(99, 0, shared, 1);
  CHECK(peer.counters().wrong_stream == 2);
}

TEST_CASE("duplicates, reordering, corruption and dummies are told apart") {
  Peer peer;
  for (const std::uint32_t sequence : {0U, 2U, 1U, 1U, 5U}) {
    peer.arrive(0, sequence, 1, 1);
  }
  CHECK(peer.counters().received == 4);
  CHECK(peer.counters().reordered == 1);
  CHECK(peer.counters().duplicated == 1);
  const std::array<std::uint8_t, 40> garbage{};
  peer.checker().on_datagram({garbage, address("127.0.0.1:4000"), 0, 0});
  peer.checker().on_datagram({garbage, address("127.0.0.1:4999"), 0, 0});
  CHECK(peer.counters().corrupted == 2);
  CHECK(peer.counters().unknown_source == 1);
  peer.checker().on_datagram({std::span(garbage).first(1), address("127.0.0.1:4000"), 0, 0});
  CHECK(peer.counters().keep_alives == 1);
}

TEST_CASE("a leg is found by host and port, also when two gateways use the same port") {
  LegDirectory directory;
  CHECK(directory.add(address("127.0.0.1:4000"), 0));
  CHECK(directory.add(address("127.0.0.2:4000"), 1));
  CHECK(directory.add(address("[::1]:4000"), 2));
  CHECK(directory.add(address("127.0.0.1:4002"), 3));
  CHECK_FALSE(directory.add(address("127.0.0.1:4000"), 4));
  CHECK_FALSE(directory.add(address("127.0.0.2:4000"), 5));
  CHECK(directory.find(address("127.0.0.1:4000")) == 0);
  CHECK(directory.find(address("127.0.0.2:4000")) == 1);
  CHECK(directory.find(address("[::1]:4000")) == 2);
  CHECK(directory.find(address("127.0.0.1:4002")) == 3);
  CHECK(directory.find(address("127.0.0.3:4000")) == LegDirectory::kUnknown);
  CHECK(directory.find(address("127.0.0.1:4001")) == LegDirectory::kUnknown);
}
