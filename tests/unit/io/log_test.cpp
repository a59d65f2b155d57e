// Log targets: who gets which lines, and that nobody who logs is held up or harmed by them.
#include "io/log.h"

#include "io/log_targets.h"
#include "io/socket_address.h"
#include "io/socket_factory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using io::LogCategory;
using io::LogLevel;
using io::LogTarget;
using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 60s;

/// A directory of its own; logging is as at the start again at the end of the test.
class LogDirectory {
 public:
  LogDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "mgw-log-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  /// Lines from `level` on go to file().
  explicit LogDirectory(LogLevel level) : LogDirectory() {
    io::start_logging({level, true, file(), false});
  }
  LogDirectory(const LogDirectory&) = delete;
  LogDirectory& operator=(const LogDirectory&) = delete;
  LogDirectory(LogDirectory&&) = delete;
  LogDirectory& operator=(LogDirectory&&) = delete;
  ~LogDirectory() {
    io::start_logging({});
    std::filesystem::remove_all(path_);
  }
  [[nodiscard]] std::string file(const char* name = "mgw.log") const { return path_ / name; }
  /// What is in a file when all that was logged is written.
  [[nodiscard]] static std::vector<std::string> lines(const std::string& name) {
    CHECK(io::flush_log(kPatience));
    std::ifstream input(name);
    std::vector<std::string> result;
    for (std::string line; std::getline(input, line);) {
      result.push_back(line);
    }
    return result;
  }

 private:
  std::filesystem::path path_;
};

/// A target with bare messages.
LogTarget target_of(LogTarget::Kind kind, std::string destination = {},
                    LogLevel level = LogLevel::notice) {
  LogTarget target;
  target.kind = kind;
  target.destination = std::move(destination);
  target.filter.set_all(level);
  target.style.category_hex = false;
  target.style.file = io::LogStyle::File::off;
  return target;
}
LogTarget file_target(std::string path, LogLevel level = LogLevel::notice) {
  return target_of(LogTarget::Kind::file, std::move(path), level);
}

void set_targets(const std::vector<LogTarget>& targets) {
  const auto set = io::set_log_targets(targets);
  REQUIRE_MESSAGE(set.has_value(), set.error());
}

/// Standard error is a pipe that nobody reads until drain() does.
class StandardErrorPipe {
 public:
  StandardErrorPipe() {
    REQUIRE(::pipe2(pipe_.data(), O_CLOEXEC) == 0);
    saved_ = ::dup(STDERR_FILENO);
    REQUIRE(::dup2(pipe_[1], STDERR_FILENO) == STDERR_FILENO);
  }
  StandardErrorPipe(const StandardErrorPipe&) = delete;
  StandardErrorPipe& operator=(const StandardErrorPipe&) = delete;
  StandardErrorPipe(StandardErrorPipe&&) = delete;
  StandardErrorPipe& operator=(StandardErrorPipe&&) = delete;
  ~StandardErrorPipe() {
    io::start_logging({});
    io::flush_log(kPatience);
    ::dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {pipe_[0], pipe_[1], saved_}) {
      ::close(descriptor);
    }
  }
  /// All that is in it.
  std::string drain() {
    std::string result;
    std::array<char, 65536> buffer{};
    pollfd readable{pipe_[0], POLLIN, 0};
    while (::poll(&readable, 1, 0) == 1) {
      const ssize_t size = ::read(pipe_[0], buffer.data(), buffer.size());
      REQUIRE(size > 0);
      result.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return result;
  }

 private:
  std::array<int, 2> pipe_{};
  int saved_ = -1;
};

/// Digits become 0 and a minus sign of the time zone a plus.
std::string shape(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      text[i] = '0';
    } else if (i > 20 && text[i] == '-') {
      text[i] = '+';
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the simple form: time, level, category, message, fields, without colour in a file") {
  const LogDirectory directory(LogLevel::notice);
  io::log(LogLevel::notice, LogCategory::lmgcp, {{"endpoint", "rtpbridge/1@mgw"}, {"trans", 7}},
          "created {}", "it");
  io::log(LogLevel::error, LogCategory::rtp, "out of ports");
  const auto lines = LogDirectory::lines(directory.file());
  REQUIRE(lines.size() == 2);
  const std::size_t time_size = std::string("2026-01-31T12:00:00.000+00:00").size();
  for (const auto& line : lines) {
    CHECK(shape(line.substr(0, time_size)) == "0000-00-00T00:00:00.000+00:00");
  }
  CHECK(lines[0].substr(time_size) == " notice lmgcp created it endpoint=rtpbridge/1@mgw trans=7");
  CHECK(lines[1].substr(time_size) == " error rtp out of ports");
}

