// Arbitrary bytes typed into a session, in arbitrary pieces: it stays within its bounds, and after
// them it answers a command, unless it was left.

#include "tests/unit/ttcn-compat/fake_gateway.h"
#include "tests/unit/ttcn-compat/fake_services.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/vty_session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ttcn_compat::test::FakeGateway gateway;
  gateway.all_trunks.push_back(ttcn_compat::test::virtual_trunk(3));
  ttcn_compat::test::FakeServices services;
  const ttcn_compat::VtySessionOptions options;
  ttcn_compat::VtySession session(ttcn_compat::command_tree(), gateway, services, options, "peer");
  const std::string typed(data, data + size);
  // The first byte says how much is sent at once and how often the peer reads.
  const std::size_t piece = size == 0 ? 1 : 1 + data[0];
  for (std::size_t at = 1; at < typed.size() && session.wants_input(); at += piece) {
    session.receive(std::string_view(typed).substr(at, piece));
    if (at % 3 != 0 && session.take_output().size() > 8 * ttcn_compat::kSessionOutputBytesMax) {
      std::abort();
    }
    session.on_sent();
  }
  std::string last;
  const auto read_all = [&] {
    for (std::string part = session.take_output(); !part.empty(); part = session.take_output()) {
      last = std::move(part);
      session.on_sent();
    }
  };
  read_all();
  if (session.wants_input()) {
    // Out of negotiations, escape sequences, pages and half-typed lines.
    session.receive("x\xff\xf0z\x03q\x03");
    read_all();
    session.receive("\n");
    read_all();
    if (!session.is_over() && !last.ends_with(' ')) {
      std::abort();
    }
  }
  return 0;
}
