// The counters as VTY, CTRL and statsd see them: each command counts once, in the group of its
// trunk, and what connections counted stays when they are gone.

#include "mgw/counter_groups.h"
#include "tests/scenario/osmux_peer.h"

#include <chrono>
#include <map>
#include <string>

using namespace std::chrono_literals;
using scenario::Call;
using scenario::Leg;
using scenario::OsmuxPeer;
using scenario::Scene;
using ttcn_compat::CounterGroupView;

namespace {

/// By "PREFIX/NAME/COUNTER", or the index in place of the name.
using Counters = std::map<std::string, std::uint64_t>;

Counters read(Scene& scene, CounterGroupView::Kind kind = CounterGroupView::Kind::counters) {
  Counters counters;
  mgw::visit_counter_groups(scene.world.control(), [&](const CounterGroupView& group) {
    for (const ttcn_compat::CounterView& counter : group.counters) {
      if (group.kind == kind) {
        const std::string name = group.name.empty() ? std::to_string(group.index) : group.name;
        counters[fmt::format("{}/{}/{}", group.prefix, name, counter.name)] = counter.value;
      }
    }
  });
  return counters;
}

/// What has grown, "NAME+GROWTH" one after the other; "conn_" groups are left out.
std::string growth(const Counters& before, const Counters& after) {
  std::string text;
  for (const auto& [name, value] : after) {
    const auto found = before.find(name);
    const std::uint64_t was = found != before.end() ? found->second : 0;
    if (value != was && !name.starts_with("conn_") && !name.starts_with("mgcp/")) {
      text += fmt::format("{}{}+{}", text.empty() ? "" : " ", name, value - was);
    }
  }
  return text;
}

std::uint64_t outcome(Scene& scene, mgcp::Verb verb, mgw::CommandOutcome outcome) {
  return scene.world.control().counters().trunks[0].value(verb, outcome);
}

}  // namespace

TEST_CASE("each command counts once, by its cause, in the group of its verb and trunk") {
  conf::Config config = sim::small_config();
  config.mgcp.early_bidir_error = true;
  config.endpoints.connections_max = 1;
  Scene scene(config);
  const std::string id = scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\n").parameter("I");
  struct Row {
    const char* verb;
    const char* endpoint;
    std::string body;
    int code;
    const char* counted;
  };
  const std::string plain = "C: 1\r\nM: recvonly\r\n";
  const std::string own = "C: 1\r\nI: " + id + "\r\n";
  const char* const kEncrypted = "\r\nv=0\r\nc=IN IP4 203.0.113.9\r\nm=audio 6000 RTP/SAVP 8\r\n";
  const std::vector<Row> rows = {
      {"CRCX", "1", "C: 2\r\nM: recvonly\r\n", 540, "limit_exceeded"},
      {"CRCX", "2", "M: recvonly\r\n", 516, "missing_callid"},
      {"CRCX", "2", "C: 1\r\n", 517, "invalid_mode"},
      {"CRCX", "2", "C: 1\r\nM: foo\r\n", 517, "invalid_mode"},
      {"CRCX", "2", plain + "N: foo\r\n", 539, "unhandled_param"},
      {"CRCX", "2", plain + "L: p:20, a:AMR, p:20\r\n", 524, "conn_opt"},
      {"CRCX", "2", plain + "L: p:111\r\n", 535, "conn_opt"},
      {"CRCX", "2", "C: 1\r\nM: sendrecv\r\n", 527, "no_remote_conn_desc"},
      {"CRCX", "2", plain + "I: 5\r\n", 523, "bad_action"},
      {"CRCX", "2", plain + "X-Osmux: *\r\n", 511, "no_osmux"},
      {"CRCX", "2", plain + kEncrypted, 505, "codec_nego"},
      {"CRCX", "2", plain, 200, "success"},
      {"MDCX", "*", own, 507, "wildcard"},
      {"MDCX", "4", own, 400, "no_conn"},
      {"MDCX", "1", "C: 9\r\nI: " + id + "\r\n", 516, "callid"},
      {"MDCX", "1", "C: 1\r\n", 515, "no_connid"},
      {"MDCX", "1", "C: 1\r\nI: 0\r\n", 515, "connid"},
      {"MDCX", "1", "C: 1\r\nI: 123456789012345678901234567890123\r\n", 510, "connid"},
      {"MDCX", "1", own + "M: foo\r\n", 517, "invalid_mode"},
      {"MDCX", "1", own + "L: p:111\r\n", 535, "conn_opt"},
      {"MDCX", "1", own + kEncrypted, 505, "no_remote_conn_desc"},
      {"MDCX", "1", own + "X-Osmux: 3\r\n", 511, "conn_opt"},
      {"MDCX", "1", own + "M: inactive\r\n", 200, "success"},
      {"DLCX", "4", "C: 1\r\n", 515, "no_conn"},
      {"DLCX", "1", "C: 9\r\n", 516, "callid"},
      {"DLCX", "1", "C: 1\r\nI: 0\r\n", 515, "connid"},
      {"DLCX", "1", "C: 1\r\nN: foo\r\n", 539, "unhandled_param"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.verb);
    CAPTURE(row.body);
    const Counters before = read(scene);
    const std::string endpoint = fmt::format("rtpbridge/{}@mgw", row.endpoint);
    CHECK(scene.world.command(scene.agent, row.verb, endpoint, row.body).code == row.code);
    const std::string verb = row.verb == std::string("CRCX")   ? "crcx"
                             : row.verb == std::string("MDCX") ? "mdcx"
                                                               : "dlcx";
    CHECK(growth(before, read(scene)) ==
          fmt::format("{0}/virtual-0:{0}/{0}:{1}+1", verb, row.counted));
  }
}

