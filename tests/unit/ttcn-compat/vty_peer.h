#pragma once
// A person, or a script, at the other end of a VTY session.

#include "tests/unit/ttcn-compat/fake_gateway.h"
#include "tests/unit/ttcn-compat/fake_services.h"
#include "ttcn-compat/vty_session.h"

#include <memory>
#include <string>
#include <string_view>

namespace ttcn_compat::test {

/// A session and its peer, who reads everything at once unless told otherwise.
struct VtyPeer {
  const CommandTree& commands;
  FakeGateway gateway;
  FakeServices services;
  VtySessionOptions options{
      .name = "OsmoMGW", .banner = "Hello\n", .version = "mgw\n", .other_peers = {}};
  std::unique_ptr<VtySession> session;

  /// Connects to a gateway with three endpoints, and throws away the greeting.
  explicit VtyPeer(const CommandTree& tree) : commands(tree) {
    gateway.all_trunks.push_back(virtual_trunk(3));
    connect();
    read();
  }
  /// Begins another session.
  void connect() {
    session = std::make_unique<VtySession>(commands, gateway, services, options, "127.0.0.1:40000");
  }
  /// All that the session has to say.
  std::string read() {
    std::string all;
    for (std::string part = session->take_output(); !part.empty(); part = session->take_output()) {
      all += part;
      session->on_sent();
    }
    return all;
  }
  /// Types, and reads.
  std::string type(std::string_view text) {
    session->receive(text);
    return read();
  }
  /// What a command prints, with plain line ends, without its echo and the prompt.
  std::string run(std::string_view command) {
    std::string answer = type(std::string(command) + "\n");
    answer.erase(0, command.size() + 2);
    answer.erase(answer.rfind("OsmoMGW"));
    std::string text;
    for (const char c : answer) {
      if (c != '\r') {
        text += c;
      }
    }
    return text;
  }
};

/// The prompt of a node.
inline std::string prompt(std::string_view node) {
  return "OsmoMGW" + std::string(node) + " ";
}

}  // namespace ttcn_compat::test
