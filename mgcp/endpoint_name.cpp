#include "mgcp/endpoint_name.h"

#include "mgcp/text.h"

#include <array>
#include <charconv>
#include <optional>

namespace mgcp {

namespace {

constexpr std::string_view kVirtualPrefix = "rtpbridge/";
constexpr std::string_view kE1Prefix = "ds/e1-";
constexpr std::size_t kNumberDigitsMax = 8;
constexpr unsigned kE1TrunkMax = 64;
constexpr unsigned kTimeslotMax = 31;
constexpr unsigned kRatePerBitKbps = 8;

tl::unexpected<ProtocolError> unknown_endpoint() noexcept {
  return tl::unexpected(ProtocolError{ResponseCode::endpoint_unknown, {}});
}

/// Hexadecimal without leading zeros; 0 if it is none.
std::uint32_t parse_number(std::string_view text) noexcept {
  if (text.empty() || text.size() > kNumberDigitsMax || text.front() == '0') {
    return 0;
  }
  std::uint32_t number = 0;
  for (const char c : text) {
    const int digit = text::hex_value(c);
    if (digit < 0) {
      return 0;
    }
    number = number * 16 + static_cast<std::uint32_t>(digit);
  }
  return number;
}

/// Decimal without leading zeros (`0` itself is fine), at most `maximum`.
std::optional<std::uint8_t> parse_small(std::string_view text, unsigned maximum) noexcept {
  if (text.size() > 1 && text.front() == '0') {
    return std::nullopt;
  }
  const auto value = text::parse_decimal(text, maximum);
  return value ? std::optional(static_cast<std::uint8_t>(*value)) : std::nullopt;
}

/// `s-S/suR-O`.
std::optional<E1Subslot> parse_subslot(std::string_view text) noexcept {
  if (!text::starts_with_ignoring_case(text, "s-")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  const auto timeslot = parse_small(text::take_until(text, '/'), kTimeslotMax);
  if (!timeslot || *timeslot == 0 || !text::starts_with_ignoring_case(text, "su")) {
    return std::nullopt;
  }
  text.remove_prefix(2);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto rate = parse_small(text.substr(0, dash), 64);
  const auto offset = parse_small(text.substr(dash + 1), 7);
  if (!rate || !offset || (*rate != 64 && *rate != 32 && *rate != 16 && *rate != 8) ||
      *offset % (*rate / kRatePerBitKbps) != 0) {
    return std::nullopt;
  }
  return E1Subslot{*timeslot, *rate, *offset};
}

/// `T/...` after `ds/e1-`.
bool parse_e1(std::string_view local, EndpointName& name) noexcept {
  const auto trunk = parse_small(text::take_until(local, '/'), kE1TrunkMax);
  if (!trunk) {
    return false;
  }
  name.e1_trunk = *trunk;
  if (local == "*" || local == "$") {
    name.kind = local == "*" ? EndpointKind::e1_wildcard_all : EndpointKind::e1_wildcard_any;
    return true;
  }
  const auto subslot = parse_subslot(local);
  if (subslot) {
    name.kind = EndpointKind::e1_one;
    name.subslot = *subslot;
  }
  return subslot.has_value();
}

/// What follows `rtpbridge/`.
bool parse_virtual(std::string_view local, EndpointName& name) noexcept {
  if (local == "*" || local == "$") {
    name.kind =
        local == "*" ? EndpointKind::virtual_wildcard_all : EndpointKind::virtual_wildcard_any;
    return true;
  }
  name.kind = EndpointKind::virtual_one;
  name.number = parse_number(local);
  return name.number != 0;
}

void append_hex(std::string& out, std::uint32_t value) {
  std::array<char, kNumberDigitsMax> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  out.append(digits.data(), result.ptr);
}

}  // namespace

bool is_wildcard(EndpointKind kind) noexcept {
  return kind == EndpointKind::virtual_wildcard_all || kind == EndpointKind::virtual_wildcard_any ||
         kind == EndpointKind::e1_wildcard_all || kind == EndpointKind::e1_wildcard_any;
}

bool is_virtual(EndpointKind kind) noexcept {
  return kind == EndpointKind::virtual_one || kind == EndpointKind::virtual_wildcard_all ||
         kind == EndpointKind::virtual_wildcard_any;
}

bool is_e1(EndpointKind kind) noexcept {
  return kind == EndpointKind::e1_one || kind == EndpointKind::e1_wildcard_all ||
         kind == EndpointKind::e1_wildcard_any;
}

tl::expected<EndpointName, ProtocolError> parse_endpoint_name(std::string_view text) noexcept {
  const std::size_t at = text.find('@');
  if (text.size() > kEndpointNameBytesMax || at == std::string_view::npos) {
    return unknown_endpoint();
  }
  std::string_view local = text.substr(0, at);
  EndpointName name;
  name.domain = text.substr(at + 1);
  if (text::equal_ignoring_case(local, "null")) {
    return name;
  }
  bool known = false;
  if (text::starts_with_ignoring_case(local, kVirtualPrefix)) {
    known = parse_virtual(local.substr(kVirtualPrefix.size()), name);
  } else if (text::starts_with_ignoring_case(local, kE1Prefix)) {
    known = parse_e1(local.substr(kE1Prefix.size()), name);
  } else {
    // The legacy form is one endpoint only: a wildcard must name its trunk.
    name.kind = EndpointKind::virtual_one;
    name.number = parse_number(local);
    known = name.number != 0;
  }
  if (!known) {
    return unknown_endpoint();
  }
  return name;
}

void append_endpoint_name(std::string& out, const EndpointName& name) {
  if (name.kind == EndpointKind::null) {
    out += "null";
  } else if (is_virtual(name.kind)) {
    out += kVirtualPrefix;
  } else {
    out += kE1Prefix;
    text::append_decimal(out, name.e1_trunk);
    out += '/';
  }
  switch (name.kind) {
    case EndpointKind::null:
      break;
    case EndpointKind::virtual_one:
      append_hex(out, name.number);
      break;
    case EndpointKind::virtual_wildcard_all:
    case EndpointKind::e1_wildcard_all:
      out += '*';
      break;
    case EndpointKind::virtual_wildcard_any:
    case EndpointKind::e1_wildcard_any:
      out += '$';
      break;
    case EndpointKind::e1_one:
      out += "s-";
      text::append_decimal(out, name.subslot.timeslot);
      out += "/su";
      text::append_decimal(out, name.subslot.rate_kbps);
      out += '-';
      text::append_decimal(out, name.subslot.bit_offset);
      break;
  }
  out += '@';
  out += name.domain;
}

bool domain_matches(std::string_view configured, std::string_view given) noexcept {
  return configured == "*" || text::equal_ignoring_case(configured, given);
}

}  // namespace mgcp