TEST_CASE("a parameter of MDCX that is not acted on counts under the name that osmo-mgw has") {
  Scene scene;
  const Leg leg = scene.add_leg();
  const Counters before = read(scene);
  CHECK(scene.mdcx(leg, "N: foo\r\n").code == 539);
  CHECK(growth(before, read(scene)) == "mdcx/virtual-0:mdcx/crcx:unhandled_param+1");
}

TEST_CASE("a busy endpoint, no endpoint, no port and no line count for what they are") {
  conf::Config config = sim::small_config();
  config.endpoints.count = 2;
  config.rtp.port_min = 4000;
  config.rtp.port_max = 4001;
  config.e1.trunks = {3};
  Scene scene(config);
  const char* const kPlain = "C: 1\r\nM: recvonly\r\n";
  CHECK(scene.crcx("rtpbridge/1@mgw", kPlain).code == 200);
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 2\r\nM: recvonly\r\n").code == 400);
  CHECK(scene.crcx("rtpbridge/2@mgw", kPlain).code == 500);
  CHECK(scene.crcx("ds/e1-3/s-1/su16-0@mgw", kPlain).code == 502);
  CHECK(growth({}, read(scene)) ==
        "crcx/e1-3:crcx/crcx:claim+1 crcx/virtual-0:crcx/crcx:bind_port+1 "
        "crcx/virtual-0:crcx/crcx:success+1 crcx/virtual-0:crcx/crcx:unkown_callid+1");
  config.endpoints.count = 1;
  Scene small(config);
  CHECK(small.crcx("rtpbridge/*@mgw", kPlain).code == 200);
  CHECK(small.crcx("rtpbridge/*@mgw", kPlain).code == 403);
  CHECK(growth({}, read(small)) ==
        "crcx/virtual-0:crcx/crcx:success+1 crcx/virtual-0:crcx/crcx:unavailable+1");
  const Counters items = read(small, CounterGroupView::Kind::items);
  CHECK(items == Counters{{"trunk/e1-3:common/endpoints:total", 465},
                          {"trunk/e1-3:common/endpoints:used", 0},
                          {"trunk/virtual-0:common/endpoints:total", 1},
                          {"trunk/virtual-0:common/endpoints:used", 1}});
}

TEST_CASE("messages count by what became of them, whatever the domain is called") {
  conf::Config config = sim::small_config();
  config.mgcp.domain = "example";
  Scene scene(config);
  const auto general = [&scene](const char* name) {
    return read(scene).at(std::string("mgcp/mgw:general/mgcp:") + name);
  };
  CHECK(scene.world.command(scene.agent, "AUEP", "rtpbridge/1@example", "").code == 200);
  CHECK(general("rx_msgs") == 1);
  CHECK(general("rx_msgs_handled") == 1);
  CHECK(scene.world.command(scene.agent, "AUEP", "null@example", "").code == 200);
  CHECK(general("rx_msgs_handled") == 2);
  CHECK(general("err_rx_no_endpoint") == 1);
  CHECK(scene.world.command(scene.agent, "AUEP", "rtpbridge/999@example", "").code == 500);
  CHECK(general("err_rx_no_endpoint") == 2);
  CHECK(general("rx_msgs_handled") == 2);
  CHECK(general("err_rx_msg_parse") == 0);
  scene.agent.send_raw("FOOO 900 rtpbridge/2@example MGCP 1.0\r\n");
  scene.agent.send_raw("AUEP 901 rtpbridge/2@example MGCP 9.9\r\n");
  scene.agent.send_raw("AUEP 902 rtpbridge/2@example MGCP 1.0\r\n");
  scene.run_for(1s);
  scene.agent.send_raw("AUEP 902 rtpbridge/2@example MGCP 1.0\r\n");
  scene.run_for(1s);
  CHECK(general("rx_msgs") == 7);
  CHECK(general("rx_msgs_unhandled") == 1);
  CHECK(general("err_rx_msg_parse") == 2);
  CHECK(general("rx_msgs_handled") == 3);
  CHECK(general("rx_msgs_retransmitted") == 1);
}

