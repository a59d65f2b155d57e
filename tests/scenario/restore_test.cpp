// Calls of one gateway go on in another: two worlds, of which the second has what the first one
// saved.

#include "mgw/saved_state.h"
#include "mgw/state_recorder.h"
#include "tests/scenario/iuup_peer.h"
#include "tests/scenario/scene.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using scenario::Call;
using scenario::Leg;
using scenario::LegOptions;
using scenario::Scene;

/// The state of a scene's gateway as another one gets it; the first one's workers let go and then
/// get everything back.
mgw::SavedState state_of(Scene& scene, bool with_media) {
  std::string bytes = mgw::state_header({});
  auto& control = scene.world.control();
  mgw::append_state(bytes, control, scene.world.clock().now());
  control.take_media_away();
  scene.world.settle();
  if (with_media) {
    mgw::append_taken_media(bytes, control, scene.world.clock().now());
  }
  control.give_media_back();
  scene.world.settle();
  mgw::Replay replay = mgw::replay_state(bytes, {});
  REQUIRE(replay.outcome == mgw::ReplayOutcome::whole);
  return std::move(replay.state);
}

/// A scene whose gateway goes on with the state.
void go_on(Scene& scene, const Scene& from, const mgw::SavedState& state) {
  const auto now = const_cast<Scene&>(from).world.clock().now();
  scene.run_for(now - scene.world.clock().now());
  scene.world.control().restore(state);
  scene.world.control().start_restored(state, state.is_exact);
  scene.world.settle();
}

/// A DLCX of an agent that has given no commands yet: the first one's transactions are known.
sim::Answer delete_leg(Scene& scene, std::string_view endpoint, std::string_view body) {
  return scene.world.command(scene.world.add_agent(), "DLCX", endpoint, body);
}

/// The same leg in another scene, with a peer at the same address.
Leg same_leg(Scene& scene, const Leg& leg) {
  Leg other = leg;
  other.peer = &scene.world.add_peer_at(leg.peer->local());
  other.peer->set_target(leg.answer.media());
  other.peer->sequence = leg.peer->sequence;
  other.peer->timestamp = leg.peer->timestamp;
  return other;
}

}  // namespace

TEST_CASE("a call goes on in another gateway with its ports, ids and statistics") {
  Scene first;
  const Call call(first);
  REQUIRE(talk(first, call.a, call.b, 10));
  const mgw::SavedState state = state_of(first, true);
  REQUIRE(state.connections() == 2);
  CHECK(state.is_exact);

  Scene second;
  go_on(second, first, state);
  CHECK(second.world.control().counters().restored.value() == 2);
  CHECK(second.world.connections() == 2);
  CHECK(second.world.ports_used() == 2);
  const Leg a = same_leg(second, call.a);
  const Leg b = same_leg(second, call.b);
  CHECK(talk(second, a, b, 10));
  const sim::Answer deleted = delete_leg(second, a.endpoint, "I: " + a.connection + "\r\n");
  CHECK(deleted.code == 250);
  CHECK(deleted.parameter("P").starts_with("PS=20, OS="));
  CHECK(deleted.parameter("P").find("PR=20,") != std::string::npos);
  CHECK(second.world.endpoints_used() == 1);

  // The first one has lost nothing by giving its media away for a moment.
  CHECK(talk(first, call.a, call.b, 10));
  CHECK(first.dlcx(call.a).parameter("P").starts_with("PS=20, OS="));
}

TEST_CASE("a repeated command is answered by a gateway that never saw it") {
  Scene first;
  const Call call(first);
  const mgw::SavedState state = state_of(first, true);
  std::vector<std::string> answers;
  for (const mgw::SavedAnswer& answer : state.answers) {
    answers.push_back(answer.text);
  }
  REQUIRE(answers.size() == 2);
  CHECK(answers.front().find(call.a.connection) != std::string::npos);

  Scene second;
  go_on(second, first, state);
  std::vector<std::string> again;
  second.world.control().visit_answers([&again](const mgcp::TransactionKey&, std::string_view text,
                                                io::TimePoint) { again.emplace_back(text); });
  CHECK(again == answers);
}

TEST_CASE("without the media's state a call goes on and counts anew") {
  Scene first;
  const Call call(first);
  REQUIRE(talk(first, call.a, call.b, 10));
  Scene second;
  const mgw::SavedState state = state_of(first, false);
  go_on(second, first, state);
  const Leg a = same_leg(second, call.a);
  const Leg b = same_leg(second, call.b);
  CHECK(talk(second, a, b, 10));
  const sim::Answer deleted = delete_leg(second, a.endpoint, "I: " + a.connection + "\r\n");
  CHECK(deleted.parameter("P").starts_with("PS=10, OS="));
}

