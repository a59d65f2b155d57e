#pragma once
// Reads MGCP datagrams (RFC 3435 section 3 and appendix A) in two steps, because the transaction
// cache is asked between them:
//   MessageSplitter -> parse_first_line -> (cache) -> parse_parameters -> (the gateway's own
//   checks) -> check_*.
// Views in the results refer to the datagram. Work is linear in its size; nothing is kept between
// calls.

#include "mgcp/message.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

namespace mgcp {

/// Limits. All are far above what call agents send; what exceeds them is answered with 510.
inline constexpr std::size_t kDatagramBytesMin = 4;  ///< shorter ones can't be a message: dropped
inline constexpr std::size_t kMessagesPerDatagramMax =
    256;                                            ///< piggybacked; the surplus is dropped
inline constexpr std::size_t kLineBytesMax = 4096;  ///< command and parameter lines
inline constexpr std::size_t kParameterLinesMax = 256;
inline constexpr std::size_t kCallIdBytesMax =
    128;  ///< RFC: 32 hex digits; osmo-mgw takes any text
inline constexpr std::size_t kConnectionIdDigitsMax = 32;   ///< RFC 3435 section 2.1.3.2
inline constexpr std::size_t kAcknowledgedRangesMax = 256;  ///< of `K:`; the surplus is ignored

/// Hands out the messages of a datagram in order; a line with a single `.` parts them. Trailing
/// NULs are cut off. A datagram shorter than kDatagramBytesMin has none.
class MessageSplitter {
 public:
  explicit MessageSplitter(std::string_view datagram) noexcept;

  /// The next message without its separator, nothing at the end. Messages of blank lines only are
  /// skipped.
  [[nodiscard]] std::optional<std::string_view> next() noexcept;
  /// True if there were more than kMessagesPerDatagramMax.
  [[nodiscard]] bool truncated() const noexcept { return truncated_; }

 private:
  std::string_view rest_;
  std::size_t messages_ = 0;
  bool truncated_ = false;
};

/// A command's first line, and where its parameters begin.
struct CommandLine {
  Verb verb = Verb::unknown;  ///< never unknown: that is a CommandLineError
  TransactionId transaction_id = kNoTransactionId;
  std::string_view endpoint;
  std::string_view profile;  ///< text after `MGCP 1.0`
  std::string_view body;     ///< the message after its first line
};

/// A first line that is answered at once: 504, 510 or 528.
struct CommandLineError {
  ProtocolError error;
  TransactionId transaction_id = kNoTransactionId;  ///< if it could be read
  Verb verb = Verb::unknown;                        ///< if it could be read
};

/// `200 21 OK`, `000 21`: the answer of somebody else. A gateway never answers it.
struct ResponseLine {
  ResponseCode code = ResponseCode::ok;
  TransactionId transaction_id = kNoTransactionId;
  std::string_view reason;  ///< the rest of the line
  std::string_view body;    ///< the message after its first line
};

/// Neither a command nor a response: to be counted and dropped without an answer.
struct Garbage {};

/// What the first line of a message turns out to be.
using FirstLine = std::variant<CommandLine, CommandLineError, ResponseLine, Garbage>;

/// Reads the first line of a message (as MessageSplitter gives it).
[[nodiscard]] FirstLine parse_first_line(std::string_view message) noexcept;

/// Reads the parameters and, for CRCX and MDCX, the description. Errors come in line order: 539
/// (unknown parameter; also `N:`, `S:` and `Z:` in CRCX, MDCX, DLCX), 511 (unknown `X+`), 524, 535
/// (`L:`), 510 (malformed, `X-Mgw-Tap:` too, or a limit exceeded); then those of the description
/// (510, 505). AUEP, AUCX, RQNT, RSIP, EPCF and NTFY ignore parameters that they don't know.
[[nodiscard]] tl::expected<Request, ProtocolError> parse_parameters(const CommandLine& line);

/// What is wrong with a CRCX by its text alone, in this order: `C:` missing or empty 516, `M:`
/// missing or unknown 517, `I:` present 523, `X-Osmux:` unreadable 510. For step 4 of the order of
/// checks, after name and parameters.
[[nodiscard]] std::optional<ProtocolError> check_crcx(const Request& request) noexcept;
/// The same for MDCX: `I:` missing 515, empty or too long 510, mode unknown 517. To be called after
/// "no connection on this endpoint" (400) and the call id (516).
[[nodiscard]] std::optional<ProtocolError> check_mdcx(const Request& request) noexcept;
/// The same for DLCX: `I:` given, but empty or too long 510. To be called after the call id (516).
[[nodiscard]] std::optional<ProtocolError> check_dlcx(const Request& request) noexcept;

/// True if two connection ids mean the same: without regard to case and leading zeros. Empty,
/// all-zero, or non-hex ids equal nothing.
[[nodiscard]] bool same_connection_id(std::string_view left, std::string_view right) noexcept;

/// The agent's side: reads a whole response. 510 if the text is none or a known parameter of it is
/// malformed; unknown parameters are kept in `parameters`.
[[nodiscard]] tl::expected<Response, ProtocolError> parse_response(std::string_view message);

}  // namespace mgcp