TEST_CASE("a line names the place that wrote it") {
  const LogDirectory directory;
  LogTarget target = file_target(directory.file());
  target.style.file = io::LogStyle::File::path;
  set_targets({target});
  const int line = __LINE__ + 1;
  io::log(LogLevel::notice, LogCategory::rtp, "m");
  const auto lines = LogDirectory::lines(directory.file());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "tests/unit/io/log_test.cpp:" + std::to_string(line) + " m");
}

TEST_CASE("lines that no target wants are neither written nor formatted") {
  const LogDirectory directory(LogLevel::warning);
  CHECK_FALSE(io::log_enabled(LogLevel::notice, LogCategory::rtp));
  CHECK(io::log_enabled(LogLevel::warning, LogCategory::rtp));
  io::log(LogLevel::debug, LogCategory::rtp, "unseen");
  io::log(LogLevel::notice, LogCategory::rtp, "unseen");
  io::log(LogLevel::warning, LogCategory::rtp, "seen");
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
}

TEST_CASE("each target has its own level for each category") {
  const LogDirectory directory;
  LogTarget calls = file_target(directory.file("calls"), LogLevel::error);
  calls.filter.set(LogCategory::lmgcp, LogLevel::info);
  LogTarget forced = file_target(directory.file("forced"), LogLevel::debug);
  forced.filter.force_all = LogLevel::warning;
  LogTarget silent = file_target(directory.file("silent"), LogLevel::debug);
  silent.filter.all = false;
  set_targets({calls, forced, silent});
  CHECK(io::log_enabled(LogLevel::info, LogCategory::lmgcp));
  CHECK_FALSE(io::log_enabled(LogLevel::debug, LogCategory::lmgcp));
  CHECK(io::log_enabled(LogLevel::warning, LogCategory::rtp));
  CHECK_FALSE(io::log_enabled(LogLevel::notice, LogCategory::rtp));
  io::log(LogLevel::info, LogCategory::lmgcp, "a");
  io::log(LogLevel::warning, LogCategory::rtp, "b");
  io::log(LogLevel::error, LogCategory::rtp, "c");
  using Lines = std::vector<std::string>;
  CHECK(LogDirectory::lines(directory.file("calls")) == Lines{"a", "c"});
  CHECK(LogDirectory::lines(directory.file("forced")) == Lines{"b", "c"});
  CHECK(LogDirectory::lines(directory.file("silent")).empty());
  set_targets({});
  CHECK_FALSE(io::log_enabled(LogLevel::fatal, LogCategory::rtp));
}

TEST_CASE("targets that can't be had are refused and logging goes on as before") {
  const LogDirectory directory(LogLevel::debug);
  CHECK_THROWS_AS(io::start_logging({LogLevel::debug, false, "/proc/no/such.log", false}),
                  std::runtime_error);
  using Kind = LogTarget::Kind;
  const auto refusal = [](const LogTarget& target) {
    return io::set_log_targets({target_of(Kind::standard_error), target}).error();
  };
  CHECK(refusal(file_target("/proc/no/such.log")) ==
        "log file /proc/no/such.log: No such file or directory");
  CHECK(refusal(target_of(Kind::syslog, "local8")) == "log target syslog: no facility 'local8'");
  CHECK(refusal(target_of(Kind::gsmtap, "localhost")) ==
        "log target gsmtap: 'localhost' is no numeric address");
  CHECK(io::set_log_targets(std::vector<LogTarget>(17)).error() == "more than 16 log targets");
  io::log(LogLevel::info, LogCategory::rtp, "line");
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
  CHECK(io::log_targets().size() == 1);
}

TEST_CASE("a target that stays is not opened anew by a change") {
  const LogDirectory directory;
  set_targets({file_target(directory.file())});
  std::filesystem::rename(directory.file(), directory.file("renamed"));
  set_targets({file_target(directory.file(), LogLevel::debug), file_target(directory.file("b"))});
  io::log(LogLevel::debug, LogCategory::rtp, "line");
  CHECK(LogDirectory::lines(directory.file("renamed")).size() == 1);
  CHECK_FALSE(std::filesystem::exists(directory.file()));
}

