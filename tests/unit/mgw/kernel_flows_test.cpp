// Which streams are given to the kernel, when, and what comes back: with a table of flows that
// forwards nothing, but counts what a test says.

#include "mgw/kernel_flows.h"

#include "mgw/kernel_flow_plan.h"
#include "tests/unit/mgw/worker_bench.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using mgw::KernelRefusal;
using test::Bridge;
using test::WorkerBench;

namespace {

/// What the table has been told; outlives it.
struct Kernel {
  struct Flow {
    io::KernelFlowEntry entry{};
    io::KernelFlowState state{};
    bool active = false;
  };
  std::vector<Flow> flows = std::vector<Flow>(4);
  std::map<std::string, std::uint32_t> bound;
  std::optional<io::Way> way = io::Way{};
  bool busy = false;

  [[nodiscard]] Flow& of(std::uint32_t slot) {
    return flows[bound.at(WorkerBench::local_of(slot).text())];
  }
  [[nodiscard]] bool forwards(std::uint32_t slot) {
    const auto found = bound.find(WorkerBench::local_of(slot).text());
    return found != bound.end() && flows[found->second].active;
  }
  /// The kernel forwards so many packets of 172 octets in order.
  void forward(std::uint32_t slot, std::uint32_t packets, io::TimePoint now) {
    io::KernelFlowState& state = of(slot).state;
    state.packets += packets;
    state.octets += 172 * packets;
    state.payload_octets += 160 * packets;
    state.highest += packets;
    state.timestamp += 160 * packets;
    state.window_low = ~std::uint64_t{0};
    state.arrival_ns = static_cast<std::uint64_t>(now.time_since_epoch().count());
  }
};

class FakeTable final : public io::KernelFlowTable {
 public:
  explicit FakeTable(Kernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(kernel_.flows.size());
  }
  [[nodiscard]] io::Result<void> bind(const io::SocketAddress& local,
                                      std::uint32_t flow) noexcept override {
    kernel_.bound[local.text()] = flow;
    return {};
  }
  void unbind(const io::SocketAddress& local) noexcept override {
    CHECK(kernel_.bound.erase(local.text()) == 1);
  }
  void activate(std::uint32_t flow, const io::KernelFlowEntry& entry,
                const io::KernelFlowState& seed) noexcept override {
    CHECK_FALSE(kernel_.flows[flow].active);
    kernel_.flows[flow] = {entry, seed, true};
  }
  io::KernelFlowState stop(std::uint32_t flow) noexcept override {
    CHECK(kernel_.flows[flow].active);
    kernel_.flows[flow].active = false;
    return kernel_.flows[flow].state;
  }
  [[nodiscard]] std::optional<io::KernelFlowState> read(
      std::uint32_t flow) const noexcept override {
    return kernel_.busy ? std::nullopt : std::optional(kernel_.flows[flow].state);
  }
  [[nodiscard]] bool is_active(std::uint32_t flow) const noexcept override {
    return kernel_.flows[flow].active;
  }
  [[nodiscard]] std::optional<io::Way> find_way(
      const io::SocketAddress& /*local*/, const io::SocketAddress& /*remote*/) noexcept override {
    return kernel_.way;
  }

 private:
  Kernel& kernel_;
};

struct Scene {
  Scene() {
    bench.plane.worker(0).use_kernel_path(std::make_unique<FakeTable>(kernel), {46, 5});
    bridge.emplace(bench);
  }
  /// A packet of the left peer, and time for its stream to be given to the kernel.
  void talk(std::uint8_t payload_type = 8) {
    bridge->left.send_packet(payload_type, sim::Bytes(160));
    bench.run_for(5ms);
  }
  [[nodiscard]] std::uint64_t refused(KernelRefusal refusal) const {
    return bench.counters().kernel.refusals[static_cast<std::size_t>(refusal)].value();
  }
  Kernel kernel;
  WorkerBench bench;
  std::optional<Bridge> bridge;
};

/// Two connections that are fit for it; the source has heard one packet.
struct Pair {
  Pair() {
    source.entry.remote_rtp = sim::address("203.0.113.1", 6000);
    source.entry.receives = true;
    source.entry.routes = {{1, false}};
    source.entry.source_types.set(112, 0);
    source.entry.source_types.set(96, 1);
    source.rtp_socket = {0, 0};
    source.local_rtp = sim::address("192.0.2.1", 4000);
    source.kernel.payload_type = 112;
    target.entry.remote_rtp = sim::address("203.0.113.2", 6000);
    target.entry.target_types.set_target(0, {98, rtp::Conversion::none});
    target.entry.target_types.set_target(1, {97, rtp::Conversion::amr_to_octet_aligned});
    target.rtp_socket = {1, 0};
    target.local_rtp = sim::address("192.0.2.1", 4002);
    hear(7, 1000, 160);
  }
  void hear(std::uint32_t ssrc, std::uint16_t sequence, std::uint32_t timestamp) {
    rtp::RtpHeader header;
    header.ssrc = ssrc;
    header.sequence = sequence;
    header.timestamp = timestamp;
    source.statistics.on_packet(header, io::TimePoint(1s), 160);
    static_cast<void>(source.timeline.next(header, io::TimePoint(1s), source.entry.timeline,
                                           source.entry.timing));
  }
  [[nodiscard]] auto plan() const { return mgw::plan_kernel_flow(source, &target, {46, 5}); }

