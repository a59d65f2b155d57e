#include "mgw/asio_front.h"

#include "io/log.h"
#include "mgw/asio_streams.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace mgw {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Datagrams read in one go before workers and timers get their turn.
constexpr int kBurstMax = 128;
/// Kernel memory for commands that wait: a burst of 2,000 commands of 500 bytes, each of which
/// takes about 1.3 KiB of it.
constexpr int kReceiveBufferBytes = 4 * 1024 * 1024;
constexpr std::size_t kDatagramBytesMax = 65536;

/// The sender's address. On a socket that serves both families an IPv4 sender is written in IPv6;
/// the rest of the gateway, and sendto, know it as IPv4.
io::SocketAddress sender(const sockaddr_in6& peer, socklen_t size) noexcept {
  constexpr std::size_t kMappedPrefixBytes = 12;
  if (peer.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr)) {
    return io::SocketAddress::from_kernel(&peer, size);
  }
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = peer.sin6_port;
  std::memcpy(&ipv4.sin_addr, peer.sin6_addr.s6_addr + kMappedPrefixBytes, sizeof(ipv4.sin_addr));
  return io::SocketAddress::from_kernel(&ipv4, sizeof(ipv4));
}

/// What a flood takes before commands are lost in the kernel is not much without this.
void warn_of_small_buffer(int descriptor) {
  int bytes = 0;
  socklen_t size = sizeof(bytes);
  // The kernel tells the double, its own costs.
  if (::getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0 &&
      bytes < 2 * kReceiveBufferBytes) {
    io::log(io::LogLevel::notice, io::LogCategory::lmgcp,
            "the MGCP socket holds {} bytes of waiting commands in place of {}: net.core.rmem_max "
            "(sysctl) is lower, and CAP_NET_ADMIN is not there",
            bytes / 2, kReceiveBufferBytes);
  }
}

}  // namespace

struct AsioFront::Loop {
  asio::io_context context{1};
  asio::ip::udp::socket socket{context};
  asio::signal_set stop_signals{context, SIGINT, SIGTERM};
  asio::signal_set reload_signal{context, SIGHUP};
  asio::signal_set upgrade_signal{context, SIGUSR2};
  asio::steady_timer tick{context};
  asio::steady_timer heartbeat{context};
  FrontHandlers handlers;
  std::vector<std::unique_ptr<AsioStreams>> streams;
  std::atomic<bool> wake_posted{false};
  std::array<char, kDatagramBytesMax> datagram{};

  void await_datagrams() {
    socket.async_wait(asio::ip::udp::socket::wait_read, [this](const error_code& error) {
      if (error) {
        return;
      }
      read_burst();
      await_datagrams();
    });
  }

  void read_burst() {
    bool emptied = false;
    for (int i = 0; i < kBurstMax; ++i) {
      sockaddr_in6 peer{};
      socklen_t peer_size = sizeof(peer);
      const ssize_t size = ::recvfrom(socket.native_handle(), datagram.data(), datagram.size(),
                                      MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&peer), &peer_size);
      if (size < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
          emptied = true;
          break;
        }
        continue;  // an ICMP error of an earlier answer: read on
      }
      handlers.on_datagram(sender(peer, peer_size),
                           {datagram.data(), static_cast<std::size_t>(size)});
    }
    handlers.on_burst_end(emptied);
  }

  void await_tick() {
    tick.expires_after(std::chrono::seconds(1));
    tick.async_wait([this](const error_code& error) {
      if (!error) {
        handlers.on_tick();
        await_tick();
      }
    });
  }

  void await_stop() {
    stop_signals.async_wait([this](const error_code& error, int signal) {
      if (error) {
        return;
      }
      if (handlers.on_stop_signal(signal)) {
        context.stop();
        return;
      }
      await_stop();
    });
  }

  void await_reload() {
    reload_signal.async_wait([this](const error_code& error, int) {
      if (!error) {
        handlers.on_reload_signal();
        await_reload();
      }
    });
  }

  void await_upgrade() {
    upgrade_signal.async_wait([this](const error_code& error, int) {
      if (!error) {
        handlers.on_upgrade_signal();
        await_upgrade();
      }
    });
  }

  /// A descriptor of somebody else.
  struct Watched {
    Watched(asio::io_context& context, int descriptor, std::function<void()> handler)
        : stream(context, descriptor), readable(std::move(handler)) {}
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    Watched(Watched&&) = delete;
    Watched& operator=(Watched&&) = delete;
    ~Watched() { stream.release(); }
    void await() {
      stream.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
        if (!error) {
          readable();
          await();
        }
      });
    }
    asio::posix::stream_descriptor stream;
    std::function<void()> readable;
  };
  std::vector<std::unique_ptr<Watched>> watched;

  void await_heartbeat() {
    if (handlers.heartbeat_interval <= io::Duration::zero()) {
      return;
    }
    heartbeat.expires_after(handlers.heartbeat_interval);
    heartbeat.async_wait([this](const error_code& error) {
      if (!error) {
        handlers.on_heartbeat();
        await_heartbeat();
      }
    });
  }

  /// The rest of opening, when the socket is bound.
  io::Result<io::SocketAddress> set_up(const io::SocketAddress& call_agent) {
    const int descriptor = socket.native_handle();
    // Forced past rmem_max where we may; else as much as the system grants.
    if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes,
                     sizeof(kReceiveBufferBytes)) != 0) {
      ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes,
                   sizeof(kReceiveBufferBytes));
    }
    warn_of_small_buffer(descriptor);
    if (call_agent.family() != io::AddressFamily::none &&
        ::connect(descriptor, call_agent.kernel_address(), call_agent.kernel_size()) != 0) {
      return io::failure(errno);
    }
    error_code error;
    socket.non_blocking(true, error);
    sockaddr_in6 bound{};
    socklen_t bound_size = sizeof(bound);
    if (error || ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &bound_size) != 0) {
      return io::failure(error ? error.value() : errno);
    }
    return io::SocketAddress::from_kernel(&bound, bound_size);
  }
};

