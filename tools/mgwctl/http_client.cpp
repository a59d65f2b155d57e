#include "tools/mgwctl/http_client.h"

#include "tools/mgwctl/tcp_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace mgwctl {
namespace {

constexpr std::size_t kResponseBytesMax = 8U * 1024 * 1024;
constexpr std::string_view kLineEnd = "\r\n";

bool contains_ignoring_case(std::string_view text, std::string_view lower_case) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), lower_case.begin(), lower_case.end(), same) !=
         text.end();
}

// Joins the chunks of a chunked body (RFC 9112 section 7.1).
tl::expected<std::string, std::string> join_chunks(std::string_view body) {
  std::string joined;
  while (true) {
    std::size_t size = 0;
    const auto number = std::from_chars(body.data(), body.data() + body.size(), size, 16);
    const std::size_t line_end = body.find(kLineEnd);
    if (number.ec != std::errc() || line_end == std::string_view::npos) {
      return tl::unexpected(std::string("HTTP: a chunk without a size"));
    }
    body.remove_prefix(line_end + kLineEnd.size());
    if (size == 0) {
      return joined;
    }
    if (size > body.size()) {
      return tl::unexpected(std::string("HTTP: the body is cut off"));
    }
    joined += body.substr(0, size);
    body.remove_prefix(std::min(body.size(), size + kLineEnd.size()));
  }
}

}  // namespace

tl::expected<MetricsAddress, std::string> parse_metrics_address(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  MetricsAddress address;
  std::string_view rest = text.substr(text.rfind(kScheme, 0) == 0 ? kScheme.size() : 0);
  const std::size_t path = rest.find('/');
  if (path != std::string_view::npos) {
    address.path = rest.substr(path);
    rest = rest.substr(0, path);
  }
  constexpr std::string_view kLocalhost = "localhost:";
  const std::string host_and_port =
      rest.rfind(kLocalhost, 0) == 0 ? fmt::format("127.0.0.1:{}", rest.substr(kLocalhost.size()))
                                     : std::string(rest);
  const auto server = io::SocketAddress::parse_with_port(host_and_port);
  if (!server) {
    return tl::unexpected(fmt::format("'{}': not http://HOST:PORT/PATH with a numeric host", text));
  }
  address.server = *server;
  return address;
}

tl::expected<std::string, std::string> parse_http_response(std::string_view response) {
  const std::size_t header_end = response.find("\r\n\r\n");
  if (response.rfind("HTTP/1.", 0) != 0 || header_end == std::string_view::npos) {
    return tl::unexpected(std::string("not an HTTP response"));
  }
  const std::string_view header = response.substr(0, header_end);
  const std::string_view status_line = header.substr(0, header.find(kLineEnd));
  if (status_line.find(" 200") == std::string_view::npos) {
    return tl::unexpected(fmt::format("HTTP: {}", status_line));
  }
  const std::string_view body = response.substr(header_end + 4);
  if (contains_ignoring_case(header, "transfer-encoding: chunked")) {
    return join_chunks(body);
  }
  return std::string(body);
}

tl::expected<std::string, std::string> http_get(const MetricsAddress& address,
                                                io::Duration timeout) {
  const io::TimePoint deadline = io::MonotonicClock().now() + timeout;
  auto stream = TcpStream::connect(address.server, deadline);
  if (!stream) {
    return tl::unexpected(stream.error());
  }
  const auto sent = stream->send(
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
                  address.path, address.server.text()));
  if (!sent) {
    return tl::unexpected(sent.error());
  }
  std::string response;
  while (response.size() < kResponseBytesMax) {
    const auto part = stream->receive(deadline);
    if (!part) {
      return tl::unexpected(part.error());
    }
    if (part->empty()) {
      break;
    }
    response += *part;
  }
  return parse_http_response(response);
}

}  // namespace mgwctl
