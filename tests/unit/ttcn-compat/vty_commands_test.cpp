// The commands themselves, as they are typed: what they print, and what they do to a gateway.

#include "tests/unit/ttcn-compat/sample_counters.h"
#include "tests/unit/ttcn-compat/vty_peer.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/configuration_file.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/osmo_configuration.h"
#include "ttcn-compat/vty_reference.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace ttcn_compat;
using test::prompt;

namespace {

struct Peer : test::VtyPeer {
  Peer() : VtyPeer(command_tree()) {
    gateway.configuration = osmo_mgw_defaults();
    type("enable\n");
  }
};

ConnectionView amr_connection() {
  ConnectionView view;
  view.call_id = "1";
  view.id = "3966F795";
  view.kind = "rtp";
  view.remote = *io::SocketAddress::parse("127.0.0.1", 6002);
  view.local = *io::SocketAddress::parse("127.0.0.1", 16002);
  view.sends = true;
  view.packets_sent = 9;
  view.octets_sent = 4339;
  view.packets_received = 10;
  view.octets_received = 4361;
  view.payload_type = 112;
  view.rate_hz = 8000;
  view.channels = 1;
  view.audio_name = "AMR/8000";
  view.subtype = "AMR";
  view.packet_duration_ms = 20;
  return view;
}

}  // namespace

TEST_CASE("the first connection of the TTCN-3 suite is served byte for byte") {
  Peer peer;
  peer.connect();
  CHECK(peer.read() == "Hello\r\n\xff\xfb\x01\xff\xfb\x03\xff\xfe\x22\xff\xfd\x1fOsmoMGW> ");
  CHECK(peer.type("enable\n") == "enable\r\nOsmoMGW# ");
  CHECK(peer.type("stats reset\n") == "stats reset\r\nOsmoMGW# ");
  CHECK(peer.type("stats reset\n") == "stats reset\r\nOsmoMGW# ");
  CHECK(peer.type("stats report\n") == "stats report\r\nOsmoMGW# ");
  CHECK(peer.services.actions == std::vector<std::string>{"reset", "reset", "report"});
}

TEST_CASE("the second connection of the TTCN-3 suite is served byte for byte") {
  Peer peer;
  peer.connect();
  peer.read();
  const auto says = [&](const std::string& line, const std::string& prompt_text) {
    peer.session->receive(line + "\n");
    CHECK(peer.session->take_output() == line + "\r\n" + prompt_text);  // in one send
    peer.session->on_sent();
    CHECK(peer.session->take_output().empty());
  };
  says("enable", "OsmoMGW# ");
  says("configure terminal", "OsmoMGW(config)# ");
  says("mgcp", "OsmoMGW(config-mgcp)# ");
  says("osmux off", "OsmoMGW(config-mgcp)# ");
  says("exit", "OsmoMGW(config)# ");
  says("exit", "OsmoMGW# ");
  says("configure terminal", "OsmoMGW(config)# ");
  says("mgcp", "OsmoMGW(config-mgcp)# ");
  says("conn-timeout 1", "OsmoMGW(config-mgcp)# ");
  CHECK(peer.gateway.configuration.endpoints.options.connection_timeout.count() == 1);
  says("end", "OsmoMGW# ");
  says("configure terminal", "OsmoMGW(config)# ");
  says("mgcp", "OsmoMGW(config-mgcp)# ");
  says("rtp-patch rfc5993hr", "OsmoMGW(config-mgcp)# ");
  CHECK(peer.gateway.configuration.endpoints.options.patch.rfc5993hr);
  says("no rtp-patch rfc5993hr", "OsmoMGW(config-mgcp)# ");
  CHECK_FALSE(peer.gateway.configuration.endpoints.options.patch.rfc5993hr);
  says("osmux on", "OsmoMGW(config-mgcp)# ");
  CHECK(peer.gateway.configuration.osmux.mode == conf::OsmuxMode::on);
}