  mgw::MediaConnection source;
  mgw::MediaConnection target;
};

}  // namespace

TEST_CASE("what the kernel is told of a stream") {
  Pair pair;
  pair.source.entry.timeline.patch_ssrc = true;
  pair.hear(8, 50, 320);
  pair.source.entry.announced_amr = {
      {112, rtp::AmrCodec::narrowband, rtp::AmrFormat::octet_aligned}};
  pair.target.entry.target_types.set_used(13);
  const auto plan = pair.plan();
  REQUIRE(plan.has_value());
  const io::KernelFlowEntry& entry = plan->entry;
  CHECK(entry.family == 4);
  CHECK(ntohs(entry.local_port) == 4000);
  CHECK(ntohs(entry.from_port) == 4002);
  CHECK(ntohl(entry.source_address[0]) == 0xcb007101U);
  CHECK(ntohl(entry.target_address[0]) == 0xcb007102U);
  CHECK(entry.traffic_class == 46 << 2);
  CHECK(entry.priority == 5);
  CHECK(entry.options == 0);
  CHECK(ntohl(entry.ssrc) == 8);
  CHECK(ntohl(entry.ssrc_out) == 7);
  CHECK((entry.sequence_offset & 0xffff) == (1001 - 50));
  CHECK(entry.payload_types[112] == (io::kKernelPayloadAmrOctets << 8 | 98));
  CHECK(entry.payload_types[96] == MGW_KERNEL_PAYLOAD_MISS);  // is converted
  CHECK(entry.payload_types[13] == MGW_KERNEL_PAYLOAD_MISS);  // means something else there
  CHECK(entry.payload_types[50] == 50);
  CHECK(plan->seed.highest == 50);
  CHECK(plan->seed.timestamp == 320);
  CHECK(plan->seed.packets == 0);
  pair.source.entry.source = mgw::SourceCheck::any;
  pair.source.entry.timeline.align_timestamp = true;
  CHECK(pair.plan()->entry.options == (io::kKernelFlowAnySource | io::kKernelFlowOnGrid));
}

TEST_CASE("a latched leg is heard and reached where it was learned") {
  Pair pair;
  pair.source.entry.source = mgw::SourceCheck::latch;
  CHECK(pair.plan().error() == KernelRefusal::address);
  pair.source.learned_source = sim::address("203.0.113.9", 7000);
  pair.target.learned_source = sim::address("203.0.113.10", 7002);
  const auto plan = pair.plan();
  REQUIRE(plan.has_value());
  CHECK(ntohs(plan->entry.source_port) == 7000);
  CHECK(ntohs(plan->entry.target_port) == 7002);
}

