// Properties of the whole way through Osmux: link, network, reader and playout.
#include "rtp/osmux_decoder.h"
#include "rtp/osmux_encoder.h"
#include "tests/unit/rtp/osmux_support.h"
#include "tests/unit/rtp/test_packets.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <vector>

namespace {

using test::at;
using test::milliseconds;
using test::Speech;

/// A frame as it left the playout; CMR apart, of which Osmux keeps one per chunk.
struct Heard {
  std::uint8_t type;
  bool good;
  std::uint8_t fill;

  bool operator==(const Heard&) const = default;
};

/// A link whose datagrams reach the playouts of its circuits, some of them not, some twice.
class Trunk final : public rtp::OsmuxSink {
 public:
  Trunk(const rtp::OsmuxOptions& options, std::size_t circuits, std::uint32_t seed)
      : link(options), random_(seed) {
    for (std::size_t circuit = 0; circuit < circuits; ++circuit) {
      REQUIRE(link.add_circuit(static_cast<std::uint8_t>(circuit), at({})));
      playouts.emplace_back(rtp::OsmuxPlayoutOptions{.payload_type = 112});
      heard.emplace_back();
    }
  }
  Trunk(const Trunk&) = delete;
  Trunk& operator=(const Trunk&) = delete;
  Trunk(Trunk&&) = delete;
  Trunk& operator=(Trunk&&) = delete;
  ~Trunk() = default;

  void on_osmux_datagram(std::span<const std::byte> datagram) noexcept override {
    if (random_.below(100) < loss_percent) {
      return;
    }
    deliver(datagram);
    if (random_.below(100) < duplicate_percent) {
      deliver(datagram);
    }
  }
  /// Everything that happens up to `time`, in its order.
  void run(io::TimePoint time) {
    while (link.deadline() <= time) {
      play(link.deadline());
      link.flush(now_, *this);
    }
    play(time);
  }
  void push(std::size_t circuit, std::uint16_t sequence, bool marker, const Speech& speech) {
    REQUIRE(link.push(static_cast<std::uint8_t>(circuit), test::rtp_header(sequence, marker),
                      test::amr_payload(speech), now_, *this));
  }

  rtp::OsmuxLink link;
  std::vector<rtp::OsmuxPlayout> playouts;
  std::vector<std::vector<Heard>> heard;
  std::uint32_t loss_percent = 0;
  std::uint32_t duplicate_percent = 0;

 private:
  void deliver(std::span<const std::byte> datagram) {
    rtp::OsmuxReader reader(datagram);
    while (const auto chunk = reader.next()) {
      playouts.at(chunk->header.circuit).on_chunk(*chunk, now_);
      drain(chunk->header.circuit);
    }
    CHECK_FALSE(reader.malformed().has_value());
  }
  void play(io::TimePoint time) {
    now_ = time;
    for (std::size_t circuit = 0; circuit < playouts.size(); ++circuit) {
      drain(circuit);
    }
  }
  void drain(std::size_t circuit) {
    std::array<std::byte, rtp::kOsmuxRtpBytesMax> out;
    while (const std::size_t size = playouts[circuit].take_due(now_, out)) {
      const auto contents = std::to_integer<unsigned>(out[13]);
      heard[circuit].push_back(
          {.type = static_cast<std::uint8_t>(contents >> 3U & 15U),
           .good = (contents & 4U) != 0,
           .fill = size > 14 ? std::to_integer<std::uint8_t>(out[14]) : std::uint8_t{0}});
    }
  }

  test::Random random_;
  io::TimePoint now_ = at({});
};

/// A frame type that exists.
std::uint8_t random_type(test::Random& random) {
  const std::uint32_t number = random.below(13);
  return static_cast<std::uint8_t>(number == 12 ? 15 : number);
}

}  // namespace

