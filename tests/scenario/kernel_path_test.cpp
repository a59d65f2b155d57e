// A call with the program of the kernel fast path in front of the gateway: what it takes over, what
// it leaves to the sockets, and that nobody outside can tell. All other scenarios run with it too.

#include "tests/scenario/scene.h"

#include <chrono>

using namespace std::chrono_literals;
using mgw::DropCause;
using scenario::Call;
using scenario::Scene;
using scenario::talk;

namespace {

sim::WorldOptions with(sim::KernelHook hook) {
  sim::WorldOptions options;
  options.kernel_path = hook;
  return options;
}

const sim::KernelHook kHooks[] = {sim::KernelHook::tc, sim::KernelHook::xdp};

}  // namespace

TEST_CASE("the program forwards an ordinary call but for its first packets, and all is counted") {
  for (const sim::KernelHook hook : kHooks) {
    Scene scene(sim::small_config(), with(hook));
    const Call call(scene);
    CHECK(talk(scene, call.a, call.b, 100));
    CHECK(scene.world.kernel_path()->forwarded() >= 2 * 95);
    const std::string statistics = scene.dlcx(call.a).parameter("P");
    CHECK(statistics.starts_with("PS=100, OS="));
    CHECK(statistics.find("PR=100, OR=") != std::string::npos);
    CHECK(statistics.find("PL=0,") != std::string::npos);
  }
}

TEST_CASE("the program leaves a call to the sockets whose frames are to be converted") {
  Scene scene(sim::small_config(), with(sim::KernelHook::tc));
  const Call call(
      scene, {.formats = "96", .attributes = "a=rtpmap:96 AMR/8000\r\na=fmtp:96 octet-align=1\r\n"},
      {.formats = "97", .attributes = "a=rtpmap:97 AMR/8000\r\n"});
  call.a.peer->send_packet(96, sim::from_hex("2014e959f35fdfe5e9667ffbc088818088"));
  scene.run_for(1s);
  call.a.peer->send_packet(96, sim::from_hex("2014e959f35fdfe5e9667ffbc088818088"));
  scene.run_for(1s);
  CHECK(call.b.peer->received().size() == 2);
  CHECK(scene.world.kernel_path()->forwarded() == 0);
}

TEST_CASE("a peer may not send more because the program and the sockets take turns") {
  for (const sim::KernelHook hook : kHooks) {
    conf::Config config = sim::small_config();
    config.endpoints.options.packets_per_second = 100;
    Scene scene(config, with(hook));
    const Call call(scene);
    for (int burst = 0; burst < 20; ++burst) {
      for (int i = 0; i < 50; ++i) {
        call.a.peer->send_packet(8);
      }
      scene.run_for(100ms);
    }
    const std::size_t through = call.b.peer->count_from(call.a.peer->number());
    CHECK(through >= 280);  // a burst of one second, and two seconds of the rate
    CHECK(through <= 300);
    CHECK(scene.world.kernel_path()->forwarded() > 0);
    CHECK(scene.dropped(DropCause::peer_too_fast) == 1000 - through);
  }
}
