// Any bytes on a CTRL connection, whole and cut in two: the same answers, each a whole frame.
#include "tests/unit/ttcn-compat/sample_gateway.h"
#include "ttcn-compat/ctrl_protocol.h"
#include "ttcn-compat/ctrl_variables.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// Aborts unless `bytes` is a sequence of whole frames.
void check_frames(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes.size() < 4) {
      std::abort();
    }
    const std::size_t length = std::size_t{static_cast<std::uint8_t>(bytes[0])} << 8U |
                               static_cast<std::uint8_t>(bytes[1]);
    if (length == 0 || bytes.size() < 3 + length) {
      std::abort();
    }
    bytes.remove_prefix(3 + length);
  }
}

/// Hands all bytes over; false when the connection is to be closed.
bool receive_all(ttcn_compat::CtrlSession& session, std::string_view bytes, std::string& out) {
  bool open = true;
  while (open && !bytes.empty()) {
    open = session.receive(bytes, {}, out);
  }
  return open;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  ttcn_compat_test::SampleGateway gateway;
  ttcn_compat::CounterHistory history;
  ttcn_compat::CtrlVariables variables({gateway, history, "1", {}});
  ttcn_compat::CtrlSession whole(variables);
  std::string answers;
  const bool open = receive_all(whole, bytes, answers);
  check_frames(answers);

  gateway.drains = {};
  ttcn_compat::CtrlSession halves(variables);
  std::string again;
  const std::string_view text = bytes;
  bool still_open = receive_all(halves, text.substr(0, size / 2), again);
  still_open = still_open && receive_all(halves, text.substr(size / 2), again);
  if (open != still_open || answers != again) {
    std::abort();
  }
  return 0;
}
