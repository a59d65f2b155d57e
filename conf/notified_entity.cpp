#include "conf/notified_entity.h"

#include "conf/ip_network.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace conf {

namespace {

/// The length that RFC 3435 section 3.2.2 gives as the maximum of a local name.
constexpr std::size_t kNameBytesMax = 255;

bool parse_port(std::string_view text, std::uint16_t& port) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && stop == end && port != 0;
}

}  // namespace

std::optional<NotifiedEntity> parse_notified_entity(std::string_view text) {
  NotifiedEntity entity;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    entity.name = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  const bool plain_name =
      std::ranges::all_of(entity.name, [](char c) { return c > ' ' && c <= '~' && c != '@'; });
  if (entity.name.size() > kNameBytesMax || !plain_name) {
    return std::nullopt;
  }
  const bool bracketed = text.starts_with('[');
  const std::size_t address_end = bracketed ? text.find(']') : text.find(':');
  entity.address = text.substr(bracketed ? 1 : 0, address_end - (bracketed ? 1U : 0U));
  const auto family = address_family(entity.address);
  if (family != (bracketed ? AddressFamily::ipv6 : AddressFamily::ipv4)) {
    return std::nullopt;
  }
  if (bracketed && address_end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t consumed = bracketed ? address_end + 1 : std::min(address_end, text.size());
  text.remove_prefix(consumed);
  if (text.empty()) {
    return entity;
  }
  if (!text.starts_with(':') || !parse_port(text.substr(1), entity.port)) {
    return std::nullopt;
  }
  return entity;
}

}  // namespace conf
