#pragma once
// What the gateway writes into its log while a test runs.

#include "io/log.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace scenario {

/// A file that log lines go to until the end of the test.
class LogFile {
 public:
  LogFile() {
    std::string name = std::filesystem::temp_directory_path() / "mgw-log-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    io::start_logging({io::LogLevel::notice, false, directory_ / "mgw.log", false});
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  LogFile(LogFile&&) = delete;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile() {
    io::start_logging({});
    std::filesystem::remove_all(directory_);
  }
  /// Lines with these words so far.
  [[nodiscard]] std::size_t lines(std::string_view words) const {
    io::flush_log(std::chrono::seconds(60));
    std::ifstream input(directory_ / "mgw.log");
    std::size_t count = 0;
    for (std::string line; std::getline(input, line);) {
      count += line.find(words) != std::string::npos ? 1U : 0U;
    }
    return count;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace scenario