TEST_CASE("what goes in comes out, for all frame types, factors, sizes and numbers of circuits") {
  test::Random random(1);
  for (std::size_t round = 0; round < 64; ++round) {
    const std::size_t circuits = 1 + random.below(40);
    Trunk trunk({.batch_factor = 1 + round % 8,
                 .batch_bytes = 35 + random.below(1500),
                 .datagrams_max = 1 + random.below(4),
                 .dummy_padding = random.below(2) == 1},
                circuits, 1);
    std::vector<std::vector<Heard>> sent(circuits);
    for (unsigned tick = 0; tick < 100; ++tick) {
      trunk.run(at(milliseconds(20 * tick)));
      for (std::size_t circuit = 0; circuit < circuits; ++circuit) {
        const Speech speech{.type = random_type(random),
                            .fill = static_cast<std::uint8_t>(random.below(256)),
                            .good = random.below(20) > 0};
        trunk.push(circuit, static_cast<std::uint16_t>(65500 + tick), random.below(30) == 0,
                   speech);
        const bool empty = *rtp::osmux_frame_bytes(speech.type) == 0;
        sent[circuit].push_back({speech.type, speech.good, empty ? std::uint8_t{0} : speech.fill});
      }
    }
    trunk.run(at(milliseconds(4000)));
    CHECK((trunk.heard == sent));
    CHECK(trunk.link.statistics().clones == 0);
  }
}

TEST_CASE("lost packets are replaced by a neighbour, all others come out once and in order") {
  test::Random random(2);
  for (std::size_t factor = 2; factor <= 8; ++factor) {
    Trunk trunk({.batch_factor = factor}, 1, 1);
    std::map<unsigned, bool> lost;
    std::size_t run = 0;
    for (unsigned tick = 0; tick < 250; ++tick) {
      trunk.run(at(milliseconds(20 * tick)));
      // No gap is longer than what clones may fill, and the ends are not lost.
      const bool drop = run < factor && tick > 0 && tick < 249 && random.below(10) < 3;
      run = drop ? run + 1 : 0;
      lost[tick] = drop;
      if (!drop) {
        trunk.push(0, static_cast<std::uint16_t>(tick), false,
                   {.type = 2, .fill = static_cast<std::uint8_t>(tick)});
      }
    }
    trunk.run(at(milliseconds(8000)));
    const auto& heard = trunk.heard[0];
    REQUIRE(heard.size() == 250);
    for (unsigned tick = 0; tick < 250; ++tick) {
      unsigned before = tick;
      unsigned after = tick;
      while (lost[before]) {
        --before;
      }
      while (lost[after]) {
        ++after;
      }
      const bool neighbour = heard[tick].fill == before || heard[tick].fill == after;
      CHECK(neighbour);
    }
  }
}

TEST_CASE("lost datagrams lose their frames only, and duplicates add none") {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    Trunk trunk({}, 20, seed);
    trunk.loss_percent = 2;
    trunk.duplicate_percent = 10;
    for (unsigned tick = 0; tick < 250; ++tick) {
      trunk.run(at(milliseconds(20 * tick)));
      for (std::size_t circuit = 0; circuit < 20; ++circuit) {
        trunk.push(circuit, static_cast<std::uint16_t>(tick), false,
                   {.type = 7, .fill = static_cast<std::uint8_t>(tick)});
      }
    }
    trunk.run(at(milliseconds(8000)));
    for (std::size_t circuit = 0; circuit < 20; ++circuit) {
      const auto& heard = trunk.heard[circuit];
      CHECK(heard.size() > 200);
      for (std::size_t index = 1; index < heard.size(); ++index) {
        CHECK(heard[index].fill > heard[index - 1].fill);
      }
      CHECK(trunk.playouts[circuit].statistics().hurried == 0);
    }
  }
}

TEST_CASE("Osmux saves more than half of the octets of plain RTP") {
  Trunk trunk({}, 30, 1);
  for (std::uint16_t tick = 0; tick < 500; ++tick) {
    trunk.run(at(milliseconds(20 * tick)));
    for (std::size_t circuit = 0; circuit < 30; ++circuit) {
      trunk.push(circuit, tick, false, {.type = 2, .fill = 1});
    }
  }
  const auto& statistics = trunk.link.statistics();
  CHECK(statistics.plain_rtp_octets == statistics.frames_out * (20 + 8 + 12 + 2 + 15));
  CHECK(statistics.saved_octets() * 2 > static_cast<std::int64_t>(statistics.plain_rtp_octets));
}