TEST_CASE("what the sockets keep, and why") {
  using Change = std::function<void(Pair&)>;
  const std::vector<std::pair<KernelRefusal, Change>> cases = {
      {KernelRefusal::leg_kind, [](Pair& pair) { pair.source.rtp_socket = io::SocketId(); }},
      {KernelRefusal::leg_kind, [](Pair& pair) { pair.target.rtp_socket = io::SocketId(); }},
      {KernelRefusal::mode, [](Pair& pair) { pair.source.entry.receives = false; }},
      {KernelRefusal::routes, [](Pair& pair) { pair.source.entry.routes.clear(); }},
      {KernelRefusal::routes,
       [](Pair& pair) {
         pair.source.entry.routes = {{1}, {2}};
       }},
      {KernelRefusal::routes,
       [](Pair& pair) {
         pair.source.entry.routes = {{0, true}};
       }},
      {KernelRefusal::tapped, [](Pair& pair) { pair.source.tap = std::make_unique<mgw::Tap>(); }},
      {KernelRefusal::tapped, [](Pair& pair) { pair.target.tap = std::make_unique<mgw::Tap>(); }},
      {KernelRefusal::address,
       [](Pair& pair) { pair.target.entry.remote_rtp = io::SocketAddress(); }},
      {KernelRefusal::address,
       [](Pair& pair) { pair.source.local_rtp = sim::address("0.0.0.0", 4000); }},
      {KernelRefusal::mixed_families,
       [](Pair& pair) { pair.target.local_rtp = sim::address("2001:db8::1", 4002); }},
      {KernelRefusal::address,
       [](Pair& pair) { pair.target.entry.remote_rtp = sim::address("fe80::1", 4002); }},
      {KernelRefusal::payload_type, [](Pair& pair) { pair.source.kernel.payload_type = 96; }},
      {KernelRefusal::out_of_step, [](Pair& pair) { pair.hear(7, 999, 0); }},
      {KernelRefusal::out_of_step, [](Pair& pair) { pair.hear(7, 9000, 320); }},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    Pair pair;
    REQUIRE(pair.plan().has_value());
    cases[i].second(pair);
    const auto plan = pair.plan();
    REQUIRE_FALSE(plan.has_value());
    CHECK(mgw::to_string(plan.error()) == mgw::to_string(cases[i].first));
  }
  CHECK(mgw::plan_kernel_flow(Pair().source, nullptr, {}).error() == KernelRefusal::routes);
}

TEST_CASE("a stream is the kernel's when it pauses, and what came is counted as ever") {
  Scene scene;
  scene.bridge->left.send_packet(8, sim::Bytes(160));
  scene.bench.run_for(0ms);
  CHECK_FALSE(scene.kernel.forwards(0));  // its packet may not have left yet
  scene.bench.run_for(5ms);
  REQUIRE(scene.kernel.forwards(0));
  CHECK(scene.kernel.of(0).state.highest == 100);
  CHECK(scene.bench.counters().kernel.flows.value() == 1);
  CHECK_FALSE(scene.kernel.forwards(1));  // nothing came from there
  scene.kernel.forward(0, 30, scene.bench.clock.now());
  CHECK(scene.bench.audit(0).rtp_received.packets == 31);
  CHECK(scene.bench.audit(1).rtp_sent.octets == 31 * 172);
  scene.kernel.forward(0, 20, scene.bench.clock.now());
  scene.bench.run_for(1s);  // without anybody asking
  CHECK(scene.bench.counters().kernel.packets.value() == 50);
  CHECK(scene.bench.counters().received.value() == 51);
  CHECK(scene.bench.counters().sent.value() == 51);
  CHECK(scene.bench.plane.imbalances() == 0);
  scene.kernel.forward(0, 7, scene.bench.clock.now());
  const auto done = scene.bench.remove({0, 1});
  CHECK(done->removed[0]->counters().totals.received == 58);
  CHECK(done->removed[0]->counters().totals.lost() == 0);
  CHECK(done->removed[1]->counters().rtp_sent.packets == 58);
  CHECK(scene.kernel.bound.empty());
  CHECK(scene.bench.counters().kernel.flows.value() == 0);
}

TEST_CASE("a packet at the socket ends the kernel's turn, and the stream rests a while") {
  Scene scene;
  scene.talk();
  scene.kernel.forward(0, 10, scene.bench.clock.now());
  scene.bridge->left.sequence = 112;  // 111 is lost, or still to come
  scene.talk();
  CHECK_FALSE(scene.kernel.forwards(0));
  CHECK(scene.bench.counters().kernel.interruptions.value() == 1);
  CHECK(scene.bench.audit(0).rtp_received.packets == 12);
  CHECK(scene.bench.audit(0).totals.lost() == 1);
  scene.talk();
  CHECK_FALSE(scene.kernel.forwards(0));
  scene.bench.run_for(50ms);
  scene.talk();
  CHECK(scene.kernel.forwards(0));
}

