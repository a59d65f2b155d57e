#pragma once
// An HTTP/1.1 server (RFC 9112) for a few pages that are made anew for each request: what scrapes
// and people who look need, and no more. It listens on IPv4 and IPv6, answers when descriptors have
// run out, and ends at once.

#include "io/socket_address.h"

#include <tl/expected.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace mgw {

/// What is asked for, as it was written: percent-encoded. Views that are valid during the call.
struct PageRequest {
  std::string_view path;   ///< such as "/metrics"
  std::string_view query;  ///< what stands behind "?"
  bool is_late = false;    ///< it has waited for as long as it may: answer it now
};

/// An answer.
struct PageAnswer {
  std::string_view status = "200 OK";  ///< a literal
  std::string_view content_type;       ///< value of the Content-Type header; a literal
  std::string body;
};

/// Serves GET and HEAD on a thread of its own, from its construction to its destruction. One
/// request per connection. Bounded in connections, request size and time.
class PageServer {
 public:
  /// Makes the answer to a request, on the server's thread; nothing: it can't be had yet, and is
  /// asked for again after retry(), with `is_late` after some seconds.
  using Handler = std::function<std::optional<PageAnswer>(const PageRequest&)>;

  /// The reason instead if the address can't be bound.
  [[nodiscard]] static tl::expected<std::unique_ptr<PageServer>, std::string> start(
      const io::SocketAddress& address, Handler handler);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  PageServer(PageServer&&) = delete;
  PageServer& operator=(PageServer&&) = delete;
  /// Waits for the thread, which waits for nothing but a page that is being made.
  ~PageServer();

  /// What requests wait for may be there. Any thread.
  void retry() noexcept;

 private:
  class Loop;
  explicit PageServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

/// The answer that says that there is no such page.
[[nodiscard]] PageAnswer page_not_found();

}  // namespace mgw
