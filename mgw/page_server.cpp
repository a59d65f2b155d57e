#include "mgw/page_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mgw {

namespace {

using Clock = std::chrono::steady_clock;

/// A few Prometheus servers and people; more wait in the kernel's queue.
constexpr std::size_t kConnectionsMax = 16;
constexpr int kBacklog = 64;
/// Headers of a scrape are some hundred bytes.
constexpr std::size_t kRequestBytesMax = 8192;
/// From its acceptance to the end of its answer, a connection has this long.
constexpr auto kConnectionTime = std::chrono::seconds(10);
/// How long an answer that can't be had yet is waited for.
constexpr auto kAnswerTime = std::chrono::seconds(3);
/// How long to let the listening socket alone when a connection could not be accepted.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

class Descriptor {
 public:
  explicit Descriptor(int value = -1) noexcept : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return value_; }
  [[nodiscard]] bool is_open() const noexcept { return value_ >= 0; }
  void reset() noexcept {
    if (value_ >= 0) {
      ::close(std::exchange(value_, -1));
    }
  }

 private:
  int value_;
};

struct Client {
  Descriptor socket;
  Clock::time_point deadline;
  std::string request;
  std::string answer;
  std::size_t sent = 0;
  Clock::time_point late_at = Clock::time_point::max();  ///< max: it does not wait for an answer
};

/// What a browser may do with the pages: show them, with what comes from here and nothing else, and
/// in no frame of others. What they quote from the network can't become a script.
constexpr std::string_view kPolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

std::string answer_text(const PageAnswer& answer, bool with_body = true) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}",
      answer.status, answer.content_type, answer.body.size(), kPolicy,
      with_body ? std::string_view(answer.body) : std::string_view{});
}

PageAnswer plain_page(std::string_view status) {
  return {status, "text/plain; charset=utf-8", fmt::format("{}\n", status)};
}

std::string plain_answer(std::string_view status) {
  return answer_text(plain_page(status));
}

bool would_block() noexcept {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

std::string error_text() {
  return std::system_category().message(errno);
}

}  // namespace

class PageServer::Loop {
 public:
  Loop(Descriptor listener, Descriptor wake, Handler handler)
      : listener_(std::move(listener)), wake_(std::move(wake)), handler_(std::move(handler)) {
    keep_spare();
  }

