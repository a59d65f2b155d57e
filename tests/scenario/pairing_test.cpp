// Every kind of leg with every other: ten minutes of AMR both ways over a good network, and over a
// bad one.

#include "rtp/amr.h"
#include "tests/scenario/iuup_peer.h"
#include "tests/scenario/osmux_peer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using scenario::IuupPeer;
using scenario::Leg;
using scenario::LegOptions;
using scenario::OsmuxPeer;
using scenario::Scene;

namespace {

constexpr std::uint32_t kFrames = 30'000;  // 10 minutes
constexpr std::uint32_t kFramesPerChunk = 4;

/// The number of the frame in the octets of AMR 5.90, empty if they are not exactly such a frame.
std::optional<std::uint32_t> number_of(std::span<const std::byte> octets) {
  if (octets.size() != 15) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number |= std::to_integer<std::uint32_t>(octets[i]) << (8 * i);
  }
  const sim::Bytes expected = scenario::speech_590(number);
  return std::equal(octets.begin(), octets.end(), expected.begin()) ? std::optional(number)
                                                                    : std::nullopt;
}

/// What one end has heard.
struct Heard {
  std::set<std::uint32_t> numbers;
  std::size_t twice = 0;
  std::size_t foreign = 0;  ///< neither a frame that was sent nor a pause
  std::size_t backwards = 0;
  std::uint32_t newest = 0;

  void add(std::span<const std::byte> octets) {
    const auto number = number_of(octets);
    if (!number) {
      ++foreign;
      return;
    }
    twice += numbers.insert(*number).second ? 0U : 1U;
    backwards += *number < newest ? 1U : 0U;
    newest = std::max(newest, *number);
  }
};

/// The far end of one leg, whatever its kind.
class End {
 public:
  End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  End(End&&) = delete;
  End& operator=(End&&) = delete;
  virtual ~End() = default;
  /// Whatever comes before the first frame.
  virtual void prepare() {}
  virtual void send(std::uint32_t number) = 0;
  virtual void listen() = 0;

  Heard heard;
};

class RtpEnd final : public End {
 public:
  RtpEnd(Scene& scene, const std::string& endpoint, bool aligned) : aligned_(aligned) {
    LegOptions options;
    options.endpoint = endpoint;
    options.formats = "112";
    options.attributes =
        fmt::format("a=rtpmap:112 AMR/8000\r\na=fmtp:112 octet-align={}\r\n", aligned ? 1 : 0);
    leg_ = scene.add_leg(options);
  }
  void send(std::uint32_t number) override {
    leg_.peer->send_packet(112, packed(scenario::aligned_590(number)));
  }
  void listen() override {
    for (const sim::ArrivedRtp& packet : leg_.peer->received()) {
      std::array<std::byte, 64> plain;
      const auto size = rtp::convert_amr(packet.payload, rtp::AmrCodec::narrowband,
                                         rtp::AmrFormat::octet_aligned, plain);
      REQUIRE(size);
      const bool pause = (std::to_integer<unsigned>(plain[1]) >> 3U) == rtp::kAmrNoData;
      if (!pause) {
        heard.add(std::span(plain).first(*size).subspan(2));
      }
    }
    leg_.peer->forget();
  }

 private:
  [[nodiscard]] sim::Bytes packed(const sim::Bytes& aligned) const {
    std::array<std::byte, 64> out;
    const auto size = rtp::convert_amr(
        aligned, rtp::AmrCodec::narrowband,
        aligned_ ? rtp::AmrFormat::octet_aligned : rtp::AmrFormat::bandwidth_efficient, out);
    REQUIRE(size);
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*size)};
  }

  bool aligned_;
  Leg leg_;
};

class IuupEnd final : public End {
 public:
  IuupEnd(Scene& scene, const std::string& endpoint) : scene_(scene) {
    LegOptions options;
    options.endpoint = endpoint;
    options.formats = "96";
    options.attributes = "a=rtpmap:96 VND.3GPP.IUFP/16000\r\n";
    leg_ = scene.add_leg(options);
    peer_ = std::make_unique<IuupPeer>(*leg_.peer);
  }
  void prepare() override {
    rtp::IuupConfiguration set;
    set.rfcis[0] = {0, 0, {55, 63, 0}};
    set.rfcis[1] = {1, 0, {39, 0, 0}};
    set.rfcis[2] = {2, 0, {0, 0, 0}};
    set.rfci_count = 3;
    set.subflow_count = 3;
    set.versions = 1;
    peer_->initialise(scene_, set);
  }
  void send(std::uint32_t number) override {
    if (peer_->link().state() == rtp::IuupState::ready) {
      peer_->send(scene_, 0, scenario::speech_590(number));
    }
  }
  void listen() override {
    peer_->pump(scene_.world.clock().now());
    for (; taken_ < peer_->frames().size(); ++taken_) {
      if (!peer_->frames()[taken_].payload.empty()) {
        heard.add(peer_->frames()[taken_].payload);
      }
    }
  }

 private:
  Scene& scene_;
  Leg leg_;
  std::unique_ptr<IuupPeer> peer_;
  std::size_t taken_ = 0;
};