TEST_CASE("an IuUP leg goes on initialised, under its numbers, whatever saved it") {
  const sim::Bytes speech =
      sim::from_hex("4f28959ffeb80181f5c4e83d176c897b4a4e333298333419a493ca63ded6e0");
  const sim::Bytes efficient =
      sim::from_hex("f3d3ca2567ffae00607d713a0f45db225ed2938ccca60ccd066924f298f7b5b8");
  for (const bool is_exact : {true, false}) {
    CAPTURE(is_exact);
    Scene first;
    const Leg a = first.add_leg(scenario::with("96", scenario::kIuup));
    const Leg b = first.add_leg(scenario::with("112", "a=rtpmap:112 AMR/8000\r\n"));
    scenario::IuupPeer before(*a.peer);
    before.initialise(first, scenario::amr_122_rfcis(1, 2, 0));
    run(first, {&before}, 100ms);
    REQUIRE(before.link().state() == rtp::IuupState::ready);
    const auto talk_once = [&](Scene& scene, scenario::IuupPeer& peer, sim::RtpPeer& other) {
      peer.send(scene, 1, speech);
      other.send_packet(112, efficient);
      run(scene, {&peer}, 20ms);
    };
    for (int i = 0; i < 5; ++i) {
      talk_once(first, before, *b.peer);
    }
    REQUIRE(before.frames().size() == 5);
    mgw::SavedState state = state_of(first, true);
    state.is_exact = is_exact;  // else as a crash leaves it, with media of up to a second ago

    Scene second;
    go_on(second, first, state);
    REQUIRE(second.world.control().counters().restored.value() == 2);
    // The radio network controller knows nothing of the change: it does not initialise again.
    scenario::IuupPeer peer(*same_leg(second, a).peer);
    peer.link() = before.link();
    const Leg other = same_leg(second, b);
    for (int i = 0; i < 5; ++i) {
      talk_once(second, peer, *other.peer);
    }
    REQUIRE(other.peer->received().size() == 5);
    for (const auto& packet : other.peer->received()) {
      CHECK(packet.payload == efficient);
      CHECK(packet.header.ssrc == b.peer->received().front().header.ssrc);
    }
    CHECK(other.peer->disorder() == 0);
    REQUIRE(peer.frames().size() == 5);
    for (const scenario::ArrivedFrame& frame : peer.frames()) {
      CHECK(frame.payload == speech);
      CHECK(frame.rfci == 1);
    }
    const auto last = a.peer->received().back().header;
    const auto next = peer.peer().received().front().header;
    CHECK(next.ssrc == last.ssrc);
    const auto step = static_cast<std::uint16_t>(next.sequence - last.sequence);
    CHECK(step == (is_exact ? 1 : 101));
    CHECK(second.dropped(mgw::DropCause::iuup_not_initialised) == 0);
    const sim::Answer deleted = delete_leg(second, a.endpoint, "I: " + a.connection + "\r\n");
    CHECK(deleted.code == 250);
  }
}

TEST_CASE("what the configuration has no place for is left out and counted") {
  Scene first;
  LegOptions high;
  high.endpoint = "rtpbridge/f@mgw";
  const Leg lost = first.add_leg(high);
  const Leg kept = first.add_leg();
  const mgw::SavedState state = state_of(first, true);
  conf::Config small = sim::small_config();
  small.endpoints.count = 4;
  Scene second(small);
  go_on(second, first, state);
  CHECK(second.world.control().counters().restored.value() == 1);
  CHECK(second.world.control().counters().not_restored.value() == 1);
  CHECK(second.world.endpoints_used() == 1);
}

TEST_CASE("a port that somebody else has costs that connection only") {
  Scene first;
  const Call call(first);
  const mgw::SavedState state = state_of(first, true);
  Scene second;
  const auto taken = call.a.answer.media();
  const io::SimPeer squatter(second.world.network(), taken);
  second.run_for(first.world.clock().now() - second.world.clock().now());
  second.world.control().restore(state);
  second.world.control().start_restored(state, true);
  second.world.settle();
  CHECK(second.world.control().counters().restored.value() == 1);
  CHECK(second.world.control().counters().not_restored.value() == 1);
  CHECK(delete_leg(second, "rtpbridge/1@mgw", "").code == 200);
  CHECK(second.world.control().counters().connections.value() == 0);
  second.world.settle();
  CHECK(second.world.ports_used() == 0);
}
