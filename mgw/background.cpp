#include "mgw/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mgw {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

/// The first process: a byte says that the gateway is up, the end of the pipe that it ended.
[[noreturn]] void await_gateway(int pipe, pid_t gateway) noexcept {
  char byte = 0;
  ssize_t size = 0;
  do {
    size = ::read(pipe, &byte, 1);
  } while (size < 0 && errno == EINTR);
  if (size == 1) {
    ::_exit(EXIT_SUCCESS);
  }
  int status = 0;
  while (::waitpid(gateway, &status, 0) < 0 && errno == EINTR) {}
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

}  // namespace

Background::Background() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail("pipe");
  }
  const pid_t process = ::fork();
  if (process < 0) {
    fail("fork");
  }
  if (process > 0) {
    ::close(ends[1]);
    await_gateway(ends[0], process);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
  ::setsid();
}

Background::~Background() {
  if (pipe_ >= 0) {
    ::close(pipe_);
  }
}

void Background::ready() noexcept {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(null, standard);
    }
    ::close(null);
  }
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(pipe_, &byte, 1);
  ::close(std::exchange(pipe_, -1));
}

}  // namespace mgw
