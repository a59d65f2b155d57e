#pragma once
// The values that MGCP messages (RFC 3435) carry. Texts in a Request or Response are views: a
// parsed one refers to the datagram that it came from, one to be written refers to whatever its
// maker holds. Parsed parts that are lists (options, description) are values of their own.

#include "mgcp/endpoint_name.h"
#include "mgcp/local_options.h"
#include "mgcp/response_code.h"
#include "mgcp/sdp.h"
#include "mgcp/tap_parameter.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mgcp {

/// 1..999999999 (RFC 3435 section 3.2.1.2); kNoTransactionId where none could be read, written as
/// `000000`.
using TransactionId = std::uint32_t;
inline constexpr TransactionId kNoTransactionId = 0;
inline constexpr TransactionId kTransactionIdMax = 999'999'999;

/// The commands. NTFY is here for agents and the load generator: a gateway answers it with 504.
enum class Verb : std::uint8_t { crcx, mdcx, dlcx, auep, aucx, rqnt, rsip, epcf, ntfy, unknown };

/// `CRCX`, ...; empty for unknown.
[[nodiscard]] std::string_view to_text(Verb verb) noexcept;

/// Connection modes (RFC 3435 section 2.3.5). confecho is osmo-mgw's: as sendrecv, and echoed to
/// the sender.
enum class ConnectionMode : std::uint8_t {
  recvonly,
  sendonly,
  sendrecv,
  inactive,
  loopback,
  confecho
};

/// `recvonly`, ...
[[nodiscard]] std::string_view to_text(ConnectionMode mode) noexcept;
/// Without regard to case; nothing for modes that are not served.
[[nodiscard]] std::optional<ConnectionMode> parse_mode(std::string_view text) noexcept;

/// The `M:` line of a command: absent, one of the modes, or a text that is none.
struct ModeParameter {
  /// Whether there was a line, and whether it was understood.
  enum class State : std::uint8_t { absent, known, unknown };
  State state = State::absent;
  ConnectionMode mode = ConnectionMode::recvonly;  ///< meaningful if known
  friend bool operator==(const ModeParameter&, const ModeParameter&) = default;
};

/// The `X-Osmux:` line of a command.
struct OsmuxParameter {
  /// Whether there was a line, and whether it said `*`, a number, or something else.
  enum class State : std::uint8_t { absent, any, number, invalid };
  State state = State::absent;
  std::uint8_t circuit_id = 0;  ///< meaningful if a number, 0..255
  friend bool operator==(const OsmuxParameter&, const OsmuxParameter&) = default;
};

/// One item of `K:`: responses to the transactions first..last have arrived (RFC 3435
/// section 3.2.2.12).
struct TransactionRange {
  TransactionId first = kNoTransactionId;
  TransactionId last = kNoTransactionId;
  friend bool operator==(const TransactionRange&, const TransactionRange&) = default;
};

/// Parameters that AUEP and AUCX can be asked for with `F:` (RFC 3435 section 3.2.2.10).
enum class RequestedItem : std::uint8_t {
  bearer_information,     ///< B
  call_id,                ///< C
  connection_id,          ///< I: for AUEP the list of connections
  notified_entity,        ///< N
  request_id,             ///< X
  local_options,          ///< L
  mode,                   ///< M
  requested_events,       ///< R
  signal_requests,        ///< S
  digit_map,              ///< D
  observed_events,        ///< O
  connection_parameters,  ///< P
  reason_code,            ///< E
  specific_endpoint,      ///< Z
  quarantine_handling,    ///< Q
  detect_events,          ///< T
  remote_description,     ///< RC
  local_description,      ///< LC
  capabilities,           ///< A
  event_states,           ///< ES
  restart_method,         ///< RM
  restart_delay,          ///< RD
  package_list,           ///< PL
  maximum_datagram,       ///< MD
  streams,                ///< X-Mgw-Streams: the SSRCs received, one by one
  tap,                    ///< X-Mgw-Tap: where copies of the packets go
};
inline constexpr std::size_t kRequestedItemCount = 26;

/// The code of an item as `F:` and a parameter line have it: `B`, ...
[[nodiscard]] std::string_view to_text(RequestedItem item) noexcept;

/// A set of requested items; unknown ones in the text are ignored.
struct RequestedInfo {
  std::uint32_t bits = 0;  ///< bit n = item n

  /// True if the item is in the set.
  [[nodiscard]] bool has(RequestedItem item) const noexcept {
    return ((bits >> static_cast<unsigned>(item)) & 1U) != 0;
  }
  /// Puts the item into the set.
  void add(RequestedItem item) noexcept { bits |= 1U << static_cast<unsigned>(item); }
  [[nodiscard]] bool empty() const noexcept { return bits == 0; }
  friend bool operator==(const RequestedInfo&, const RequestedInfo&) = default;
};