  void wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    wake();
  }

  void run() {
    std::vector<pollfd> polled;
    while (true) {
      const auto now = Clock::now();
      const bool accepting = connections_.size() < kConnectionsMax && now >= accept_from_;
      polled.assign(
          {{wake_.get(), POLLIN, 0}, {listener_.get(), accepting ? short{POLLIN} : short{0}, 0}});
      for (const Client& connection : connections_) {
        const bool waits = connection.late_at != Clock::time_point::max();
        const short events = waits                       ? short{0}
                             : connection.answer.empty() ? short{POLLIN}
                                                         : short{POLLOUT};
        polled.push_back({connection.socket.get(), events, 0});
      }
      ::poll(polled.data(), polled.size(), timeout_ms(now));
      if (stopping_.load(std::memory_order_acquire)) {
        return;
      }
      if (polled[0].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t size = ::read(wake_.get(), &count, sizeof(count));
        retry_ = true;
      }
      serve(polled);
      if (accepting && polled[1].revents != 0) {
        accept_one();
      }
    }
  }

 private:
  /// Until something has to be looked at without an event: forever if nothing is under way.
  [[nodiscard]] int timeout_ms(Clock::time_point now) const {
    auto next = Clock::time_point::max();
    if (accept_from_ > now) {
      next = accept_from_;
    }
    for (const Client& connection : connections_) {
      next = std::min({next, connection.deadline, connection.late_at});
    }
    if (next == Clock::time_point::max()) {
      return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  void serve(const std::vector<pollfd>& polled) {
    const auto now = Clock::now();
    // The events of connection i are in polled[i + 2].
    std::size_t kept = 0;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Client& connection = connections_[i];
      const bool late = now >= connection.late_at;
      const bool waits = connection.late_at != Clock::time_point::max();
      const bool ready = polled[i + 2].revents != 0 || late || (waits && retry_);
      if (now >= connection.deadline || (ready && !advance(connection))) {
        connection.socket.reset();
        continue;
      }
      if (kept != i) {
        connections_[kept] = std::move(connection);
      }
      ++kept;
    }
    connections_.resize(kept);
    retry_ = false;
    keep_spare();
  }

  /// Reads or writes what is possible now; false when the connection is over.
  [[nodiscard]] bool advance(Client& connection) {
    if (connection.late_at != Clock::time_point::max()) {
      if (!retry_ && Clock::now() < connection.late_at) {
        return false;  // an event without a question: the client has gone
      }
      try_answer(connection);
    } else if (connection.answer.empty() && !read(connection)) {
      return false;
    }
    return connection.answer.empty() || write(connection);
  }

  [[nodiscard]] bool read(Client& connection) {
    char bytes[2048];
    const ssize_t size = ::recv(connection.socket.get(), bytes, sizeof(bytes), 0);
    if (size <= 0) {
      return size < 0 && would_block();
    }
    connection.request.append(bytes, static_cast<std::size_t>(size));
    if (connection.request.find("\r\n\r\n") != std::string::npos) {
      try_answer(connection);
    } else if (connection.request.size() > kRequestBytesMax) {
      connection.answer = plain_answer("431 Request Header Fields Too Large");
    }
    return true;
  }

  [[nodiscard]] static bool write(Client& connection) {
    while (connection.sent < connection.answer.size()) {
      const ssize_t size =
          ::send(connection.socket.get(), connection.answer.data() + connection.sent,
                 connection.answer.size() - connection.sent, MSG_NOSIGNAL);
      if (size < 0) {
        return would_block();
      }
      connection.sent += static_cast<std::size_t>(size);
    }
    return false;
  }

  void try_answer(Client& connection) const {
    const auto now = Clock::now();
    const auto text = answer(connection.request, now >= connection.late_at);
    if (text) {
      connection.answer = *text;
      connection.late_at = Clock::time_point::max();
    } else if (connection.late_at == Clock::time_point::max()) {
      connection.late_at = now + kAnswerTime;
    }
  }

  [[nodiscard]] std::optional<std::string> answer(std::string_view request, bool is_late) const {
    const std::string_view line = request.substr(0, request.find("\r\n"));
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        !line.substr(second + 1).starts_with("HTTP/1.")) {
      return plain_answer("400 Bad Request");
    }
    const std::string_view method = line.substr(0, first);
    if (method != "GET" && method != "HEAD") {
      return plain_answer("405 Method Not Allowed");
    }
    PageRequest page;
    page.path = line.substr(first + 1, second - first - 1);
    if (const std::size_t mark = page.path.find('?'); mark != std::string_view::npos) {
      page.query = page.path.substr(mark + 1);
      page.path = page.path.substr(0, mark);
    }
    page.is_late = is_late;
    try {
      const auto made = handler_(page);
      return made ? std::optional(answer_text(*made, method == "GET")) : std::nullopt;
    } catch (const std::exception&) {
      return plain_answer("500 Internal Server Error");
    }
  }

  void accept_one() {
    Descriptor socket = accepted();
    if (!socket.is_open() && (errno == EMFILE || errno == ENFILE) && spare_.is_open()) {
      spare_.reset();
      socket = accepted();
    }
    if (!socket.is_open()) {
      if (!would_block()) {
        accept_from_ = Clock::now() + kAcceptPause;
      }
      return;
    }
    Client& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    connection.deadline = Clock::now() + kConnectionTime;
  }

  [[nodiscard]] Descriptor accepted() const noexcept {
    return Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

  /// A descriptor in reserve, given up for a connection when no other is left.
  void keep_spare() noexcept {
    if (!spare_.is_open()) {
      spare_ = Descriptor(::fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0));
    }
  }

  Descriptor listener_;
  Descriptor wake_;
  Descriptor spare_;
  Handler handler_;
  std::atomic<bool> stopping_{false};
  bool retry_ = false;  // what requests wait for may be there
  std::vector<Client> connections_;
  Clock::time_point accept_from_{};
};

PageServer::PageServer(std::unique_ptr<Loop> loop)
    : loop_(std::move(loop)), thread_([this] { loop_->run(); }) {}

void PageServer::retry() noexcept {
  loop_->wake();
}

PageAnswer page_not_found() {
  return plain_page("404 Not Found");
}

PageServer::~PageServer() {
  loop_->stop();
  thread_.join();
}

tl::expected<std::unique_ptr<PageServer>, std::string> PageServer::start(
    const io::SocketAddress& address, Handler handler) {
  const int family = address.family() == io::AddressFamily::ipv6 ? AF_INET6 : AF_INET;
  Descriptor listener(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Connections of an earlier process that linger don't keep the port from this one.
  const int on = 1;
  if (!listener.is_open() ||
      ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(listener.get(), address.kernel_address(), address.kernel_size()) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return tl::unexpected(error_text());
  }
  Descriptor wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.is_open()) {
    return tl::unexpected(error_text());
  }
  auto loop = std::make_unique<Loop>(std::move(listener), std::move(wake), std::move(handler));
  return std::unique_ptr<PageServer>(new PageServer(std::move(loop)));
}

}  // namespace mgw
