#include "mgw/local_media.h"

#include "io/log.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace mgw {

namespace {

using io::AddressFamily;
using io::SocketAddress;
using mgcp::ProtocolError;
using mgcp::ResponseCode;

/// Local addresses with a port range of their own. Each is an address of this machine, so there are
/// few.
constexpr std::size_t kHostsMax = 256;

/// How many lines were held back; left out if there were none.
io::LogField suppressed(const io::LogLimiter& limiter) {
  return limiter.suppressed() == 0 ? io::LogField("suppressed", "")
                                   : io::LogField("suppressed", limiter.suppressed());
}

std::optional<SocketAddress> configured(const std::string& text) {
  return text.empty() ? std::nullopt : SocketAddress::parse(text, 0);
}

}  // namespace

LocalMedia::LocalMedia(const conf::Config& config, io::SocketFactory& factory)
    : options_(config.rtp), io_options_(config.io), factory_(factory) {
  take_addresses(config);
}

void LocalMedia::take_addresses(const conf::Config& config) {
  bind_ipv4_ = configured(config.rtp.bind);
  bind_ipv6_ = configured(config.rtp.bind_v6);
  advertise_ipv4_ = configured(config.rtp.advertise);
  advertise_ipv6_ = configured(config.rtp.advertise_v6);
  mgcp_bind_ = configured(config.mgcp.bind);
  port_min_ = config.rtp.port_min;
  port_max_ = config.rtp.port_max;
  // So that the number of ports shows before the first call.
  for (const AddressFamily family : {AddressFamily::ipv4, AddressFamily::ipv6}) {
    const auto& own = family == AddressFamily::ipv4 ? bind_ipv4_ : bind_ipv6_;
    const auto& host = own || !mgcp_bind_ || mgcp_bind_->family() != family ? own : mgcp_bind_;
    if (host && !host->is_unspecified()) {
      static_cast<void>(pool_for(*host));
    }
  }
}

void LocalMedia::reconfigured(const conf::Config& config) {
  std::erase_if(former_pools_, [](const HostPorts& ports) { return ports.pool->used() == 0; });
  if (config.rtp.port_min != port_min_ || config.rtp.port_max != port_max_) {
    std::ranges::move(pools_, std::back_inserter(former_pools_));
    pools_.clear();
  }
  take_addresses(config);
}

tl::expected<LocalHost, ProtocolError> LocalMedia::choose(const SocketAddress& remote,
                                                          const SocketAddress& agent) {
  std::optional<SocketAddress> host;
  if (remote.family() != AddressFamily::none) {
    host = host_for(remote.family(), remote, agent);
  } else {
    // As deployed agents know it: IPv6 if there is an IPv6 address, until the peer's family is
    // known.
    host = host_for(AddressFamily::ipv6, remote, agent);
    if (!host) {
      host = host_for(AddressFamily::ipv4, remote, agent);
    }
  }
  if (!host) {
    return tl::unexpected(
        ProtocolError{ResponseCode::unsupported_description, "no local address of that family"});
  }
  return LocalHost{*host, announced(*host)};
}

std::optional<SocketAddress> LocalMedia::host_for(AddressFamily family, const SocketAddress& remote,
                                                  const SocketAddress& agent) {
  const auto& own = family == AddressFamily::ipv4 ? bind_ipv4_ : bind_ipv6_;
  const bool remote_known = remote.family() == family && !remote.is_unspecified();
  if (options_.ip_probing && remote_known) {
    if (const auto source = factory_.route_source(remote)) {
      return *source;
    }
  }
  if (own && !own->is_unspecified()) {
    return *own;
  }
  const bool mgcp_has_family = mgcp_bind_ && mgcp_bind_->family() == family;
  if (!own && mgcp_has_family && !mgcp_bind_->is_unspecified()) {
    return *mgcp_bind_;
  }
  if (!own && !mgcp_has_family && family == AddressFamily::ipv6) {
    return std::nullopt;
  }
  // Nothing or "any" is configured, which can't be announced: the address is that of the way to the
  // peer, or as long as that is unknown to the agent.
  const SocketAddress& towards = remote_known ? remote : agent;
  if (towards.family() == family) {
    if (const auto source = factory_.route_source(towards)) {
      return *source;
    }
  }
  return std::nullopt;
}

