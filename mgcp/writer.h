#pragma once
// Writes MGCP messages. Everything is appended to a string of the caller, which keeps its capacity
// between messages, so that writing does not allocate in the long run.

#include "mgcp/message.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace mgcp {

/// Appends a response with osmo-mgw's layout: `CODE T REASON`, `Z:`, `I:`, `X-Osmux:`, `P:`,
/// `X-Osmo-CP:`, `X-Osmux-ST:`, other parameters, empty line and description, each line ended by
/// CRLF.
void write_response(std::string& out, const Response& response);

/// Appends `CODE T REASON`: the whole of an error answer.
void write_error(std::string& out, TransactionId transaction_id, const ProtocolError& error);

/// Appends `T` in decimal; `000000` for kNoTransactionId.
void append_transaction_id(std::string& out, TransactionId transaction_id);

/// Appends a command: first line, parameters (C, I, L, M, X-Osmux, X-Osmo-IGN, K, F, ...), empty
/// line and `sdp_text`.
void write_request(std::string& out, const Request& request);

/// Appends `message` to the piggybacked datagram `out`, after a line with a single `.` if there is
/// one already. False, with `out` unchanged, if that would make it longer than `bytes_max`; the
/// first message always fits.
[[nodiscard]] bool append_piggybacked(std::string& out, std::string_view message,
                                      std::size_t bytes_max);

}  // namespace mgcp
