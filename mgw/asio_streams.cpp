#include "mgw/asio_streams.h"

#include "io/log.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mgw {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Connections that wait in the kernel to be accepted.
constexpr int kBacklog = 64;
/// How long to let the listening socket alone when a connection could not be accepted: descriptors
/// have run out, and the connection is still there.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
/// Connections are accepted at this pace, and so many at once: a flood of them must neither keep
/// the control thread busy nor push the sessions of others out.
constexpr io::Duration kAcceptInterval = std::chrono::milliseconds(20);
constexpr io::Duration kAcceptBurst = 64 * kAcceptInterval;

io::SocketAddress address_of(const tcp::endpoint& endpoint) {
  return io::SocketAddress::from_kernel(endpoint.data(), static_cast<socklen_t>(endpoint.size()));
}

}  // namespace

/// Removing a connection ends its session and closes its socket. A write that is under way keeps
/// the connection itself until then, as Asio sends in several steps and uses the socket in each.
struct AsioStreams::Connection : std::enable_shared_from_this<AsioStreams::Connection> {
  Connection(tcp::socket accepted, std::unique_ptr<StreamSession> made)
      : socket(std::move(accepted)), session(std::move(made)) {}

  /// No session, no more handlers that do anything.
  void end() noexcept {
    session.reset();
    error_code ignored;
    socket.close(ignored);
  }

  tcp::socket socket;
  std::unique_ptr<StreamSession> session;  // none: the connection was removed
  std::array<char, kStreamReadBytesMax> received{};
  std::string sending;
  bool reading = false;
  bool writing = false;
  bool spoke = false;  // its peer has sent something
};

AsioStreams::AsioStreams(asio::io_context& context, StreamService service)
    : service_(std::move(service)), acceptor_(context), pause_(context) {}

AsioStreams::~AsioStreams() {
  for (const auto& connection : connections_) {
    connection->end();
  }
}

io::Result<io::SocketAddress> AsioStreams::open(const io::SocketAddress& local) {
  const auto protocol = local.family() == io::AddressFamily::ipv6 ? tcp::v6() : tcp::v4();
  error_code error;
  tcp::endpoint endpoint;
  endpoint.resize(local.kernel_size());
  std::copy_n(static_cast<const char*>(static_cast<const void*>(local.kernel_address())),
              local.kernel_size(), static_cast<char*>(static_cast<void*>(endpoint.data())));
  acceptor_.open(protocol, error);
  if (!error) {
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor_.bind(endpoint, error);
  }
  if (!error) {
    acceptor_.listen(kBacklog, error);
  }
  const tcp::endpoint bound = error ? tcp::endpoint() : acceptor_.local_endpoint(error);
  if (error) {
    return io::failure(error.value());
  }
  await_connection();
  return address_of(bound);
}

void AsioStreams::await_connection() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) {
      return;
    }
    if (error) {
      pause();
      return;
    }
    take(std::move(socket));
    if (accepted_.take(io::MonotonicClock().now(), kAcceptInterval, kAcceptBurst)) {
      await_connection();
    } else {
      pause();
    }
  });
}

void AsioStreams::pause() {
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([this](const error_code& stopped) {
    if (!stopped) {
      await_connection();
    }
  });
}

void AsioStreams::make_room() {
  // Somebody who works is not thrown out by those who only connect.
  const auto silent =
      std::ranges::find_if(connections_, [](const auto& held) { return !held->spoke; });
  remove(silent == connections_.end() ? *connections_.front() : **silent);
}

void AsioStreams::take(tcp::socket socket) {
  error_code error;
  const io::SocketAddress peer = address_of(socket.remote_endpoint(error));
  if (error) {
    return;  // gone already
  }
  if (connections_.size() >= service_.sessions_max) {
    const io::TimePoint now = io::MonotonicClock().now();
    if (log_limiter_.allow(now)) {
      io::log(io::LogLevel::notice, io::LogCategory::lglobal, {{"more", log_limiter_.suppressed()}},
              "{} sessions of {} are the most: the one that was silent for longest ends",
              service_.sessions_max, service_.name);
    }
    make_room();
  }
  // Answers are single small segments, which must not wait for acknowledgements of earlier ones.
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(asio::socket_base::keep_alive(true), error);
  auto session = service_.make(peer);
  auto& connection = *connections_.emplace_back(
      std::make_shared<Connection>(std::move(socket), std::move(session)));
  pump(connection);
}

void AsioStreams::pump_all() {
  for (auto next = connections_.begin(); next != connections_.end();) {
    Connection& connection = **next++;  // pumping may remove it
    pump(connection);
  }
}

void AsioStreams::pump(Connection& connection) {
  if (!connection.writing) {
    connection.sending = connection.session->take_output();
    if (!connection.sending.empty()) {
      write(connection);
    } else if (connection.session->is_over()) {
      remove(connection);
      return;
    }
  }
  if (!connection.reading && connection.session->wants_input()) {
    read(connection);
  }
}

void AsioStreams::write(Connection& connection) {
  connection.writing = true;
  asio::async_write(
      connection.socket, asio::buffer(connection.sending),
      [this, alive = connection.shared_from_this()](const error_code& error, std::size_t) {
        if (alive->session == nullptr) {
          return;
        }
        alive->writing = false;
        if (error) {
          remove(*alive);
          return;
        }
        alive->session->on_sent();
        pump(*alive);
      });
}

void AsioStreams::read(Connection& connection) {
  connection.reading = true;
  connection.socket.async_read_some(
      asio::buffer(connection.received),
      [this, weak = connection.weak_from_this()](const error_code& error, std::size_t size) {
        const auto alive = weak.lock();
        if (alive == nullptr || alive->session == nullptr) {
          return;
        }
        alive->reading = false;
        if (error) {
          remove(*alive);
          return;
        }
        alive->spoke = true;
        const auto place = std::ranges::find(connections_, alive);
        connections_.splice(connections_.end(), connections_, place);
        alive->session->receive({alive->received.data(), size});
        pump(*alive);
      });
}

void AsioStreams::remove(Connection& connection) {
  connection.end();
  connections_.remove_if([&](const auto& held) { return held.get() == &connection; });
}

}  // namespace mgw