tl::expected<BoundPair, ProtocolError> LocalMedia::bind(const SocketAddress& host,
                                                        io::TimePoint now) {
  PortPool* pool = pool_for(host);
  if (pool == nullptr) {
    return tl::unexpected(
        ProtocolError{ResponseCode::endpoint_unknown, "too many local addresses"});
  }
  io::SocketOptions options = socket_options();
  for (std::size_t attempt = 0; attempt < pool->total(); ++attempt) {
    const auto port = pool->acquire(now);
    if (!port) {
      break;
    }
    options.local = host.with_port(*port);
    auto rtp = factory_.bind_udp(options);
    if (rtp) {
      options.local = host.with_port(static_cast<std::uint16_t>(*port + 1));
      auto rtcp = factory_.bind_udp(options);
      if (rtcp) {
        return BoundPair{{std::move(*rtp), std::move(*rtcp)}, host.with_port(*port), pool};
      }
      rtp = tl::unexpected(rtcp.error());
    }
    pool->release(*port, now);
    if (rtp.error().value() != EADDRINUSE && rtp.error().value() != EACCES) {
      if (warnings_.allow(now)) {
        io::log(io::LogLevel::warning, io::LogCategory::rtp, {suppressed(warnings_)},
                "cannot bind {}: {}", options.local.text(), rtp.error().message());
      }
      const int error = rtp.error().value();
      return tl::unexpected(ProtocolError{ResponseCode::endpoint_unknown,
                                          error == EMFILE || error == ENFILE
                                              ? "limit of open files reached"
                                              : "RTP ports cannot be bound on the local address"});
    }
  }
  ++exhausted_;
  if (warnings_.allow(now)) {
    io::log(io::LogLevel::warning, io::LogCategory::rtp, {suppressed(warnings_)},
            "no free RTP ports on {}: {} of {} pairs in use, the others rest or are taken",
            host.host_text(), pool->used(), pool->total());
  }
  return tl::unexpected(ProtocolError{ResponseCode::endpoint_unknown, "no free RTP ports"});
}

io::SocketOptions LocalMedia::socket_options() const noexcept {
  io::SocketOptions options;
  options.dscp = options_.dscp;
  options.priority = options_.socket_priority;
  options.receive_buffer_bytes = io_options_.receive_buffer_bytes;
  options.send_buffer_bytes = io_options_.send_buffer_bytes;
  return options;
}

tl::expected<BoundPair, ProtocolError> LocalMedia::rebind(const SocketAddress& local,
                                                          io::TimePoint now) {
  PortPool* pool = pool_for(local.with_port(0));
  if (pool != nullptr && !pool->claim(local.port())) {
    pool = nullptr;
  }
  SocketPair sockets = reopen(local);
  if (sockets.rtp) {
    return BoundPair{std::move(sockets), local, pool};
  }
  if (pool != nullptr) {
    pool->release(local.port(), now);
  }
  return tl::unexpected(
      ProtocolError{ResponseCode::endpoint_unknown, "RTP ports cannot be bound again"});
}

SocketPair LocalMedia::reopen(const SocketAddress& local) {
  io::SocketOptions options = socket_options();
  options.local = local;
  auto rtp = factory_.bind_udp(options);
  if (rtp) {
    options.local = local.with_port(static_cast<std::uint16_t>(local.port() + 1));
    auto rtcp = factory_.bind_udp(options);
    if (rtcp) {
      return {std::move(*rtp), std::move(*rtcp)};
    }
    rtp = tl::unexpected(rtcp.error());
  }
  io::log(io::LogLevel::warning, io::LogCategory::rtp, "cannot bind {} again: {}",
          options.local.text(), rtp.error().message());
  return {};
}

PortPool* LocalMedia::pool_for(const SocketAddress& host) {
  for (HostPorts& ports : pools_) {
    if (ports.host.same_host(host)) {
      return ports.pool.get();
    }
  }
  if (pools_.size() == kHostsMax) {
    return nullptr;
  }
  pools_.push_back(
      {host.with_port(0),
       std::make_unique<PortPool>(options_.port_min, options_.port_max, options_.port_quarantine)});
  return pools_.back().pool.get();
}

SocketAddress LocalMedia::announced(const SocketAddress& bound) const {
  const auto& advertised =
      bound.family() == AddressFamily::ipv4 ? advertise_ipv4_ : advertise_ipv6_;
  return advertised.value_or(bound);
}

bool LocalMedia::may_own(const SocketAddress& address) const {
  if (address.port() == 0 || address.family() == AddressFamily::none) {
    return false;
  }
  for (const auto* pools : {&pools_, &former_pools_}) {
    for (const HostPorts& ports : *pools) {
      if (ports.pool->is_out(address.port()) &&
          (ports.host.same_host(address) || announced(ports.host).same_host(address))) {
        return true;
      }
    }
  }
  return false;
}

std::size_t LocalMedia::ports_total() const noexcept {
  std::size_t sum = 0;
  for (const HostPorts& ports : pools_) {
    sum += ports.pool->total();
  }
  return sum;
}

std::size_t LocalMedia::ports_used() const noexcept {
  std::size_t sum = 0;
  for (const auto* pools : {&pools_, &former_pools_}) {
    for (const HostPorts& ports : *pools) {
      sum += ports.pool->used();
    }
  }
  return sum;
}

}  // namespace mgw
