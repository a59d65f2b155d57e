#pragma once
// As much of HTTP/1.1 (RFC 9112) as fetching metrics takes.

#include "io/socket_address.h"
#include "io/time.h"

#include <tl/expected.hpp>

#include <string>
#include <string_view>

namespace mgwctl {

/// Where metrics are.
struct MetricsAddress {
  io::SocketAddress server;
  std::string path = "/metrics";
};

/// Reads "HOST:PORT", "http://HOST:PORT" or "http://HOST:PORT/PATH"; HOST is numeric or
/// "localhost".
[[nodiscard]] tl::expected<MetricsAddress, std::string> parse_metrics_address(
    std::string_view text);

/// The body of a complete HTTP response; text of the error if it is not status 200 or unreadable.
[[nodiscard]] tl::expected<std::string, std::string> parse_http_response(std::string_view response);

/// Fetches `address`. Blocks until `timeout`. Text of the error otherwise. Responses end at 8 MiB.
[[nodiscard]] tl::expected<std::string, std::string> http_get(const MetricsAddress& address,
                                                              io::Duration timeout);

}  // namespace mgwctl