class OsmuxEnd final : public End {
 public:
  OsmuxEnd(Scene& scene, const std::string& endpoint, std::uint8_t number)
      : peer_(scene, fmt::format("203.0.113.{}", 200 + number)) {
    circuit_ = scenario::add_circuit(scene, peer_, fmt::format("{}", number), endpoint).circuit;
  }
  void send(std::uint32_t number) override {
    if (number % kFramesPerChunk == kFramesPerChunk - 1) {
      peer_.send_chunk(circuit_, sequence_++, number + 1 - kFramesPerChunk);
    }
  }
  void listen() override {
    peer_.collect();
    for (const scenario::ArrivedSpeech& frame : peer_.speech) {
      if (!frame.octets.empty()) {
        heard.add(frame.octets);
      }
    }
    peer_.speech.clear();
  }

 private:
  OsmuxPeer peer_;
  std::uint8_t circuit_ = 0;
  std::uint8_t sequence_ = 0;
};

enum class Kind { aligned, efficient, iuup, osmux, e1 };
const std::array<std::string, 5> kNames = {"octet-aligned", "bandwidth-efficient", "IuUP", "Osmux",
                                           "E1"};

std::unique_ptr<End> make_end(Scene& scene, Kind kind, const std::string& endpoint,
                              std::uint8_t number) {
  switch (kind) {
    case Kind::efficient:
      return std::make_unique<RtpEnd>(scene, endpoint, false);
    case Kind::iuup:
      return std::make_unique<IuupEnd>(scene, endpoint);
    case Kind::osmux:
      return std::make_unique<OsmuxEnd>(scene, endpoint, number);
    case Kind::aligned:
    case Kind::e1:  // beyond the line there is a gateway with an RTP leg
      break;
  }
  return std::make_unique<RtpEnd>(scene, endpoint, true);
}

/// Two ends that talk for ten minutes; the first frame's number is `first`.
struct Pair {
  Pair(Scene& scene, Kind left, Kind right) : scene_(scene) {
    const bool line = left == Kind::e1 || right == Kind::e1;
    a = make_end(scene, left, line ? "ds/e1-1/s-1/su16-0@mgw" : "rtpbridge/1@mgw", 1);
    b = make_end(scene, right, line ? "ds/e1-1/s-2/su16-0@mgw" : "rtpbridge/1@mgw", 2);
  }
  void talk() {
    a->prepare();
    b->prepare();
    pass(500ms);
    for (std::uint32_t number = 0; number < kFrames; ++number) {
      a->send(number);
      b->send(number);
      pass(20ms);
    }
    pass(1s);
  }
  void pass(io::Duration duration) {
    scene_.run_for(duration);
    a->listen();
    b->listen();
  }

  std::unique_ptr<End> a;
  std::unique_ptr<End> b;

 private:
  Scene& scene_;
};

conf::Config all_kinds() {
  conf::Config config = scenario::osmux_config();
  config.e1.virtual_lines = true;
  config.e1.wiring = conf::E1Wiring::timeslot_pairs;
  return config;
}

template <typename Check>
void for_each_pair(Check check) {
  for (std::size_t left = 0; left < kNames.size(); ++left) {
    for (std::size_t right = left; right < kNames.size(); ++right) {
      CAPTURE(kNames[left]);
      CAPTURE(kNames[right]);
      check(static_cast<Kind>(left), static_cast<Kind>(right));
    }
  }
}

}  // namespace

TEST_CASE("ten minutes between every two kinds of legs: all speech bit by bit, in order, once") {
  for_each_pair([](Kind left, Kind right) {
    Scene scene(all_kinds());
    Pair pair(scene, left, right);
    scene.run_for(100ms);
    const auto free_buffers = scene.world.plane().pool(0).available();
    pair.talk();
    for (const End* end : {pair.a.get(), pair.b.get()}) {
      CAPTURE(end == pair.a.get());
      CHECK(end->heard.numbers.size() == kFrames);
      CHECK(end->heard.twice == 0);
      CHECK(end->heard.foreign == 0);
      CHECK(end->heard.backwards == 0);
    }
    CHECK(scene.world.plane().pool(0).available() == free_buffers);
  });
}

TEST_CASE(
    "over a bad network every two kinds of legs lose what the network lost, and make nothing up") {
  for_each_pair([](Kind left, Kind right) {
    Scene scene(all_kinds());
    Pair pair(scene, left, right);
    io::SimLink& network = scene.world.network().default_link();
    network.loss = 0.02;
    network.duplication = 0.01;
    network.jitter = 30ms;
    pair.talk();
    for (const End* end : {pair.a.get(), pair.b.get()}) {
      CAPTURE(end == pair.a.get());
      // Two ways that each lose 2 %.
      CHECK(end->heard.numbers.size() > kFrames * 95 / 100);
      CHECK(end->heard.numbers.size() < kFrames * 97 / 100);
      CHECK(end->heard.foreign == 0);
      CHECK(end->heard.twice < kFrames * 5 / 100);
      // A datagram of Osmux that comes to its peer twice brings four frames once more.
      const Kind kind = end == pair.a.get() ? left : right;
      CHECK((end->heard.backwards == 0 || kind == Kind::osmux));
    }
    network = io::SimLink();
  });
}
