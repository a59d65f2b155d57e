#pragma once
// An MGCP command as the command line gives it, and its text. Pure functions.

#include "io/socket_address.h"
#include "mgcp/message.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mgwctl {

/// One MGCP command. Empty texts and absent optionals are not sent.
struct Command {
  mgcp::Verb verb = mgcp::Verb::auep;
  std::string endpoint;  ///< empty: default_endpoint()
  std::string call_id;
  std::string connection_id;
  std::string mode;  ///< sent as it is, so that wrong modes can be tried
  /// "NAME", "NAME/RATE[/CHANNELS]" or "PT/NAME[/RATE[/CHANNELS]]". With `remote` they go into the
  /// SDP, else into L: a:.
  std::vector<std::string> codecs;
  std::vector<std::string> format_parameters;  ///< fmtp of the codec at the same place
  std::string remote;                          ///< where the gateway shall send to, HOST:PORT
  std::uint32_t ptime_ms = 0;                  ///< 0 = not said
  std::string osmux;                           ///< circuit id or "*"
  std::vector<std::string> tap;                ///< words of X-Mgw-Tap, sent as they are
  bool ignore_call_id = false;                 ///< X-Osmo-IGN: C
  std::string requested_info;                  ///< F: of AUEP and AUCX, e.g. "I,C"
  std::string restart_method;                  ///< RM: of RSIP
  std::string signals;                         ///< S: of RQNT
  std::string request_id;                      ///< X: of RQNT
};

/// The wildcard for CRCX and RSIP, null for AUEP, none for commands about something that exists.
[[nodiscard]] std::string default_endpoint(mgcp::Verb verb);

/// The command's text with this transaction id. Text of the error if something can't be expressed.
[[nodiscard]] tl::expected<std::string, std::string> write_command(
    const Command& command, mgcp::TransactionId transaction_id);

/// A message as people type it: "\n" and "\r" become line ends, all line ends CRLF; one is added at
/// the end if none is there.
[[nodiscard]] std::string normalise_raw(std::string_view text);

}  // namespace mgwctl
