#include "io/log_output.h"

#include "io/log_format.h"
#include "io/socket_address.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

// The macros of the journal's header would name this file as the place of every line.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <system_error>

namespace io {

namespace {

constexpr const char* kProgram = "mgw";
constexpr const char* kSyslogSocket = "/dev/log";
constexpr const char* kJournalSocket = "/run/systemd/journal/socket";
/// A pipe that has just been full gets so long to empty; one that was given up, no time at all.
constexpr int kPipePatienceMs = 100;

std::string error_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

/// Priorities of syslog (RFC 5424 6.2.1) by level.
constexpr std::array<int, 6> kPriorities{
    {LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING, LOG_ERR, LOG_CRIT}};

int priority_of(LogLevel level) {
  return kPriorities.at(static_cast<std::size_t>(level));
}

/// Standard error, which may be a pipe whose reader has stopped. It is shared with whoever started
/// the gateway, so it is not made non-blocking: a write of PIPE_BUF bytes does not block while
/// poll(2) says that a pipe is writable (pipe(7)).
class StandardError final : public LogOutput {
 public:
  bool write(const LogRecord& record, const LogStyle& style) override {
    std::string line =
        format_log(record, style, style.colour && is_terminal_ ? LogColour::on : LogColour::off);
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&ready, 1, stalled_ ? 0 : kPipePatienceMs) != 1) {
        stalled_ = true;
        return false;
      }
      const ssize_t written =
          ::write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
      if (written <= 0) {
        return false;
      }
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    stalled_ = false;
    return true;
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool stalled_ = false;
};

/// A file that lines are appended to. Each line is one write, so it is whole or not there.
class LogFile final : public LogOutput {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) { open(); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  LogFile(LogFile&&) = delete;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile() override { close(); }

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  bool write(const LogRecord& record, const LogStyle& style) override {
    if (!is_open()) {
      open();  // what was in the way may be gone
    }
    if (!is_open()) {
      return false;
    }
    std::string line = format_log(record, style, LogColour::off);
    // What a full disk has cut off gets its end with the next line.
    line.insert(0, cut_off_ ? "\n" : "");
    line += '\n';
    const ssize_t written = ::write(descriptor_, line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) {
      cut_off_ = cut_off_ || written > 0;
      return false;
    }
    cut_off_ = false;
    return true;
  }
  void reopen() override {
    close();
    open();
  }

 private:
  void open() {
    // Non-blocking concerns a pipe of that name only.
    descriptor_ = ::open(path_.c_str(),
                         O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  }
  void close() {
    if (is_open()) {
      ::close(descriptor_);
      descriptor_ = -1;
    }
  }

  std::string path_;
  int descriptor_ = -1;
  bool cut_off_ = false;
};

/// The C library's syslog(3). It neither says that a daemon is missing nor when lines are lost.
class Syslog final : public LogOutput {
 public:
  explicit Syslog(int facility) : facility_(facility) {}

  bool write(const LogRecord& record, const LogStyle& style) override {
    if (!open_) {
      // Here, as it waits while another thread is inside syslog(3).
      ::openlog(kProgram, LOG_PID, facility_);
      open_ = true;
    }
    ::syslog(facility_ | priority_of(record.level), "%s",
             format_log(record, style, LogColour::off).c_str());
    return true;
  }
  [[nodiscard]] std::string warning() const override {
    return ::access(kSyslogSocket, W_OK) == 0
               ? std::string()
               : fmt::format(
                     "log target syslog: {}: {}; its lines are lost until a syslog daemon "
                     "runs",
                     kSyslogSocket, error_text(errno));
  }

 private:
  int facility_;
  bool open_ = false;
};

/// The systemd journal, with fields of its own for what the line is about (journalctl -o verbose,
/// `journalctl ENDPOINT=..`).
class Journal final : public LogOutput {
 public:
  explicit Journal(bool raw) : raw_(raw) {}