AsioFront::AsioFront() : loop_(std::make_unique<Loop>()) {}

AsioFront::~AsioFront() = default;

io::Result<io::SocketAddress> AsioFront::open(const io::SocketAddress& local,
                                              const io::SocketAddress& call_agent) {
  const auto protocol =
      local.family() == io::AddressFamily::ipv6 ? asio::ip::udp::v6() : asio::ip::udp::v4();
  error_code error;
  loop_->socket.open(protocol, error);
  if (error) {
    return io::failure(error.value());
  }
  if (::bind(loop_->socket.native_handle(), local.kernel_address(), local.kernel_size()) != 0) {
    return io::failure(errno);
  }
  return loop_->set_up(call_agent);
}

io::Result<io::SocketAddress> AsioFront::adopt(int descriptor,
                                               const io::SocketAddress& call_agent) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(int);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_DGRAM ||
      (domain != AF_INET && domain != AF_INET6)) {
    ::close(descriptor);
    return io::failure(EPROTOTYPE);
  }
  error_code error;
  loop_->socket.assign(domain == AF_INET6 ? asio::ip::udp::v6() : asio::ip::udp::v4(), descriptor,
                       error);
  if (error) {
    ::close(descriptor);
    return io::failure(error.value());
  }
  return loop_->set_up(call_agent);
}

io::Result<io::SocketAddress> AsioFront::listen(const io::SocketAddress& local,
                                                StreamService service) {
  auto streams = std::make_unique<AsioStreams>(loop_->context, std::move(service));
  auto bound = streams->open(local);
  if (bound) {
    loop_->streams.push_back(std::move(streams));
  }
  return bound;
}

void AsioFront::watch(int descriptor, std::function<void()> readable) {
  loop_->watched
      .emplace_back(
          std::make_unique<Loop::Watched>(loop_->context, descriptor, std::move(readable)))
      ->await();
}

int AsioFront::descriptor() const noexcept {
  return loop_->socket.native_handle();
}

void AsioFront::pump_streams() {
  for (const auto& streams : loop_->streams) {
    streams->pump_all();
  }
}

void AsioFront::close_streams() {
  loop_->streams.clear();
}

void AsioFront::stop() {
  loop_->context.stop();
}

void AsioFront::run(FrontHandlers handlers) {
  loop_->handlers = std::move(handlers);
  loop_->await_datagrams();
  loop_->await_tick();
  loop_->await_stop();
  loop_->await_reload();
  loop_->await_upgrade();
  loop_->await_heartbeat();
  loop_->context.run();
}

void AsioFront::wake() {
  if (!loop_->wake_posted.exchange(true, std::memory_order_acq_rel)) {
    asio::post(loop_->context, [this] {
      loop_->wake_posted.store(false, std::memory_order_release);
      loop_->handlers.on_wake();
    });
  }
}

void AsioFront::send(const io::SocketAddress& agent, std::string_view datagram) noexcept {
  if (::sendto(loop_->socket.native_handle(), datagram.data(), datagram.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL, agent.kernel_address(), agent.kernel_size()) < 0 &&
      errno != ECONNREFUSED) {
    io::log(io::LogLevel::info, io::LogCategory::lmgcp, "answer to {} not sent: {}", agent.text(),
            std::error_code(errno, std::generic_category()).message());
  }
}

}  // namespace mgw