TEST_CASE("a command takes both directions from the kernel before it changes anything") {
  Scene scene;
  scene.talk();
  scene.bridge->right.send_packet(8, sim::Bytes(160));
  scene.bench.run_for(5ms);
  REQUIRE(scene.kernel.forwards(0));
  REQUIRE(scene.kernel.forwards(1));
  scene.kernel.forward(0, 5, scene.bench.clock.now());
  scene.bridge->left.sequence += 5;
  auto entry = WorkerBench::entry_for(scene.bridge->left, {1});
  entry.receives = false;
  scene.bench.update(0, entry);
  CHECK_FALSE(scene.kernel.forwards(0));
  CHECK_FALSE(scene.kernel.forwards(1));
  CHECK(scene.bench.counters().kernel.packets.value() == 5);
  scene.talk();
  CHECK_FALSE(scene.kernel.forwards(0));
  CHECK(scene.refused(KernelRefusal::mode) == 1);
  scene.talk();
  CHECK(scene.refused(KernelRefusal::mode) == 1);  // it lasts until the next command
  scene.bench.update(0, WorkerBench::entry_for(scene.bridge->left, {1}));
  scene.talk();
  CHECK(scene.kernel.forwards(0));
}

TEST_CASE("a stream goes back to the sockets when its way changes, and waits for one") {
  Scene scene;
  scene.kernel.way = std::nullopt;
  scene.talk();
  CHECK_FALSE(scene.kernel.forwards(0));
  CHECK(scene.refused(KernelRefusal::no_way) == 1);
  scene.kernel.way = io::Way{3};
  scene.bench.run_for(2s);
  scene.talk();
  REQUIRE(scene.kernel.forwards(0));
  CHECK(scene.kernel.of(0).entry.device == 3);
  scene.kernel.way = io::Way{4};
  scene.bench.run_for(4s);
  CHECK_FALSE(scene.kernel.forwards(0));
  scene.talk();
  CHECK(scene.kernel.of(0).entry.device == 4);
}

TEST_CASE("without room in the kernel the sockets go on") {
  Scene scene;
  scene.kernel.busy = true;  // reading fails; nothing waits for it
  for (std::uint32_t slot = 2; slot < 6; ++slot) {
    sim::RtpPeer& peer = scene.bench.add_peer(slot);
    scene.bench.install(slot, WorkerBench::entry_for(peer, {0}));
    peer.send_packet(8);
    scene.bench.run_for(5ms);
  }
  CHECK(scene.bench.counters().kernel.flows.value() == 4);
  scene.talk();
  CHECK(scene.refused(KernelRefusal::full) == 1);
  scene.bench.run_for(1s);
  static_cast<void>(scene.bench.remove({3}));
  scene.bench.run_for(1s);
  scene.talk();
  CHECK(scene.kernel.forwards(0));
}

TEST_CASE("reports of the gateway's own count what the kernel forwards") {
  Scene scene;
  auto command = std::make_unique<mgw::MediaCommand>();
  std::vector<sim::RtpPeer*> peers;
  for (const std::uint32_t slot : {2U, 3U}) {
    sim::RtpPeer& peer = *peers.emplace_back(&scene.bench.add_peer(slot));
    WorkerBench::add_install(*command, slot, scene.bench.bind_pair(slot),
                             WorkerBench::entry_for(peer, {5 - slot}));
    command->installs.back().connection->rtcp = std::make_unique<mgw::RtcpReporting>(
        std::array<std::uint32_t, mgw::RtcpReporting::kRandomNumbers>{slot, 1, 2, 3, 4, 5},
        io::Duration());
  }
  REQUIRE(scene.bench.submit(std::move(command))->error == 0);
  peers[0]->send_packet(8);
  scene.bench.run_for(5ms);
  REQUIRE(scene.kernel.forwards(2));
  const std::uint32_t ssrc = ntohl(scene.kernel.of(2).entry.ssrc);
  for (int i = 0; i < 20; ++i) {
    scene.kernel.forward(2, 25, scene.bench.clock.now());
    scene.bench.run_for(500ms);
  }
  bool found = false;
  for (const sim::Bytes& compound : peers[1]->received_rtcp()) {
    rtp::RtcpReader reader(compound);
    while (const auto packet = reader.next()) {
      const auto sender = rtp::read_sender_info(*packet);
      found = found || (sender && sender->ssrc == ssrc && sender->packet_count > 200);
    }
  }
  CHECK(found);
}

TEST_CASE("what the kernel forwards keeps a connection alive") {
  Scene scene;
  auto entry = WorkerBench::entry_for(scene.bridge->left, {1});
  entry.connection_timeout = 2s;
  scene.bench.update(0, entry);
  scene.talk();
  for (int i = 0; i < 10; ++i) {
    scene.bench.run_for(500ms);
    scene.kernel.forward(0, 25, scene.bench.clock.now());
  }
  CHECK(scene.bench.events.empty());
  scene.bench.run_for(3s);
  REQUIRE(scene.bench.events.size() == 1);
  CHECK(scene.bench.events[0].kind == mgw::MediaEvent::Kind::connection_timeout);
}
