#include "mgcp/tap_parameter.h"

#include "mgcp/text.h"

#include <algorithm>

namespace mgcp {

namespace {

using Result = tl::expected<TapParameter, ProtocolError>;
using State = TapParameter::State;

tl::unexpected<ProtocolError> malformed(std::string_view reason) noexcept {
  return tl::unexpected(ProtocolError{ResponseCode::protocol_error, reason});
}

bool read_directions(std::string_view text, TapParameter& tap) noexcept {
  constexpr int kDirections = 2;
  for (int i = 0; i < kDirections && !text.empty(); ++i) {
    const std::string_view direction = text::take_until(text, ',');
    const bool both = text::equal_ignoring_case(direction, "both");
    const bool in = text::equal_ignoring_case(direction, "in");
    const bool out = text::equal_ignoring_case(direction, "out");
    if (!both && !in && !out) {
      return false;
    }
    tap.in = tap.in || in || both;
    tap.out = tap.out || out || both;
  }
  return text.empty();
}

Result read_target(std::string_view kind, std::string_view target, TapParameter tap) noexcept {
  if (text::equal_ignoring_case(kind, "udp")) {
    const auto address = io::SocketAddress::parse_with_port(target);
    if (!address || address->port() == 0 || address->is_unspecified()) {
      return malformed("X-Mgw-Tap: udp wants a numeric ADDRESS:PORT");
    }
    tap.state = State::udp;
    tap.target = *address;
    return tap;
  }
  if (text::equal_ignoring_case(kind, "pcap")) {
    if (!is_plain_file_name(target)) {
      return malformed("X-Mgw-Tap: pcap wants a plain file name");
    }
    tap.state = State::pcap;
    tap.file = target;
    return tap;
  }
  return malformed("X-Mgw-Tap: udp, pcap or off expected");
}

}  // namespace

bool is_plain_file_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kTapFileNameBytesMax && name.front() != '.' &&
         name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
           return text::is_letter(c) || text::is_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

Result parse_tap(std::string_view value) noexcept {
  TapParameter tap;
  std::string_view word = text::take_token(value);
  if (!text::equal_ignoring_case(word, "off")) {
    if (!read_directions(word, tap) || (!tap.in && !tap.out)) {
      return malformed("X-Mgw-Tap: in, out, both or off expected");
    }
    word = text::take_token(value);
  } else {
    tap.in = tap.out = true;
  }
  const bool off = text::equal_ignoring_case(word, "off");
  const std::string_view target = off ? std::string_view() : text::take_token(value);
  if (!text::take_token(value).empty()) {
    return malformed("X-Mgw-Tap: text after the end");
  }
  if (off) {
    tap.state = State::off;
    return tap;
  }
  return read_target(word, target, tap);
}

}  // namespace mgcp
