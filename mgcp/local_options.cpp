#include "mgcp/local_options.h"

#include "mgcp/text.h"

#include <algorithm>
#include <array>
#include <span>

namespace mgcp {

namespace {

/// osmo-mgw measures packets in whole GSM frames.
constexpr std::uint32_t kPacketisationStepMs = 20;
constexpr std::uint32_t kPacketisationMaxMs = 65'535;

tl::unexpected<ProtocolError> inconsistent(std::string_view reason) noexcept {
  return tl::unexpected(ProtocolError{ResponseCode::inconsistent_options, reason});
}

/// Takes the next comma-separated option; commas inside double quotes don't part (RFC 3660 `fmtp`).
std::string_view take_option(std::string_view& rest) noexcept {
  bool quoted = false;
  std::size_t end = 0;
  while (end < rest.size() && (quoted || rest[end] != ',')) {
    quoted = quoted != (rest[end] == '"');
    ++end;
  }
  const std::string_view option = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return option;
}

tl::expected<PacketisationPeriod, ProtocolError> parse_period(std::string_view value) noexcept {
  const std::size_t dash = value.find('-');
  const auto minimum = text::parse_decimal(text::trim(value.substr(0, dash)), kPacketisationMaxMs);
  const auto maximum =
      dash == std::string_view::npos
          ? minimum
          : text::parse_decimal(text::trim(value.substr(dash + 1)), kPacketisationMaxMs);
  if (!minimum || !maximum) {
    return inconsistent("bad packetisation period");
  }
  if (*minimum % kPacketisationStepMs != 0 && *maximum % kPacketisationStepMs != 0) {
    return tl::unexpected(ProtocolError{ResponseCode::unsupported_packetisation, {}});
  }
  return PacketisationPeriod{static_cast<std::uint32_t>(*minimum),
                             static_cast<std::uint32_t>(*maximum)};
}

/// Fills `codecs`; false if a name is not usable.
bool parse_codecs(std::string_view value, std::vector<std::string>& codecs) {
  while (!value.empty()) {
    const std::string_view name = text::trim(text::take_until(value, ';'));
    if (name.empty()) {
      continue;
    }
    if (!codec_from_option(name)) {
      return false;
    }
    if (codecs.size() < kLocalOptionCodecsMax) {
      std::string& codec = codecs.emplace_back(name);
      std::transform(codec.begin(), codec.end(), codec.begin(), text::to_upper);
    }
  }
  return !codecs.empty();
}

/// The dynamic payload types have as many numbers as `a:` may have codecs, so one is always free.
static_assert(kPayloadTypeMax - kDynamicPayloadTypeMin + 1 >= kLocalOptionCodecsMax);
std::uint8_t next_dynamic(std::uint8_t payload_type) noexcept {
  const bool wraps = payload_type < kDynamicPayloadTypeMin || payload_type >= kPayloadTypeMax;
  return wraps ? kDynamicPayloadTypeMin : static_cast<std::uint8_t>(payload_type + 1);
}

}  // namespace

tl::expected<LocalConnectionOptions, ProtocolError> parse_local_options(std::string_view text) {
  LocalConnectionOptions options;
  std::array<std::string_view, kLocalOptionsMax> keys;
  std::size_t count = 0;
  std::string_view rest = text::trim(text);
  while (!rest.empty()) {
    const std::string_view option = take_option(rest);
    const std::size_t colon = option.find(':');
    const std::string_view key = text::trim(option.substr(0, colon));
    if (colon == std::string_view::npos || key.empty()) {
      return inconsistent("local option without key");
    }
    const std::string_view value = text::trim(option.substr(colon + 1));
    if (value.empty()) {
      return inconsistent("local option without value");
    }
    const auto repeats = [&](std::string_view k) { return text::equal_ignoring_case(k, key); };
    if (count == keys.size() || std::any_of(keys.begin(), keys.begin() + count, repeats)) {
      return inconsistent(count == keys.size() ? "too many local options"
                                               : "local option repeated");
    }
    keys[count++] = key;
    if (text::equal_ignoring_case(key, "p")) {
      const auto period = parse_period(value);
      if (!period) {
        return tl::unexpected(period.error());
      }
      options.packetisation = *period;
    } else if (text::equal_ignoring_case(key, "a") && !parse_codecs(value, options.codecs)) {
      return inconsistent("bad codec name");
    }
  }
  return options;
}

std::vector<Codec> codecs_from_options(const LocalConnectionOptions& options) {
  std::vector<Codec> codecs;
  codecs.reserve(options.codecs.size());
  for (const std::string& name : options.codecs) {
    auto codec = codec_from_option(name);
    if (!codec) {
      continue;
    }
    const auto taken = [&](const Codec& other) {
      return other.payload_type == codec->payload_type;
    };
    while (std::any_of(codecs.begin(), codecs.end(), taken)) {
      codec->payload_type = next_dynamic(codec->payload_type);
    }
    codecs.push_back(*std::move(codec));
  }
  return codecs;
}

void append_local_options(std::string& out, const LocalConnectionOptions& options) {
  if (options.packetisation) {
    out += "p:";
    text::append_decimal(out, options.packetisation->minimum_ms);
    if (options.packetisation->maximum_ms != options.packetisation->minimum_ms) {
      out += '-';
      text::append_decimal(out, options.packetisation->maximum_ms);
    }
  }
  if (options.codecs.empty()) {
    return;
  }
  out += options.packetisation ? ", a:" : "a:";
  for (std::size_t i = 0; i < options.codecs.size(); ++i) {
    if (i > 0) {
      out += ';';
    }
    out += options.codecs[i];
  }
}

}  // namespace mgcp