TEST_CASE("after rotation lines go to a new file of the same name") {
  const LogDirectory directory(LogLevel::debug);
  io::log(LogLevel::info, LogCategory::rtp, "old");
  std::filesystem::rename(directory.file(), directory.file("1"));
  io::log(LogLevel::info, LogCategory::rtp, "still old");
  CHECK(io::flush_log(kPatience));
  io::reopen_log();
  CHECK(LogDirectory::lines(directory.file()).empty());
  CHECK(std::filesystem::exists(directory.file()));  // without waiting for a line
  io::log(LogLevel::info, LogCategory::rtp, "new");
  CHECK(LogDirectory::lines(directory.file("1")).size() == 2);
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
}

TEST_CASE("a full disk costs lines, which are counted and told of; other targets get all") {
  const LogDirectory directory;
  std::filesystem::create_symlink("/dev/full", directory.file("full"));
  set_targets({file_target(directory.file("full")), file_target(directory.file())});
  const std::uint64_t before = io::lost_log_lines();
  for (int line = 0; line < 3; ++line) {
    io::log(LogLevel::notice, LogCategory::rtp, "line");
  }
  CHECK(LogDirectory::lines(directory.file()).size() == 3);
  CHECK(io::lost_log_lines() == before + 3);
  std::filesystem::remove(directory.file("full"));
  io::reopen_log();
  io::log(LogLevel::notice, LogCategory::rtp, "there is room again");
  CHECK(LogDirectory::lines(directory.file("full")) ==
        std::vector<std::string>{"there is room again", "3 log lines were lost"});
}

TEST_CASE("a pipe that nobody reads holds up neither who logs nor other targets") {
  const LogDirectory directory;
  StandardErrorPipe pipe;
  set_targets({target_of(LogTarget::Kind::standard_error), file_target(directory.file())});
  const std::uint64_t before = io::lost_log_lines();
  constexpr std::size_t kLines = 200;  // of 1 KiB; the pipe takes 64 KiB
  for (std::size_t line = 0; line < kLines; ++line) {
    io::log(LogLevel::notice, LogCategory::rtp, "{}", std::string(1023, 'x'));
  }
  CHECK(LogDirectory::lines(directory.file()).size() == kLines);
  const std::uint64_t lost = io::lost_log_lines() - before;
  CHECK(lost > 100);
  CHECK(pipe.drain().size() == (kLines - lost) * 1024);
  io::log(LogLevel::notice, LogCategory::rtp, "read again");
  CHECK(io::flush_log(kPatience));
  CHECK(pipe.drain() == fmt::format("read again\n{} log lines were lost\n", lost));
}

TEST_CASE("the alarms ring keeps the last lines from error on") {
  const LogDirectory directory;
  LogTarget alarms = target_of(LogTarget::Kind::alarms, {}, LogLevel::debug);
  alarms.alarms = 2;
  set_targets({alarms});
  CHECK_FALSE(io::log_enabled(LogLevel::warning, LogCategory::rtp));
  for (const char* const message : {"a", "b", "c"}) {
    io::log(LogLevel::error, LogCategory::osmux, {{"conn", "1F"}}, "{}", message);
  }
  const auto kept = io::log_alarms();
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].text == "b conn=1F");
  CHECK(kept[1].text == "c conn=1F");
  CHECK(kept[1].level == LogLevel::error);
  CHECK(kept[1].category == LogCategory::osmux);
  alarms.alarms = 3;
  set_targets({alarms, file_target(directory.file())});
  CHECK(io::log_alarms().size() == 2);
  set_targets({});
  CHECK(io::log_alarms().empty());
}