  bool write(const LogRecord& record, const LogStyle& style) override {
    if (!running()) {
      return false;  // the library says that all is well then
    }
    std::vector<std::string> entries{
        "MESSAGE=" +
            (raw_ ? format_log_message(record) : format_log(record, style, LogColour::off)),
        fmt::format("PRIORITY={}", priority_of(record.level)),
        fmt::format("SYSLOG_IDENTIFIER={}", kProgram),
        fmt::format("CODE_FILE={}", log_file_of(record)),
        fmt::format("CODE_LINE={}", record.line),
        fmt::format("TID={}", record.thread_id),
        fmt::format("CATEGORY={}", to_string(record.category)),
        fmt::format("LEVEL={}", to_string(record.level)),
    };
    for (const LogRecord::Field& field : record.fields) {
      std::string key(field.key);
      std::ranges::transform(key, key.begin(), [](char character) {
        return static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
      });
      entries.push_back(fmt::format("{}={}", key, field.value));
    }
    std::vector<iovec> parts;
    parts.reserve(entries.size());
    for (std::string& entry : entries) {
      parts.push_back({entry.data(), entry.size()});
    }
    return ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
  }
  [[nodiscard]] std::string warning() const override {
    return running() ? std::string()
                     : fmt::format(
                           "log target systemd-journal: {}: {}; its lines are lost until "
                           "the journal runs",
                           kJournalSocket, error_text(errno));
  }

 private:
  static bool running() { return ::access(kJournalSocket, W_OK) == 0; }

  bool raw_;
};

/// GSMTAP packets over UDP, which Wireshark shows among the traffic that they are about.
class Gsmtap final : public LogOutput {
 public:
  explicit Gsmtap(const SocketAddress& address)
      : address_(address),
        socket_(::socket(address.kernel_address()->sa_family,
                         SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  Gsmtap(const Gsmtap&) = delete;
  Gsmtap& operator=(const Gsmtap&) = delete;
  Gsmtap(Gsmtap&&) = delete;
  Gsmtap& operator=(Gsmtap&&) = delete;
  ~Gsmtap() override { ::close(socket_); }

  bool write(const LogRecord& record, const LogStyle& /*style*/) override {
    const std::string packet = format_log_gsmtap(record, static_cast<std::uint32_t>(::getpid()));
    return ::sendto(socket_, packet.data(), packet.size(), MSG_NOSIGNAL, address_.kernel_address(),
                    address_.kernel_size()) == static_cast<ssize_t>(packet.size());
  }

 private:
  SocketAddress address_;
  int socket_;
};

struct Facility {
  std::string_view name;
  int number;
};

constexpr std::array<Facility, 19> kFacilities{{
    {"authpriv", LOG_AUTHPRIV}, {"auth", LOG_AUTH},     {"cron", LOG_CRON},
    {"daemon", LOG_DAEMON},     {"ftp", LOG_FTP},       {"lpr", LOG_LPR},
    {"mail", LOG_MAIL},         {"news", LOG_NEWS},     {"syslog", LOG_SYSLOG},
    {"user", LOG_USER},         {"uucp", LOG_UUCP},     {"local0", LOG_LOCAL0},
    {"local1", LOG_LOCAL1},     {"local2", LOG_LOCAL2}, {"local3", LOG_LOCAL3},
    {"local4", LOG_LOCAL4},     {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6},
    {"local7", LOG_LOCAL7},
}};

using Output = tl::expected<std::shared_ptr<LogOutput>, std::string>;

Output make_file(const std::string& path) {
  auto file = std::make_shared<LogFile>(path);
  if (!file->is_open()) {
    return tl::unexpected(fmt::format("log file {}: {}", path, error_text(errno)));
  }
  return file;
}

Output make_syslog(const std::string& facility) {
  const auto* const found = std::ranges::find(kFacilities, facility, &Facility::name);
  if (found == kFacilities.end()) {
    return tl::unexpected(fmt::format("log target syslog: no facility '{}'", facility));
  }
  return std::make_shared<Syslog>(found->number);
}

Output make_gsmtap(const std::string& destination, std::uint16_t port) {
  const auto address = SocketAddress::parse(destination, port);
  if (!address) {
    return tl::unexpected(
        fmt::format("log target gsmtap: '{}' is no numeric address", destination));
  }
  return std::make_shared<Gsmtap>(*address);
}

}  // namespace

Output make_log_output(const LogTarget& target) {
  switch (target.kind) {
    case LogTarget::Kind::file:
      return make_file(target.destination);
    case LogTarget::Kind::syslog:
      return make_syslog(target.destination);
    case LogTarget::Kind::journal:
      return std::make_shared<Journal>(target.raw);
    case LogTarget::Kind::gsmtap:
      return make_gsmtap(target.destination, target.port);
    case LogTarget::Kind::alarms:
      return nullptr;
    case LogTarget::Kind::standard_error:
      break;
  }
  return std::make_shared<StandardError>();
}

}  // namespace io