TEST_CASE("no output of a command has the name of the prompts in it") {
  Peer peer;
  peer.gateway.all_trunks[0].endpoints[0] = {"rtpbridge/1@mgw", true, {amr_connection()}};
  std::size_t tried = 0;
  for (const char* const node : {"", "configure terminal\n", "configure terminal\nmgcp\n"}) {
    peer.type("end\n");
    peer.type(node);
    const Node place = *node == 0                           ? Node::enable
                       : std::string_view(node).size() > 20 ? Node::config_mgcp
                                                            : Node::config;
    for (const ParsedCommand* command : command_tree().commands(place)) {
      const std::string word = command->text.substr(0, command->text.find(' '));
      if ((place == Node::enable && (word == "exit" || word == "disable" || word == "quit")) ||
          command->text == "mgcp" || word == "configure" || word == "ctrl" || word == "e1_input" ||
          word == "cpu-sched" || word == "exit" || word == "end" || word == "quit") {
        continue;
      }
      std::string line;
      for (const Element& element : command->elements) {
        line += element.optional ? "" : std::string(element.alternatives[0].text) + " ";
      }
      const std::string text = peer.run(line);
      CHECK_MESSAGE(text.find("OsmoMGW") == std::string::npos, line);
      ++tried;
      const std::string help = peer.type("?");
      CHECK(help.find("OsmoMGW") == help.rfind("OsmoMGW"));
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("show mgcp lists trunks, endpoints and connections in osmo-mgw's layout") {
  Peer peer;
  test::FakeGateway::Trunk e1 = test::virtual_trunk(2);
  e1.view.is_virtual = false;
  e1.view.number = 5;
  e1.prefix = "ds/e1-5/s-1/su64-";
  e1.endpoints[1] = {"ds/e1-5/s-1/su32-0@mgw", false, {}};
  peer.gateway.all_trunks.push_back(e1);
  CHECK(peer.run("show mgcp") ==
        "Virtual trunk 0 with 3 endpoints:\n"
        "Virtual trunk 0 endpoint rtpbridge/1@mgw:\n"
        "   Availability: available\n"
        "   No active connections\n"
        "\n"
        "Virtual trunk 0 endpoint rtpbridge/2@mgw:\n"
        "   Availability: available\n"
        "   No active connections\n"
        "\n"
        "Virtual trunk 0 endpoint rtpbridge/3@mgw:\n"
        "   Availability: available\n"
        "   No active connections\n"
        "No endpoints in use.\n"
        "E1 trunk 5 with 2 endpoints:\n"
        "E1 trunk 5 endpoint ds/e1-5/s-1/su64-1@mgw:\n"
        "   Availability: available\n"
        "   No active connections\n"
        "\n"
        "E1 trunk 5 endpoint ds/e1-5/s-1/su32-0@mgw:\n"
        "   Availability: not in service\n"
        "   No active connections\n"
        "No endpoints in use.\n");
}

TEST_CASE("show mgcp active has only endpoints in use, newest connection first") {
  Peer peer;
  ConnectionView osmux = amr_connection();
  osmux.id = "AB";
  osmux.remote = {};
  osmux.osmux = OsmuxView{"active", 3, std::nullopt, 1, 34, 5, 85, 0};
  peer.gateway.all_trunks[0].endpoints[0] = {"rtpbridge/1@mgw", true, {osmux, amr_connection()}};
  peer.gateway.all_trunks[0].view.used = 1;
  peer.gateway.configuration.osmux.mode = conf::OsmuxMode::on;
  peer.gateway.osmux_circuits = 1;
  CHECK(peer.run("show mgcp active") ==
        "Virtual trunk 0 with 3 endpoints:\n"
        "Virtual trunk 0 endpoint rtpbridge/1@mgw:\n"
        "   Availability: available\n"
        "   CONN: (1/rtp C:AB r=NULL:0<->l=127.0.0.1:16002 CID=3)\n"
        "   CONN: (1/rtp C:3966F795 r=127.0.0.1:6002<->l=127.0.0.1:16002)\n"
        "\n"
        "Osmux used CID: 1\n");
}

TEST_CASE("show mgcp endpoint has the statistics of each connection") {
  Peer peer;
  ConnectionView osmux = amr_connection();
  osmux.osmux = OsmuxView{"enabled", 0, std::uint8_t{7}, 1, 34, 5, 85, 0};
  osmux.remaining = std::chrono::microseconds(1987654);
  peer.gateway.all_trunks[0].endpoints[1] = {"rtpbridge/2@mgw", true, {osmux}};
  const std::string expected =
      "Virtual trunk 0 endpoint rtpbridge/2@mgw:\n"
      "   Availability: available\n"
      "   CONN: (1/rtp C:3966F795 r=127.0.0.1:6002<->l=127.0.0.1:16002 CID=0)\n"
      "   Currently remaining timeout (seconds): 1.987654\n"
      "   Packets Sent: 9 (4339 bytes total)\n"
      "   Packets Received: 10 (4361 bytes total)\n"
      "   Timestamp Errs: 0->0\n"
      "   Dropped Packets: 0\n"
      "   Payload Type: 112 Rate: 8000 Channels: 1 \n"
      "   Frame Duration: 20 Frame Denominator: 1000\n"
      "   FPP: 0 Packet Duration: 20\n"
      "   Audio-Name: AMR/8000 Sub-Type: AMR\n"
      "   Output-Enabled: 1 Force-PTIME: 0\n"
      "   Osmux:\n"
      "    State: enabled\n"
      "    Local CID: 0\n"
      "    Remote CID: 7\n"
      "    Chunks received: 1 (34 bytes total)\n"
      "    RTP Packets encoded (Tx): 5 (85 AMR octets total)\n"
      "    AMR payloads Dropped (Tx): 0\n";
  CHECK(peer.run("show mgcp endpoint rtpbridge/2@mgw") == expected);
  CHECK(peer.run("show mgcp trunk 0 endpoint rtpbridge/2@mgw") == expected);
  CHECK(peer.run("show mgcp endpoint foo") == "endpoint foo not configured\n");
  CHECK(peer.run("show mgcp trunk 0 endpoint foo") == "endpoint foo not configured on trunk 0\n");
  CHECK(peer.run("show mgcp trunk 9 endpoint foo") == "trunk 9 not found\n");
}

TEST_CASE("show mgcp stats ends each trunk and the whole with rate counters") {
  Peer peer;
  peer.gateway.all_trunks[0] = test::virtual_trunk(1);
  const std::string text = peer.run("show mgcp stats");
  CHECK(text ==
        "Virtual trunk 0 with 1 endpoints:\n"
        "Virtual trunk 0 endpoint rtpbridge/1@mgw:\n"
        "   Availability: available\n"
        "   No active connections\n"
        "No endpoints in use.\n"
        "\n"
        "Rate counters (trunk):\n"
        "\n"
        "Rate counters (global):\n");
}

TEST_CASE("show mgcp of sixty thousand endpoints comes in portions") {
  Peer peer;
  peer.gateway.all_trunks[0] = test::virtual_trunk(60000);
  peer.session->receive("show mgcp\n");
  CHECK(peer.session->take_output().size() < kSessionOutputBytesMax + 2 * kOutputPortionBytes);
  peer.session->on_sent();
  CHECK(peer.read().ends_with("No endpoints in use.\r\nOsmoMGW# "));
}

TEST_CASE("actions reach endpoints of E1 trunks and of the virtual trunk, by index or name") {
  Peer peer;
  test::FakeGateway::Trunk e1 = test::virtual_trunk(20);
  e1.view.is_virtual = false;
  e1.view.number = 1;
  peer.gateway.all_trunks.push_back(e1);
  peer.gateway.all_trunks[0].endpoints[2] = {"rtpbridge/3@mgw", true, {amr_connection()}};
  peer.gateway.all_trunks[1].endpoints[7] = {"x@mgw", true, {amr_connection()}};
  CHECK(peer.run("free-endpoint 0 2").empty());
  CHECK(peer.run("free-endpoint 1 13").empty());
  CHECK(peer.run("free-endpoint 0 rtpbridge/3@mgw").empty());
  CHECK(peer.run("loop-endpoint 0 1 1").empty());
  CHECK(peer.run("loop-endpoint 0 1 0").empty());
  CHECK(peer.run("tap-rtp 0 2 3966F795 in 127.0.0.9 4000").empty());
  CHECK(peer.run("reset-endpoint 0 2").empty());
  CHECK(peer.run("reset-all-endpoints").empty());
  CHECK(peer.gateway.actions == std::vector<std::string>{"free 0 2", "free 1 19", "free 0 2",
                                                         "loop 0 1", "unloop 0 1",
                                                         "tap 0 2 3966F795 in 127.0.0.9:4000",
                                                         "reset 0 2", "reset 0 2", "reset 1 7"});
  CHECK(peer.run("free-endpoint 7 1") == "%Trunk 7 not found in the config.\n");
  CHECK(peer.run("free-endpoint 0 3") == "Endpoint number 3 is invalid.\n");
  CHECK(peer.run("free-endpoint 0 nonsense") == "Endpoint number nonsense is invalid.\n");
  peer.gateway.agent_reachable = false;
  CHECK(peer.run("reset-endpoint 0 2") == "Error -1 during endpoint reset.\n");
  CHECK(peer.run("reset-all-endpoints") == "Error -1 during endpoint reset.\n");
  peer.run("drain");
  CHECK(peer.gateway.drain_now.active);
  CHECK(peer.run("show drain") == "Draining: new calls are refused\n");
  peer.run("no drain");
  CHECK_FALSE(peer.gateway.drain_now.active);
  peer.run("drain exit");
  CHECK(peer.gateway.drain_now.ends);
  CHECK_FALSE(peer.gateway.drain_now.remaining);
  peer.run("drain exit 90");
  CHECK(peer.run("show drain") ==
        "Draining: new calls are refused\n"
        "The program ends with the last call\n"
        "Calls that are left are ended in 90 s\n");
  peer.gateway.actions.clear();
  peer.run("shutdown");
  CHECK(peer.gateway.actions == std::vector<std::string>{"shut down"});
}

TEST_CASE("what else can be shown") {
  Peer peer;
  peer.gateway.lines = {{0, "e1d", "first", true, 4}, {3, "virtual", "", false, 0}};
  CHECK(peer.run("show e1_line") ==
        "E1 Line Number 0, Name first, Driver e1d\nE1 Line Number 3, Name , Driver virtual\n");
  CHECK(peer.run("show e1_line 0 stats") ==
        "E1 Line Number 0, Name first, Driver e1d\n Line is up, 4 timeslots in use\n");
  CHECK(peer.run("show e1_line 9").empty());
  CHECK(peer.run("show e1_timeslot 3 1") == "E1 Line Number 3: 0 timeslots in use\n");
  CHECK(peer.run("show e1_driver") == "E1 Input Driver e1d\nE1 Input Driver virtual\n");
  CHECK(peer.run("show cpu-sched threads") ==
        "Thread list for PID 100:\n TID: 100, NAME: 'mgw'\n TID: 101, NAME: 'mgw-worker-0'\n");
  CHECK(peer.run("show uptime") == "mgw has been running for 1d 2h 3m 4s\n");
  CHECK(peer.run("show pid") == "100\n");
  CHECK(peer.run("show io-backend") == "I/O backend: poll\nKernel fast path: off\n");
  CHECK(peer.run("show talloc-context application brief") ==
        "brief talloc report on 'application' (total 123456 bytes in   1 blocks)\n");
  CHECK(peer.run("show version") == "mgw\n");
  CHECK(peer.run("show stats").starts_with("Ungrouped counters:\n"));
  CHECK(peer.run("show online-help").ends_with("</vtydoc>\n"));
  CHECK(peer.run("echo a  b") == "a  b\n");
}

TEST_CASE("a session has log lines of its own, alarms and a way to write some") {
  Peer peer;
  CHECK(peer.run("show logging vty") == "% Logging was not enabled.\n");
  peer.run("logging enable");
  peer.run("logging level lmgcp debug");
  peer.run("logging color 0");
  CHECK(peer.session->log().enabled);
  CHECK_FALSE(peer.session->log().target.colour);
  const std::string shown = peer.run("show logging vty");
  CHECK(shown.find("  LMGCP      DEBUG      Enabled ") != std::string::npos);
  CHECK(shown.find("  RTP        NOTICE     Enabled ") != std::string::npos);
  peer.run("logging level set-all error");
  CHECK(peer.session->log().target.level == conf::LogLevel::error);
  CHECK(peer.session->log().target.levels.empty());
  CHECK(peer.run("logp lmgcp notice  two  words").empty());
  CHECK(peer.services.actions == std::vector<std::string>{"log 2 lmgcp two  words"});
  CHECK(peer.run("logp nonsense notice x") == "% There is no category nonsense\n");
  CHECK(peer.run("show alarms") == "% No alarms, there might be no alarm configured.\n");
  peer.services.alarm_lines = {"one", "two"};
  CHECK(peer.run("show alarms") == "% Showing 2 alarms\n% one\n% two\n");
  peer.run("logging disable");
  CHECK_FALSE(peer.session->log().enabled);
  CHECK(peer.gateway.reconfigured == 0);
}

TEST_CASE("show running-config prints what a file would hold") {
  Peer peer;
  const std::string expected = "\nCurrent configuration:\n!\n" +
                               write_configuration(command_tree(), peer.gateway.configuration) +
                               "end\n";
  CHECK(peer.run("show running-config") == expected);
  CHECK(peer.run("write terminal") == expected);
  peer.type("configure terminal\nmgcp\n");
  CHECK(peer.run("show running-config") == expected);
}

TEST_CASE("the configuration is saved in its file, in the form of that file") {
  Peer peer;
  auto& files = peer.services.files;
  CHECK(peer.run("write") == "% There is no configuration file: name one with 'write file PATH'\n");
  peer.gateway.file = "/etc/osmo-mgw.cfg";
  CHECK(peer.run("show startup-config") == "Can't open configuration file [/etc/osmo-mgw.cfg]\n");
  for (const char* const command :
       {"write", "write memory", "write file", "copy running-config startup-config"}) {
    files.clear();
    CHECK(peer.run(command) == "Configuration saved to /etc/osmo-mgw.cfg\n");
    conf::Config read;
    CHECK(read_osmo_configuration(files[peer.gateway.file], read).has_value());
    CHECK(read == peer.gateway.configuration);
  }
  CHECK(peer.run("show startup-config") == files[peer.gateway.file]);
  CHECK(peer.run("write file /etc/mgw.yaml") == "Configuration saved to /etc/mgw.yaml\n");
  CHECK(files["/etc/mgw.yaml"].find("0.0.0.0") != std::string::npos);
  CHECK(peer.run("write file /forbidden/x") ==
        "Can't open configuration file /forbidden/x: Permission denied.\n");
}

TEST_CASE("a file is replaced whole, and keeps its permissions and the link that leads to it") {
  std::string pattern = (std::filesystem::temp_directory_path() / "vty_XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const std::string path = folder / "file";
  CHECK(read_text_file(path).error() == "No such file or directory");
  CHECK(replace_text_file(path, "first\n").has_value());
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  std::filesystem::create_symlink(path, folder / "link");
  CHECK(replace_text_file(folder / "link", "second\n").has_value());
  CHECK(read_text_file(path).value() == "second\n");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_read);
  CHECK_FALSE(replace_text_file(folder / "none" / "file", "x").has_value());
  CHECK(replace_text_file("/dev/null", "x").error() == "Not a regular file");
  CHECK(replace_text_file(path, std::string(kConfigurationFileBytesMax + 1, '!')).has_value());
  CHECK(read_text_file(path).error() == "The file is too large");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("help at the prompt has a sentence for everything") {
  Peer peer;
  peer.type("configure terminal\nmgcp\n");
  CHECK(peer.type("rtp port-range ?") ==
        "rtp port-range \r\n  <1024-65534>  The first port, an even one\r\n" +
            prompt("(config-mgcp)#") + "rtp port-range ");
  CHECK(peer.type("\x15osmux ?").find("  batch-factor     Frames of a call in a datagram\r\n") !=
        std::string::npos);
}

TEST_CASE("write docs/vty-reference.md anew" * doctest::skip()) {
  std::ofstream file(MGW_VTY_REFERENCE);
  write_reference(file, command_tree());
}

TEST_CASE("docs/vty-reference.md is what the declarations of the commands give") {
  std::ifstream file(MGW_VTY_REFERENCE);
  const std::string stored(std::istreambuf_iterator<char>(file), {});
  std::ostringstream fresh;
  write_reference(fresh, command_tree());
  CHECK_MESSAGE(stored == fresh.str(),
                "ttcn_compat_unit_test --no-skip -tc='write docs/vty-reference.md anew'");
}
