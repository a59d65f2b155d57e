#include "io/log.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// A directory of its own, and logging into a file there until the end of the test.
class LogDirectory {
 public:
  explicit LogDirectory(io::LogLevel level) {
    std::string name = std::filesystem::temp_directory_path() / "mgw-log-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    io::start_logging({level, true, file()});
  }
  LogDirectory(const LogDirectory&) = delete;
  LogDirectory& operator=(const LogDirectory&) = delete;
  LogDirectory(LogDirectory&&) = delete;
  LogDirectory& operator=(LogDirectory&&) = delete;
  ~LogDirectory() {
    io::start_logging({});
    std::filesystem::remove_all(path_);
  }
  [[nodiscard]] std::string file() const { return path_ / "mgw.log"; }
  [[nodiscard]] static std::vector<std::string> lines(const std::string& name) {
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

TEST_CASE("a log line has time, level, category and message, without colour in a file") {
  const LogDirectory directory(io::LogLevel::notice);
  io::log(io::LogLevel::notice, "mgcp", "endpoint={} conn={}", "rtpbridge/1@mgw", 7);
  io::log(io::LogLevel::error, "rtp", "out of ports");
  const auto lines = LogDirectory::lines(directory.file());
  REQUIRE(lines.size() == 2);
  const std::size_t time_size = std::string("2026-01-31T12:00:00.000+00:00").size();
  for (const auto& line : lines) {
    CHECK(shape(line.substr(0, time_size)) == "0000-00-00T00:00:00.000+00:00");
  }
  CHECK(lines[0].substr(time_size) == " notice mgcp endpoint=rtpbridge/1@mgw conn=7");
  CHECK(lines[1].substr(time_size) == " error rtp out of ports");
}

TEST_CASE("lines below the level are neither written nor formatted") {
  const LogDirectory directory(io::LogLevel::warning);
  CHECK_FALSE(io::log_enabled(io::LogLevel::notice));
  CHECK(io::log_enabled(io::LogLevel::warning));
  io::log(io::LogLevel::debug, "x", "unseen");
  io::log(io::LogLevel::notice, "x", "unseen");
  io::log(io::LogLevel::warning, "x", "seen");
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
}

TEST_CASE("bytes of a peer can neither forge a line nor reach the terminal") {
  const LogDirectory directory(io::LogLevel::debug);
  io::log(io::LogLevel::info, "mgcp", "{}", std::string("a\r\nb\x1b[2J\0c\x7f", 12));
  const auto lines = LogDirectory::lines(directory.file());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(R"(a\x0d\x0ab\x1b[2J\x00c)") != std::string::npos);
}

TEST_CASE("after rotation lines go to a new file of the same name") {
  const LogDirectory directory(io::LogLevel::debug);
  io::log(io::LogLevel::info, "x", "old");
  std::filesystem::rename(directory.file(), directory.file() + ".1");
  io::log(io::LogLevel::info, "x", "still old");
  io::reopen_log();
  io::log(io::LogLevel::info, "x", "new");
  CHECK(LogDirectory::lines(directory.file() + ".1").size() == 2);
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
}

TEST_CASE("a log file that can't be opened is an error and logging goes on as before") {
  const LogDirectory directory(io::LogLevel::debug);
  CHECK_THROWS_AS(io::start_logging({io::LogLevel::debug, false, "/proc/no/such.log"}),
                  std::runtime_error);
  io::log(io::LogLevel::info, "x", "line");
  CHECK(LogDirectory::lines(directory.file()).size() == 1);
}

TEST_CASE("lines of several threads stay whole while the log is reopened") {
  const LogDirectory directory(io::LogLevel::debug);
  constexpr std::size_t kLines = 500;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([] {
      for (std::size_t line = 0; line < kLines; ++line) {
        io::log(io::LogLevel::info, "x", "{}", std::string(100, 'a'));
      }
    });
  }
  for (int times = 0; times < 20; ++times) {
    io::reopen_log();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto lines = LogDirectory::lines(directory.file());
  CHECK(lines.size() == 3 * kLines);
  const std::string tail = " info x " + std::string(100, 'a');
  for (const std::string& line : lines) {
    REQUIRE(line.size() > tail.size());
    CHECK(line.substr(line.size() - tail.size()) == tail);
  }
}

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
