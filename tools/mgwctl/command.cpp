#include "tools/mgwctl/command.h"

#include "mgcp/codec.h"
#include "mgcp/sdp.h"
#include "mgcp/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace mgwctl {
namespace {

constexpr std::uint32_t kPayloadTypeMax = 127;

// "112/AMR/8000", "AMR/8000" or "AMR".
std::optional<mgcp::Codec> read_codec(std::string_view text) {
  std::uint32_t payload_type = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), payload_type);
  const auto digits = static_cast<std::size_t>(number.ptr - text.data());
  if (number.ec == std::errc() && digits < text.size() && text[digits] == '/') {
    if (payload_type > kPayloadTypeMax) {
      return std::nullopt;
    }
    return mgcp::parse_rtpmap(static_cast<std::uint8_t>(payload_type), text.substr(digits + 1));
  }
  auto codec = mgcp::codec_from_option(text);
  if (codec && codec->form == mgcp::RtpmapForm::name_only) {
    codec->form = mgcp::RtpmapForm::with_rate;
  }
  return codec;
}

tl::expected<std::vector<mgcp::Codec>, std::string> read_codecs(const Command& command) {
  std::vector<mgcp::Codec> codecs;
  for (const std::string& text : command.codecs) {
    auto codec = read_codec(text);
    if (!codec) {
      return tl::unexpected(
          fmt::format("codec '{}': NAME[/RATE[/CHANNELS]] or PT/NAME[/RATE[/CHANNELS]]", text));
    }
    if (codecs.size() < command.format_parameters.size()) {
      codec->fmtp = command.format_parameters[codecs.size()];
    }
    codecs.push_back(std::move(*codec));
  }
  return codecs;
}

tl::expected<std::string, std::string> write_description(const Command& command,
                                                         std::vector<mgcp::Codec> codecs) {
  const auto remote = io::SocketAddress::parse_with_port(command.remote);
  if (!remote) {
    return tl::unexpected(fmt::format("remote '{}': not a numeric HOST:PORT", command.remote));
  }
  if (codecs.empty()) {
    codecs.push_back(mgcp::default_codec());
  }
  mgcp::SessionDescription description;
  description.address = remote->with_port(0);
  description.port = remote->port();
  if (command.ptime_ms != 0) {
    description.ptime_ms = command.ptime_ms;
  }
  description.codecs = std::move(codecs);
  std::string text;
  mgcp::write_sdp(text, description, "1");
  return text;
}

void set_local_options(mgcp::Request& request, const Command& command,
                       const std::vector<mgcp::Codec>& codecs) {
  const bool name_codecs = !codecs.empty() && command.remote.empty();
  if (!name_codecs && command.ptime_ms == 0) {
    return;
  }
  request.local_options.emplace();
  if (command.ptime_ms != 0) {
    request.local_options->packetisation =
        mgcp::PacketisationPeriod{command.ptime_ms, command.ptime_ms};
  }
  if (name_codecs) {
    std::transform(codecs.begin(), codecs.end(), std::back_inserter(request.local_options->codecs),
                   [](const mgcp::Codec& codec) { return codec.name; });
  }
}

void add_parameter(mgcp::Request& request, std::string_view name, const std::string& value) {
  if (!value.empty()) {
    request.other_parameters.push_back({name, value});
  }
}

std::optional<std::string_view> if_given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

}  // namespace

std::string default_endpoint(mgcp::Verb verb) {
  switch (verb) {
    case mgcp::Verb::crcx:
    case mgcp::Verb::rsip:
      return "rtpbridge/*@mgw";
    case mgcp::Verb::auep:
      return "null@mgw";
    default:
      return {};
  }
}

tl::expected<std::string, std::string> write_command(const Command& command,
                                                     mgcp::TransactionId transaction_id) {
  const std::string endpoint =
      command.endpoint.empty() ? default_endpoint(command.verb) : command.endpoint;
  if (endpoint.empty()) {
    return tl::unexpected(std::string("--endpoint is needed"));
  }
  auto codecs = read_codecs(command);
  if (!codecs) {
    return tl::unexpected(codecs.error());
  }
  mgcp::Request request;
  request.verb = command.verb;
  request.transaction_id = transaction_id;
  request.endpoint = endpoint;
  request.call_id = if_given(command.call_id);
  request.connection_id = if_given(command.connection_id);
  set_local_options(request, command, *codecs);
  request.ignore_call_id = command.ignore_call_id;
  request.request_id = if_given(command.request_id);
  request.signals = if_given(command.signals);
  add_parameter(request, "M", command.mode);
  add_parameter(request, "X-Osmux", command.osmux);
  const std::string tap = fmt::format("{}", fmt::join(command.tap, " "));
  add_parameter(request, "X-Mgw-Tap", tap);
  add_parameter(request, "F", command.requested_info);
  add_parameter(request, "RM", command.restart_method);
  std::string description;
  if (!command.remote.empty()) {
    auto written = write_description(command, std::move(*codecs));
    if (!written) {
      return tl::unexpected(written.error());
    }
    description = std::move(*written);
    request.sdp_text = description;
  }
  std::string text;
  mgcp::write_request(text, request);
  return text;
}

std::string normalise_raw(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 1 < text.size();
    if (is_escape && text[i + 1] == 'n') {
      lines += '\n';
      ++i;
    } else if (is_escape && text[i + 1] == 'r') {
      ++i;
    } else if (text[i] != '\r') {
      lines += text[i];
    }
  }
  if (!lines.empty() && lines.back() != '\n') {
    lines += '\n';
  }
  std::string message;
  for (const char letter : lines) {
    message += letter == '\n' ? "\r\n" : std::string(1, letter);
  }
  return message;
}

}  // namespace mgwctl
