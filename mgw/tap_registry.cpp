#include "mgw/tap_registry.h"

#include "io/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace mgw {

namespace {

using mgcp::ProtocolError;
using mgcp::ResponseCode;
using State = mgcp::TapParameter::State;

constexpr ProtocolError kTooMany{ResponseCode::transient_error, "too many taps"};

}  // namespace

TapRegistry::TapRegistry(const conf::Config& config, std::uint32_t workers, UnixOffset unix_offset)
    : config_(config), unix_offset_(std::move(unix_offset)), places_(std::make_shared<char>()) {
  if (!config.taps.directory.empty() && config.taps.max != 0) {
    writer_ = std::make_unique<CaptureWriter>(workers, config.taps.file_max_bytes);
  }
}

void TapRegistry::start() {
  if (writer_ != nullptr) {
    writer_->start();
  }
}

std::uint32_t TapRegistry::active() const noexcept {
  return static_cast<std::uint32_t>(places_.use_count() - 1);
}

tl::expected<TapSet, ProtocolError> TapRegistry::apply(const mgcp::TapParameter& parameter,
                                                       const TapSet& current,
                                                       const io::SocketAddress& local) {
  std::shared_ptr<TapTarget> target;
  if (parameter.state == State::udp || parameter.state == State::pcap) {
    if (active() >= config_.taps.max) {
      return tl::unexpected(kTooMany);
    }
    target = std::make_shared<TapTarget>();
    target->place = places_;
    const Error error = parameter.state == State::udp ? check_address(parameter.target, local)
                                                      : open_capture(parameter.file, *target);
    if (error) {
      return tl::unexpected(*error);
    }
    if (parameter.state == State::udp) {
      target->address = parameter.target;
      target->text = "udp " + parameter.target.text();
    }
  }
  TapSet next = current;
  if (parameter.in) {
    next.in = target;
  }
  if (parameter.out) {
    next.out = target;
  }
  return next;
}

TapRegistry::Error TapRegistry::check_address(const io::SocketAddress& target,
                                              const io::SocketAddress& local) const {
  const auto& allow = config_.taps.udp_allow;
  if (std::none_of(allow.begin(), allow.end(), [&target](const conf::IpNetwork& network) {
        return network.contains(target.host_bytes());
      })) {
    return ProtocolError{ResponseCode::unsupported_parameter,
                         "taps.udp-allow does not permit this address"};
  }
  // An IPv4 address in IPv6 clothes (RFC 4291 section 2.5.5.2) is no address of either family here.
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto host = target.host_bytes();
  const bool mapped =
      host.size() > kMapped.size() && std::equal(kMapped.begin(), kMapped.end(), host.begin());
  if (mapped || target.family() != local.family()) {
    return ProtocolError{ResponseCode::unsupported_parameter,
                         "the connection is of the other address family"};
  }
  if (is_own_port(target, local)) {
    return ProtocolError{ResponseCode::unsupported_parameter,
                         "a port of the gateway itself can't be tapped to"};
  }
  return std::nullopt;
}

bool TapRegistry::is_own_port(const io::SocketAddress& target,
                              const io::SocketAddress& local) const {
  const auto is_host = [&target](const std::string& text) {
    const auto host = io::SocketAddress::parse(text, 0);
    return host && target.same_host(*host);
  };
  const conf::RtpOptions& rtp = config_.rtp;
  const bool own_host = target.is_loopback() || target.same_host(local) ||
                        is_host(config_.mgcp.bind) || is_host(rtp.bind) || is_host(rtp.bind_v6);
  // Copies to a media port would come in as media and be copied again; to the MGCP port, a peer
  // could put commands into its packets.
  const bool own_port = (target.port() >= rtp.port_min && target.port() <= rtp.port_max) ||
                        target.port() == config_.mgcp.port;
  return own_host && own_port;
}

TapRegistry::Error TapRegistry::open_capture(std::string_view name, TapTarget& target) {
  if (writer_ == nullptr) {
    return ProtocolError{ResponseCode::unsupported_parameter,
                         "no capture files: taps.directory is not set"};
  }
  auto opened = writer_->open(config_.taps.directory, name, unix_offset_());
  if (!opened) {
    io::log(io::LogLevel::warning, io::LogCategory::rtp, "capture file {} can't be made in {}: {}",
            name, config_.taps.directory, opened.error().message());
    return ProtocolError{ResponseCode::transient_error, opened.error().value() == EEXIST
                                                            ? "all names of that file are taken"
                                                            : "the capture file can't be made"};
  }
  target.capture = std::move(opened->capture);
  target.text = "pcap " + opened->name;
  return std::nullopt;
}

std::unique_ptr<Tap> TapRegistry::make_tap(const TapSet& taps, std::uint32_t worker,
                                           const io::SocketAddress& local) {
  if (taps.empty()) {
    return nullptr;
  }
  auto tap = std::make_unique<Tap>();
  tap->taps = taps;
  tap->queue = writer_ != nullptr ? &writer_->queue(worker) : nullptr;
  tap->local = local;
  return tap;
}

TapSet TapRegistry::within_family(const TapSet& taps, const io::SocketAddress& local) {
  const auto fits = [&local](const std::shared_ptr<const TapTarget>& target) {
    return target == nullptr || target->capture != nullptr ||
           target->address.family() == local.family();
  };
  return {fits(taps.in) ? taps.in : nullptr, fits(taps.out) ? taps.out : nullptr};
}

}  // namespace mgw
