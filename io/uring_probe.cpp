#include "io/uring_probe.h"

#include "io/socket_factory.h"
#include "io/uring_backend.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <span>

namespace io {

namespace {

constexpr std::uint32_t kProbeSlots = 16;
constexpr std::uint32_t kProbeSlotBytes = 256;
constexpr std::size_t kProbeBytes = 8;
/// Loopback answers within microseconds; a machine that is this slow had better use poll.
constexpr Duration kProbeTimeMax = std::chrono::seconds(1);

/// /proc/sys/kernel/io_uring_disabled: 0 allows all, 1 only a group and CAP_SYS_ADMIN, 2 nobody; -1
/// unknown.
int disabled_by_setting() {
  int value = -1;
  std::ifstream file("/proc/sys/kernel/io_uring_disabled");
  file >> value;
  return file ? value : -1;
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "unknown";
}

std::string locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "unlimited";
  }
  return fmt::format("{} KiB", limit.rlim_cur / 1024);
}

std::string probable_cause(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      if (const int setting = disabled_by_setting(); setting > 0) {
        return fmt::format("the setting kernel.io_uring_disabled is {}", setting);
      }
      return "a seccomp filter (of a container or service manager) or a security module forbids it";
    case ENOSYS:
      return "the kernel has no io_uring, or a seccomp filter hides it";
    case ENOMEM:
      return fmt::format("the limit on locked memory (RLIMIT_MEMLOCK, ulimit -l) is {}",
                         locked_memory_limit());
    case EINVAL:
    case EOPNOTSUPP:
      return fmt::format("Linux 6.1 or later is needed, this is {}", kernel_release());
    case EMFILE:
    case ENFILE:
      return "the limit on open files is reached";
    default:
      return "unexpected";
  }
}

/// A socket pair over one backend.
class Probe {
 public:
  Probe()
      : pool_(kProbeSlots, kProbeSlotBytes),
        backend_(pool_, {.sockets_max = 2}),
        end_(std::chrono::steady_clock::now() + kProbeTimeMax),
        loopback_(SocketAddress::parse("127.0.0.1", 0).value()) {}

  /// Empty, or the step that failed.
  [[nodiscard]] std::string run() {
    SocketAddress target;
    const SocketId from = open_socket(target);
    const SocketId to = open_socket(target);
    if (to == SocketId{}) {
      return "no loopback sockets";
    }
    send(from, target);
    if (!receive(to)) {
      return "a datagram sent over loopback did not arrive";
    }
    backend_.close(from);
    backend_.close(to);
    while (backend_.sockets() > 0 && std::chrono::steady_clock::now() < end_) {
      static_cast<void>(backend_.pass(end_));
    }
    return backend_.sockets() > 0 ? "a receive could not be cancelled" : "";
  }

 private:
  [[nodiscard]] SocketId open_socket(SocketAddress& local) {
    SocketOptions options;
    options.local = loopback_;
    auto socket = factory_.bind_udp(options);
    if (!socket) {
      return {};
    }
    local = socket->local();
    return backend_.open(std::move(*socket), 0).value_or(SocketId{});
  }

  void send(SocketId from, const SocketAddress& target) {
    Datagram datagram;
    datagram.buffer = pool_.take();
    datagram.size = kProbeBytes;
    datagram.socket = from;
    datagram.peer = target;
    std::ranges::fill(datagram.bytes(), std::byte{0x5a});
    backend_.send(std::move(datagram));
  }

  [[nodiscard]] bool receive(SocketId to) {
    do {
      for (const Datagram& datagram : backend_.pass(end_).received) {
        const auto bytes = datagram.bytes();
        if (datagram.socket == to && bytes.size() == kProbeBytes &&
            std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0x5a}; })) {
          return true;
        }
      }
    } while (std::chrono::steady_clock::now() < end_);
    return false;
  }

  BufferPool pool_;
  KernelSocketFactory factory_{0};
  UringBackend backend_;
  TimePoint end_;
  SocketAddress loopback_;
};

}  // namespace

std::string explain_uring_refusal(const std::system_error& refused) {
  return fmt::format("io_uring: {} ({})", refused.what(), probable_cause(refused.code().value()));
}

std::string probe_uring() noexcept {
  try {
    const std::string failed = Probe().run();
    return failed.empty() ? failed : "io_uring: " + failed;
  } catch (const std::system_error& refused) {
    return explain_uring_refusal(refused);
  } catch (const std::exception& error) {
    return fmt::format("io_uring: {}", error.what());
  }
}

}  // namespace io