TEST_CASE("connections have a running number, and the sum of a trunk keeps what they counted") {
  Scene scene;
  const Call call(scene);
  REQUIRE(talk(scene, call.a, call.b, 50));
  Counters counters = read(scene);
  for (const char* index : {"0", "1"}) {
    const std::string prefix = std::string("conn_rtp/") + index + "/rtp:";
    CHECK(counters.at(prefix + "packets_rx") == 50);
    CHECK(counters.at(prefix + "packets_tx") == 50);
    CHECK(counters.at(prefix + "octets_rx") == counters.at(prefix + "octets_tx"));
    CHECK(counters.at(prefix + "octets_rx") > 50 * 12);
    CHECK(counters.at(prefix + "dropped") == 0);
  }
  const std::string sum = "all_rtp_conn/virtual-0:rtp_conn/all_rtp:";
  CHECK(counters.at(sum + "packets_rx") == 100);
  CHECK(counters.at(sum + "octets_tx") == 2 * counters.at("conn_rtp/0/rtp:octets_tx"));
  CHECK(counters.at(sum + "num_closed_conns") == 0);
  CHECK(counters.at("dlcx/virtual-0:dlcx/dlcx:success") == 0);
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  counters = read(scene);
  CHECK_FALSE(counters.contains("conn_rtp/0/rtp:packets_rx"));
  CHECK(counters.at(sum + "packets_rx") == 100);
  CHECK(counters.at(sum + "num_closed_conns") == 2);
  CHECK(counters.at("dlcx/virtual-0:dlcx/dlcx:success") == 2);
  scene.add_leg();
  CHECK(read(scene).contains("conn_rtp/2/rtp:packets_rx"));
}

TEST_CASE("a deletion over several workers takes nothing out of the sums at any time") {
  sim::WorldOptions options;
  options.plane.workers = 3;
  Scene scene(sim::small_config(), options);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 1; i <= 6; ++i) {
    scenario::LegOptions leg;
    leg.endpoint = fmt::format("rtpbridge/{}@mgw", i);
    calls.push_back(std::make_unique<Call>(scene, leg, leg));
    REQUIRE(talk(scene, calls.back()->a, calls.back()->b, 5));
  }
  scene.agent.send_raw("DLCX 777 rtpbridge/*@mgw MGCP 1.0\r\n");
  bool always = true;
  const auto look = [&] {
    always = always && read(scene).at("all_rtp_conn/virtual-0:rtp_conn/all_rtp:packets_rx") == 60;
    return scene.agent.answer(777) != nullptr;
  };
  REQUIRE(scene.world.run_until(look, 5s));
  CHECK(always);
  CHECK(read(scene).at("dlcx/virtual-0:dlcx/dlcx:success") == 12);
  CHECK(read(scene).at("all_rtp_conn/virtual-0:rtp_conn/all_rtp:num_closed_conns") == 12);
  CHECK(outcome(scene, mgcp::Verb::dlcx, mgw::CommandOutcome::success) == 1);
}

TEST_CASE("a connection that no worker could open is refused for its port and leaves no trace") {
  sim::WorldOptions options;
  options.plane.sockets_max = 1;
  Scene scene(sim::small_config(), options);
  CHECK(scene.crcx("rtpbridge/1@mgw", "C: 1\r\nM: recvonly\r\n").code == 500);
  const Counters counters = read(scene);
  CHECK(growth({}, counters) == "crcx/virtual-0:crcx/crcx:bind_port+1");
  CHECK_FALSE(counters.contains("conn_rtp/0/rtp:packets_rx"));
}

