// Choosing a backend on kernels and under filters and limits that refuse io_uring. Filters and
// limits can't be taken back, so each case runs in a child process, which reports through a pipe.

#include "io/backend_factory.h"

#include "io/socket_factory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>

namespace {

/// What `body` returns when run in a child process, or "died".
std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string text = body();
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string result;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
    result.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? result : "died";
}

/// From now on this process gets `error` from `system_call`.
bool refuse(int system_call, int error) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const bool loaded =
      filter != nullptr &&
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), system_call, 0) == 0 &&
      seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

io::BoundSocket bind_loopback() {
  static io::KernelSocketFactory factory;
  io::SocketOptions options;
  options.local = io::SocketAddress::parse("127.0.0.1", 0).value();
  return std::move(factory.bind_udp(options).value());
}

/// Sends `count` datagrams from each of `pairs` sockets to another one. "all arrived", or what went
/// wrong.
std::string exchange(io::Backend& backend, io::BufferPool& pool, std::size_t pairs,
                     std::size_t count) {
  std::size_t arrived = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    io::BoundSocket target = bind_loopback();
    const io::SocketAddress address = target.local();
    const auto from = backend.open(bind_loopback(), 1);
    const auto to = backend.open(std::move(target), 2);
    if (!from || !to) {
      return "open: " + (from ? to : from).error().message();
    }
    for (std::size_t number = 0; number < count; ++number) {
      io::Datagram datagram;
      datagram.buffer = pool.take();
      datagram.size = 4;
      datagram.socket = *from;
      datagram.peer = address;
      backend.send(std::move(datagram));
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (const std::size_t all = arrived + count; arrived < all;) {
      arrived += backend.pass(end).received.size();
      if (std::chrono::steady_clock::now() >= end) {
        return "lost datagrams";
      }
    }
  }
  return "all arrived";
}

/// Selects, makes and uses a backend; what came out, as text.
std::string select_and_use(io::BackendChoice wanted) {
  const auto selection = io::select_backend(wanted);
  if (!selection) {
    return "refused: " + selection.error();
  }
  io::BufferPool pool(256, 512);
  std::string error;
  const auto backend = io::make_backend(selection->choice, pool, {}, error);
  if (!backend) {
    return "not made: " + error;
  }
  return std::string(backend->name()) + ", " + exchange(*backend, pool, 8, 16) + ", " +
         selection->fallback_reason;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Gives up root and with it the right to lock memory beyond the limit.
bool become_nobody() {
  constexpr uid_t kNobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0;
}

std::string with_locked_memory(rlim_t bytes, io::BackendChoice wanted) {
  return in_child([&] {
    const rlimit limit{bytes, bytes};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
      return std::string("setrlimit failed");
    }
    if (::geteuid() == 0 && !become_nobody()) {
      return std::string("setresuid failed");
    }
    return select_and_use(wanted);
  });
}

constexpr std::array kRefusals = {EPERM, ENOSYS};
constexpr std::array kSystemCalls = {SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
                                     SCMP_SYS(io_uring_register)};

}  // namespace

TEST_CASE("poll is taken without a look at io_uring when it was asked for") {
  const std::string text = in_child([] {
    // Any attempt would end the child.
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(io_uring_setup), 0);
    seccomp_load(filter);
    return select_and_use(io::BackendChoice::poll);
  });
  CHECK(text == "poll, all arrived, ");
}

TEST_CASE(
    "automatic takes io_uring where it works and falls back with a reason where it does not") {
  const auto selection = io::select_backend(io::BackendChoice::automatic);
  REQUIRE(selection);
  CHECK((selection->choice == io::BackendChoice::io_uring) == selection->fallback_reason.empty());
  const std::string name =
      selection->choice == io::BackendChoice::io_uring ? "io_uring, " : "poll, ";
  CHECK(in_child([] { return select_and_use(io::BackendChoice::automatic); }) ==
        name + "all arrived, " + selection->fallback_reason);
}

TEST_CASE("automatic falls back to poll when a filter refuses any call of io_uring") {
  for (const int error : kRefusals) {
    for (const int system_call : kSystemCalls) {
      CAPTURE(error);
      CAPTURE(system_call);
      const std::string text = in_child([&] {
        return refuse(system_call, error) ? select_and_use(io::BackendChoice::automatic) : "";
      });
      CHECK(contains(text, "poll, all arrived, io_uring: "));
      CHECK(contains(text, "seccomp"));
    }
  }
}

TEST_CASE("io_uring that was demanded is refused with the step and the probable cause") {
  for (const int error : kRefusals) {
    const std::string text = in_child([&] {
      return refuse(SCMP_SYS(io_uring_setup), error) ? select_and_use(io::BackendChoice::io_uring)
                                                     : "";
    });
    CHECK(contains(text, "refused: io_uring: io_uring_setup"));
    CHECK(contains(text, "seccomp"));
  }
}

TEST_CASE("making io_uring under a filter gives no backend but the reason") {
  const std::string text = in_child([] {
    if (!refuse(SCMP_SYS(io_uring_setup), EPERM)) {
      return std::string();
    }
    io::BufferPool pool(16, 512);
    std::string error;
    const auto backend = io::make_backend(io::BackendChoice::io_uring, pool, {}, error);
    return backend ? std::string("made") : error;
  });
  CHECK(contains(text, "io_uring_setup"));
}

TEST_CASE("with little lockable memory a backend works or is refused at once, never in mid-call") {
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{64} * 1024, rlim_t{8} * 1024 * 1024}) {
    CAPTURE(bytes);
    const std::string automatic = with_locked_memory(bytes, io::BackendChoice::automatic);
    CAPTURE(automatic);
    const bool works = contains(automatic, "io_uring, all arrived, ");
    const bool falls_back = contains(automatic, "poll, all arrived, io_uring: ");
    CHECK(works != falls_back);
    const std::string demanded = with_locked_memory(bytes, io::BackendChoice::io_uring);
    CAPTURE(demanded);
    CHECK(contains(demanded, "refused: ") == falls_back);
    CHECK(contains(demanded, "RLIMIT_MEMLOCK") == falls_back);
  }
}

TEST_CASE("automatic is a choice to be made, not a backend") {
  io::BufferPool pool(16, 512);
  std::string error;
  CHECK(io::make_backend(io::BackendChoice::automatic, pool, {}, error) == nullptr);
  CHECK_FALSE(error.empty());
}
