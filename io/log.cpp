#include "io/log.h"

#include <spdlog/details/file_helper.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace io {

namespace {

constexpr Duration kLimiterInterval = std::chrono::seconds(1);

/// Writes whole lines to standard error or to a file, and may change between them while threads
/// log.
class SwitchableSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// Writes to `file` from now on, to standard error if it is empty. Throws spdlog::spdlog_ex.
  void use(const std::string& file) {
    std::unique_ptr<spdlog::details::file_helper> opened;
    if (!file.empty()) {
      opened = std::make_unique<spdlog::details::file_helper>();
      opened->open(file);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    file_ = std::move(opened);
  }
  /// Opens the file anew under its name, so that a renamed one is left alone.
  void reopen() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (file_) {
      file_->reopen(false);
    }
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (file_) {
      file_->write(line);
      file_->flush();
    } else {
      static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
    }
  }
  void flush_() override {}

 private:
  std::unique_ptr<spdlog::details::file_helper> file_;
};

/// What all threads share. Never destroyed, so that threads and destructors may log until the very
/// end.
struct Logging {
  std::shared_ptr<SwitchableSink> sink = std::make_shared<SwitchableSink>();
  spdlog::logger logger{"mgw", sink};
  std::atomic<LogLevel> level{LogLevel::notice};
  std::atomic<bool> colour{false};

  Logging() {
    // We filter by our own levels; spdlog passes everything on.
    logger.set_level(spdlog::level::trace);
    logger.set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %v");
  }
};

Logging& logging() {
  static Logging* const instance = new Logging;
  return *instance;
}

struct LevelText {
  std::string_view name;
  std::string_view colour;  ///< ANSI sequence that turns it on
};

constexpr std::array<LevelText, 6> kLevelTexts{{{"debug", "\x1b[2m"},
                                                {"info", "\x1b[32m"},
                                                {"notice", "\x1b[1m"},
                                                {"warning", "\x1b[33m"},
                                                {"error", "\x1b[31m"},
                                                {"fatal", "\x1b[31m"}}};

/// A message may quote bytes of a peer: nothing in it may end the line or speak to the terminal.
std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20U || byte == 0x7fU) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result;
}

}  // namespace

void start_logging(const LogOptions& options) {
  Logging& state = logging();
  try {
    state.sink->use(options.file);
  } catch (const spdlog::spdlog_ex& error) {
    throw std::runtime_error(error.what());
  }
  state.level.store(options.level, std::memory_order_relaxed);
  state.colour.store(options.colour && options.file.empty() && ::isatty(STDERR_FILENO) == 1,
                     std::memory_order_relaxed);
}

void reopen_log() noexcept {
  try {
    logging().sink->reopen();
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "log file: %s\n", error.what()));
  }
}

bool log_enabled(LogLevel level) noexcept {
  return level >= logging().level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view category, std::string_view message) noexcept {
  try {
    Logging& state = logging();
    const LevelText& text = kLevelTexts.at(static_cast<std::size_t>(level));
    const bool colour = state.colour.load(std::memory_order_relaxed);
    state.logger.log(spdlog::level::info,
                     fmt::format("{}{}{} {} {}", colour ? text.colour : "", text.name,
                                 colour ? "\x1b[0m" : "", category, printable(message)));
  } catch (...) {
    // Out of memory or disk: a line less is better than a gateway less.
    static_cast<void>(std::fputs("a log line was lost\n", stderr));
  }
}

bool LogLimiter::allow(TimePoint now) noexcept {
  if (now < next_) {
    ++count_;
    return false;
  }
  next_ = now + kLimiterInterval;
  suppressed_ = count_;
  count_ = 0;
  return true;
}

}  // namespace io