TEST_CASE("Osmux circuits count chunks and packets of their own, apart from RTP connections") {
  Scene scene(scenario::osmux_config());
  OsmuxPeer peer(scene, "203.0.113.1");
  scenario::LegOptions amr;
  amr.formats = "110";
  amr.attributes = "a=rtpmap:110 AMR/8000\r\na=fmtp:110 octet-align=1\r\n";
  const Leg rtp = scene.add_leg(amr);
  const scenario::OsmuxLegAnswer circuit = scenario::add_circuit(scene, peer, "2");
  for (std::uint32_t i = 0; i < 5; ++i) {
    peer.send_chunk(circuit.circuit, static_cast<std::uint8_t>(i), 4 * i);
    scene.run_for(80ms);
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    rtp.peer->send_packet(110, scenario::aligned_590(i));
    scene.run_for(20ms);
  }
  scene.run_for(1s);
  const auto check = [&scene](const std::string& prefix) {
    const Counters counters = read(scene);
    CHECK(counters.at(prefix + "chunks_rx") == 5);
    CHECK(counters.at(prefix + "octets_rx") == 5 * (4 + 4 * 15));
    CHECK(counters.at(prefix + "rtp_packets_tx") == 8);
    CHECK(counters.at(prefix + "amr_octets_tx") == 8 * 17);
    CHECK(counters.at(prefix + "rtp_packets_tx_dropped") == 0);
    CHECK(counters.at("all_rtp_conn/virtual-0:rtp_conn/all_rtp:packets_tx") == 20);
    CHECK(counters.at("all_rtp_conn/virtual-0:rtp_conn/all_rtp:packets_rx") == 8);
    CHECK(counters.at("all_osmux_conn/virtual-0:osmux_conn/all_osmux:packets_rx") == 20);
    CHECK(counters.at("all_osmux_conn/virtual-0:osmux_conn/all_osmux:packets_tx") == 8);
  };
  check("conn_osmux/1/osmux:");
  check("all_osmux_conn/virtual-0:osmux_conn/all_osmux:");
  CHECK(scene.dlcx("rtpbridge/1@mgw").code == 200);
  check("all_osmux_conn/virtual-0:osmux_conn/all_osmux:");
  CHECK(read(scene).at("all_osmux_conn/virtual-0:osmux_conn/all_osmux:num_closed_conns") == 1);
  CHECK(read(scene).at("all_rtp_conn/virtual-0:rtp_conn/all_rtp:num_closed_conns") == 1);
}

TEST_CASE("an E1 trunk counts its line side apart from the connection, and by its own number") {
  conf::Config config = sim::small_config();
  config.e1.virtual_lines = true;
  config.e1.trunks = {3, 1};
  Scene scene(config);
  scenario::LegOptions options;
  options.endpoint = "ds/e1-1/s-1/su16-0@mgw";
  options.formats = "3";
  scene.add_leg(options);
  scene.run_for(1s);
  const Counters counters = read(scene);
  CHECK(counters.at("e1/e1-1:e1/e1:i460") > 10);  // nothing was sent to it
  CHECK(counters.at("e1/e1-3:e1/e1:i460") == 0);
  CHECK(counters.at("crcx/e1-1:crcx/crcx:success") == 1);
  CHECK(counters.at("crcx/virtual-0:crcx/crcx:success") == 0);
  std::string groups;
  mgw::visit_counter_groups(scene.world.control(), [&groups](const CounterGroupView& group) {
    groups += fmt::format("{}({})'{}' ", group.prefix, group.index, group.name);
  });
  CHECK(groups ==
        "conn_rtp(0)'' e1(4)'e1-1:e1' all_osmux_conn(2)'e1-1:osmux_conn' "
        "all_rtp_conn(2)'e1-1:rtp_conn' dlcx(2)'e1-1:dlcx' mdcx(3)'e1-1:mdcx' crcx(2)'e1-1:crcx' "
        "e1(2)'e1-3:e1' all_osmux_conn(1)'e1-3:osmux_conn' all_rtp_conn(1)'e1-3:rtp_conn' "
        "dlcx(1)'e1-3:dlcx' mdcx(1)'e1-3:mdcx' crcx(1)'e1-3:crcx' mgcp(0)'mgw:general' "
        "all_osmux_conn(0)'virtual-0:osmux_conn' all_rtp_conn(0)'virtual-0:rtp_conn' "
        "dlcx(0)'virtual-0:dlcx' mdcx(0)'virtual-0:mdcx' crcx(0)'virtual-0:crcx' "
        "trunk(2)'e1-1:common' trunk(1)'e1-3:common' trunk(0)'virtual-0:common' ");
  CHECK(scene.dlcx("ds/e1-1/*@mgw").code == 200);
  const Counters after = read(scene);
  CHECK(after.at("e1/e1-1:e1/e1:i460") >= counters.at("e1/e1-1:e1/e1:i460"));
  CHECK(after.at("dlcx/e1-1:dlcx/dlcx:success") == 1);
  CHECK(after.at("all_rtp_conn/e1-1:rtp_conn/all_rtp:num_closed_conns") == 1);
}
