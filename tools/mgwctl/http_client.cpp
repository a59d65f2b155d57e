#include "tools/mgwctl/http_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace mgwctl {
namespace {

constexpr std::size_t kResponseBytesMax = 8U * 1024 * 1024;
constexpr std::string_view kLineEnd = "\r\n";

std::string error_text(const io::SocketAddress& server, int error) {
  return fmt::format("{}: {}", server.text(), std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

// False at the deadline.
bool wait_for(int descriptor, short events, io::TimePoint deadline) {
  const io::Duration left = std::max(deadline - io::MonotonicClock().now(), io::Duration::zero());
  const timespec timeout{static_cast<std::time_t>(left.count() / 1'000'000'000),
                         static_cast<long>(left.count() % 1'000'000'000)};
  pollfd wanted{descriptor, events, 0};
  return ::ppoll(&wanted, 1, &timeout, nullptr) == 1;
}

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
  const io::SocketAddress& server = address.server;
  const Descriptor socket(
      ::socket(server.kernel_address()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) {
    return tl::unexpected(error_text(server, errno));
  }
  if (::connect(socket.get(), server.kernel_address(), server.kernel_size()) != 0 &&
      errno != EINPROGRESS) {
    return tl::unexpected(error_text(server, errno));
  }
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (wait_for(socket.get(), POLLOUT, deadline)) {
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    return tl::unexpected(error_text(server, error));
  }
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
                  address.path, server.text());
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return tl::unexpected(error_text(server, errno));
  }
  std::string response;
  std::array<char, 65536> part{};
  while (response.size() < kResponseBytesMax) {
    if (!wait_for(socket.get(), POLLIN, deadline)) {
      return tl::unexpected(error_text(server, ETIMEDOUT));
    }
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) {
      break;
    }
    response.append(part.data(), static_cast<std::size_t>(got));
  }
  return parse_http_response(response);
}

}  // namespace mgwctl
