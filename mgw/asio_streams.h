#pragma once
// TCP servers on the control thread's event loop. Part of the wrapper of Boost.Asio, see
// mgw/asio_front.h.

#include "io/log.h"
#include "io/result.h"
#include "io/socket_address.h"
#include "mgw/stream_session.h"
#include "mgw/token_bucket.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace mgw {

/// One listening socket with its connections. Control thread only.
class AsioStreams {
 public:
  AsioStreams(boost::asio::io_context& context, StreamService service);
  AsioStreams(const AsioStreams&) = delete;
  AsioStreams& operator=(const AsioStreams&) = delete;
  AsioStreams(AsioStreams&&) = delete;
  AsioStreams& operator=(AsioStreams&&) = delete;
  ~AsioStreams();

  /// Binds and listens; the address that it got, or why not.
  [[nodiscard]] io::Result<io::SocketAddress> open(const io::SocketAddress& local);
  /// Sends what sessions have to say of their own accord.
  void pump_all();

 private:
  struct Connection;
  using Connections = std::list<std::shared_ptr<Connection>>;

  void await_connection();
  /// Leaves the listening socket alone for a moment.
  void pause();
  /// Ends the session that is missed least.
  void make_room();
  void take(boost::asio::ip::tcp::socket socket);
  void pump(Connection& connection);
  void write(Connection& connection);
  void read(Connection& connection);
  void remove(Connection& connection);

  StreamService service_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  TokenBucket accepted_;
  io::LogLimiter log_limiter_;
  Connections connections_;  // the one that was silent for longest comes first
};

}  // namespace mgw