/// `RM:` of RSIP (RFC 3435 section 2.3.12).
enum class RestartMethod : std::uint8_t {
  absent,
  graceful,
  forced,
  restart,
  disconnected,
  cancel_graceful,
  unknown
};

/// `graceful`, ...; empty for absent and unknown.
[[nodiscard]] std::string_view to_text(RestartMethod method) noexcept;

/// A line `NAME: value` that has no field of its own.
struct Parameter {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// One command, complete. Absent optionals are lines that the text did not have; of repeated lines
/// the last counts.
struct Request {
  Verb verb = Verb::unknown;
  TransactionId transaction_id = kNoTransactionId;
  std::string_view endpoint;  ///< raw text; see parse_endpoint_name
  std::string_view profile;   ///< text after `MGCP 1.0`, usually empty

  std::optional<std::string_view> call_id;  ///< `C:`, compared with letter case
  std::optional<std::string_view>
      connection_id;   ///< `I:`, may be empty or too long: see the checks in parser.h
  ModeParameter mode;  ///< `M:`
  std::optional<LocalConnectionOptions> local_options;   ///< `L:`
  OsmuxParameter osmux;                                  ///< `X-Osmux:`
  TapParameter tap;                                      ///< `X-Mgw-Tap:` of CRCX and MDCX
  bool ignore_call_id = false;                           ///< `X-Osmo-IGN: C`
  std::vector<TransactionRange> acknowledged;            ///< `K:`
  RequestedInfo requested_info;                          ///< `F:`
  RestartMethod restart_method = RestartMethod::absent;  ///< `RM:`
  std::optional<std::uint32_t> restart_delay_s;          ///< `RD:`
  std::optional<std::string_view> reason_code;           ///< `E:`
  std::optional<std::string_view> request_id;            ///< `X:`
  std::optional<std::string_view> notified_entity;       ///< `N:` of RQNT, EPCF, NTFY, RSIP
  std::optional<std::string_view> signals;               ///< `S:`
  std::optional<std::string_view> observed_events;       ///< `O:`
  std::vector<Parameter>
      other_parameters;  ///< written as they are by write_request; not filled by the parser

  std::string_view sdp_text;  ///< body after the empty line; empty if there is none
  std::optional<SessionDescription>
      sdp;  ///< the parsed body (CRCX and MDCX); not used by write_request

  friend bool operator==(const Request&, const Request&) = default;
};

/// `P:` of a DLCX or AUCX response (RFC 3435 section 2.3.5).
struct ConnectionStatistics {
  std::uint64_t packets_sent = 0;
  std::uint64_t octets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t octets_received = 0;
  std::int64_t packets_lost = 0;  ///< other gateways may say a negative number
  std::uint64_t jitter = 0;       ///< as the gateway defines it: timestamp units
  std::optional<std::uint32_t> latency_ms;
  friend bool operator==(const ConnectionStatistics&, const ConnectionStatistics&) = default;
};

/// `X-Osmo-CP: EC TI=0, TO=0`: timestamp errors coming in and going out.
struct TimestampErrors {
  std::uint64_t incoming = 0;
  std::uint64_t outgoing = 0;
  friend bool operator==(const TimestampErrors&, const TimestampErrors&) = default;
};

/// `X-Osmux-ST: CR=0, BR=0`: chunks and bytes received.
struct OsmuxStatistics {
  std::uint64_t chunks_received = 0;
  std::uint64_t bytes_received = 0;
  friend bool operator==(const OsmuxStatistics&, const OsmuxStatistics&) = default;
};

/// One response. Empty texts and absent optionals are lines that are not written.
struct Response {
  ResponseCode code = ResponseCode::ok;
  TransactionId transaction_id = kNoTransactionId;
  std::string_view reason;                          ///< empty: default_reason(code)
  std::string_view endpoint;                        ///< `Z:`
  std::string_view connection_id;                   ///< `I:`
  std::optional<std::uint8_t> osmux_circuit_id;     ///< `X-Osmux:`
  std::optional<ConnectionStatistics> statistics;   ///< `P:`
  std::optional<TimestampErrors> timestamp_errors;  ///< `X-Osmo-CP:`
  std::optional<OsmuxStatistics> osmux_statistics;  ///< `X-Osmux-ST:`
  std::vector<Parameter>
      parameters;  ///< everything else, for AUEP and AUCX (`A:`, `C:`, `M:` ...; several `Z:`)
  std::string_view sdp;  ///< body after an empty line; empty = none
  friend bool operator==(const Response&, const Response&) = default;
};

}  // namespace mgcp
