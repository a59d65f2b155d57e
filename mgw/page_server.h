#pragma once
// An HTTP/1.1 server (RFC 9112) for one page that is made anew for each request: what a scrape
// needs and no more. It listens on IPv4 and IPv6, answers when descriptors have run out, and ends
// at once.

#include "io/socket_address.h"

#include <tl/expected.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace mgw {

/// Serves GET and HEAD of one path on a thread of its own, from its construction to its
/// destruction. One request per connection. Bounded in connections, request size and time.
class PageServer {
 public:
  /// What is served. The body is made on the server's thread, for each request.
  struct Page {
    std::string path;          ///< such as "/metrics"
    std::string content_type;  ///< value of the Content-Type header
    std::function<std::string()> body;
  };

  /// The reason instead if the address can't be bound.
  [[nodiscard]] static tl::expected<std::unique_ptr<PageServer>, std::string> start(
      const io::SocketAddress& address, Page page);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  PageServer(PageServer&&) = delete;
  PageServer& operator=(PageServer&&) = delete;
  /// Waits for the thread, which waits for nothing but a page that is being made.
  ~PageServer();

 private:
  class Loop;
  explicit PageServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace mgw