TEST_CASE("a VTY session gets its lines, is woken once, and loses the oldest if it takes none") {
  const LogDirectory directory;
  set_targets({});
  int wakes = 0;
  const LogTarget form = target_of(LogTarget::Kind::standard_error, {}, LogLevel::debug);
  {
    io::LogSession session(form.filter, form.style, [&wakes] { ++wakes; });
    CHECK(io::log_enabled(LogLevel::debug, LogCategory::rtp));
    io::log(LogLevel::debug, LogCategory::rtp, "a");
    io::log(LogLevel::debug, LogCategory::rtp, "b");
    CHECK(wakes == 1);
    CHECK(session.take() == std::vector<std::string>{"a", "b"});
    CHECK(session.take().empty());
    for (std::size_t line = 0; line < io::LogSession::kBacklogMax + 3; ++line) {
      io::log(LogLevel::debug, LogCategory::rtp, "{}", line);
    }
    CHECK(wakes == 2);
    const auto lines = session.take();
    REQUIRE(lines.size() == io::LogSession::kBacklogMax + 1);
    CHECK(lines[0] == "3 log lines were lost");
    CHECK(lines[1] == "3");
    io::LogFilter none = session.filter();
    none.all = false;
    session.change(none, session.style());
    CHECK_FALSE(io::log_enabled(LogLevel::fatal, LogCategory::rtp));
    session.change(form.filter, form.style);
  }
  CHECK_FALSE(io::log_enabled(LogLevel::fatal, LogCategory::rtp));
}

TEST_CASE("a gsmtap target sends a datagram for each line") {
  const LogDirectory directory;
  const auto address = io::SocketAddress::parse("127.0.0.1", 0);
  const int receiver = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(receiver, address->kernel_address(), address->kernel_size()) == 0);
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  REQUIRE(::getsockname(receiver, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  LogTarget target = target_of(LogTarget::Kind::gsmtap, "127.0.0.1");
  target.port = io::SocketAddress::from_kernel(&bound, size).port();
  set_targets({target});
  io::log(LogLevel::notice, LogCategory::lmgcp, {{"conn", "1F"}}, "m");
  std::array<char, 512> packet{};
  const ssize_t received = ::recv(receiver, packet.data(), packet.size(), 0);
  CHECK(std::string(packet.data(), 3) == "\x02\x04\x10");
  REQUIRE(received > 100);
  CHECK(std::string(packet.data() + 100, static_cast<std::size_t>(received) - 100) == "m conn=1F");
  ::close(receiver);
}

TEST_CASE("lines of several threads stay whole while targets come, go and are reopened") {
  const LogDirectory directory(LogLevel::debug);
  const LogTarget kept = io::log_targets().at(0);
  constexpr std::size_t kLines = 500;
  std::atomic<int> running{3};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&running] {
      for (std::size_t line = 0; line < kLines; ++line) {
        io::log(LogLevel::info, LogCategory::rtp, {{"line", line}}, "{}", std::string(100, 'a'));
      }
      --running;
    });
  }
  const LogTarget form = target_of(LogTarget::Kind::alarms, {}, LogLevel::debug);
  while (running != 0) {
    io::LogSession session(form.filter, form.style, [] {});
    set_targets({kept, file_target(directory.file("b"), LogLevel::debug), form});
    io::reopen_log();
    session.change(form.filter, {});
    static_cast<void>(session.take());
    set_targets({kept});
    CHECK(io::log_alarms().empty());
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto lines = LogDirectory::lines(directory.file());
  CHECK(lines.size() == 3 * kLines);
  const std::string tail = " info rtp " + std::string(100, 'a') + " line=";
  for (const std::string& line : lines) {
    CHECK(line.find(tail) == std::string("2026-01-31T12:00:00.000+00:00").size());
  }
}

#ifndef __SANITIZE_THREAD__
// ThreadSanitizer lets no child of a program with threads make threads.
TEST_CASE("a child made by fork logs with a thread of its own") {
  const LogDirectory directory(LogLevel::info);
  io::log(LogLevel::info, LogCategory::lglobal, "parent");
  const pid_t child = ::fork();
  if (child == 0) {
    io::log(LogLevel::info, LogCategory::lglobal, "child");
    ::_exit(io::flush_log(kPatience) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(LogDirectory::lines(directory.file()).size() == 2);
}
#endif

TEST_CASE("a limiter lets one line through per second and tells how many it held back") {
  io::LogLimiter limiter;
  const io::TimePoint start{100s};
  CHECK(limiter.allow(start));
  CHECK(limiter.suppressed() == 0);
  CHECK_FALSE(limiter.allow(start));
  CHECK_FALSE(limiter.allow(start + 999ms));
  CHECK(limiter.allow(start + 1s));
  CHECK(limiter.suppressed() == 2);
  CHECK_FALSE(limiter.allow(start + 1500ms));
  CHECK(limiter.allow(start + 10s));
  CHECK(limiter.suppressed() == 1);
  CHECK(limiter.allow(start + 20s));
  CHECK(limiter.suppressed() == 0);
}
