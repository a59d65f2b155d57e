#pragma once
// The messages between osmo-e1d and its clients, on a SOCK_SEQPACKET socket. Pure functions over
// bytes, any thread.
//
// Each message begins with eight octets: magic (2), length of the whole message (2), type,
// interface, line, time slot; the numbers of two octets are in the machine's own order. 0xff in
// place of a number: none is meant. The upper two bits of the type are 00 in requests, 01 in events
// that come unasked, 10 in answers (the request's type otherwise), 11 in refusals. Requests are
// answered in their order; answers need not repeat interface, line and time slot.
//
// * Query of a line (0x01): no content. The answer has for each line that there is three octets:
//   number, mode, status.
// * Opening of a time slot (0x04): mode (0x10 = raw), flags, and two octets of how much e1d is to
//   gather before it hands it on. The answer has six octets (number, what was asked for, status)
//   and brings a descriptor: a stream of the time slot's octets in both directions. Without content
//   and descriptor it says that the line or time slot does not exist, or is open already.
//   The time slot is free again when e1d has noticed that the descriptor was closed.
// * Events 0x40 to 0x47: loss of signal, alarm indication, remote alarm and loss of framing, in
//   pairs of beginning (even) and end.
//
// That is the protocol of osmo-e1d 0.2 and later, whose magic is 0x01e1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mgw {

/// Octets of the longest message that e1d sends.
inline constexpr std::size_t kE1dMessageBytesMax = 4096;

/// Where a line is: the number of e1d's interface, and of the line on it.
struct E1dLine {
  std::uint8_t interface = 0;
  std::uint8_t line = 0;
};

/// Asks for the line.
[[nodiscard]] std::array<std::byte, 8> write_e1d_line_query(E1dLine line) noexcept;
/// Asks for the raw octets of a time slot, 1..31, in pieces of 20 ms.
[[nodiscard]] std::array<std::byte, 12> write_e1d_open(E1dLine line,
                                                       std::uint8_t timeslot) noexcept;

/// What a line is used for.
enum class E1dLineMode : std::uint8_t {
  absent,       ///< there is no such line
  channelised,  ///< its time slots can be opened
  other,        ///< switched off, or all in one
};

/// Faults of a line that events tell of; the order is that of their numbers.
enum class E1dAlarm : std::uint8_t { signal, indication, remote, framing };

/// A message of e1d's. `kind` says which of the other fields are meant.
struct E1dMessage {
  /// What the message is.
  enum class Kind : std::uint8_t {
    line,      ///< answer to a query: `mode`
    timeslot,  ///< answer to an opening: `accepted`
    refusal,   ///< e1d could not do what the oldest open request asks for
    alarm,     ///< `alarm` begins or ends (`present`) on `at`
    other,     ///< something that a client can do without
  };
  Kind kind = Kind::other;
  E1dLineMode mode = E1dLineMode::absent;
  bool accepted = false;
  bool present = false;
  E1dAlarm alarm = E1dAlarm::signal;
  E1dLine at;
};

/// Reads a message; none if it is not one of this protocol. `line` is the one that was asked for.
[[nodiscard]] std::optional<E1dMessage> read_e1d_message(std::span<const std::byte> octets,
                                                         std::uint8_t line) noexcept;

}  // namespace mgw
