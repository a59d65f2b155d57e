#include "mgw/operator_front.h"

#include "conf/operation.h"
#include "io/log.h"
#include "io/log_targets.h"
#include "mgw/log_setup.h"
#include "ttcn-compat/command_tables.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;
using ttcn_compat::CounterReporter;

}  // namespace

/// A VTY session on its connection, with the log lines that it wants to see.
class OperatorFront::VtyStream final : public StreamSession {
 public:
  VtyStream(OperatorFront& owner, const io::SocketAddress& peer)
      : owner_(owner),
        session_(ttcn_compat::command_tree(), owner.parts_.view, owner, owner.session_options_,
                 peer.text()),
        host_(peer.host_text()) {
    if (owner_.parts_.config.vty.login) {
      waits_until_ = owner_.password_delays_.until(host_);
    }
    owner_.vty_streams_.insert(this);
  }
  VtyStream(const VtyStream&) = delete;
  VtyStream& operator=(const VtyStream&) = delete;
  VtyStream(VtyStream&&) = delete;
  VtyStream& operator=(VtyStream&&) = delete;
  ~VtyStream() override { owner_.vty_streams_.erase(this); }

  void receive(std::string_view bytes) override {
    const int before = session_.wrong_passwords();
    session_.receive(bytes);
    if (session_.wrong_passwords() > before) {
      waits_until_ = owner_.password_delays_.note(host_, owner_.parts_.clock.now());
    }
    follow_log();
  }
  [[nodiscard]] bool wants_input() const override { return !waits() && session_.wants_input(); }
  [[nodiscard]] std::string take_output() override {
    return waits() ? std::string() : session_.take_output();
  }
  void on_sent() override {
    session_.on_sent();
    follow_log();
  }
  [[nodiscard]] bool is_over() const override { return session_.is_over(); }
  [[nodiscard]] const std::string& peer() const { return session_.peer(); }
  /// After a wrong password: neither read from nor written to.
  [[nodiscard]] bool waits() const { return owner_.parts_.clock.now() < waits_until_; }

  /// Hands the log lines that came to the session.
  void show_log() {
    if (log_) {
      for (const std::string& line : log_->take()) {
        session_.write_log(line);
      }
    }
  }

 private:
  /// A command may have changed which log lines the session wants.
  void follow_log() {
    const ttcn_compat::SessionLog& wanted = session_.log();
    if (!wanted.enabled) {
      log_.reset();
      return;
    }
    if (log_ && wanted.target == followed_) {
      return;
    }
    conf::LogOptions options;
    options.targets = {wanted.target};
    const auto targets = log_targets_of(options, LogColours::on_terminals);
    if (!targets) {
      return;  // the commands name no categories that there are not
    }
    followed_ = wanted.target;
    const io::LogTarget& target = targets->front();
    if (log_) {
      log_->change(target.filter, target.style);
    } else {
      log_.emplace(target.filter, target.style, [&owner = owner_] {
        owner.log_lines_wait_.store(true, std::memory_order_release);
        owner.parts_.front.wake();
      });
    }
  }

  OperatorFront& owner_;
  ttcn_compat::VtySession session_;
  const std::string host_;
  io::TimePoint waits_until_{};
  std::optional<io::LogSession> log_;
  conf::LogTarget followed_;
};

/// A CTRL session on its connection. One request is answered at a time: the next one has to wait
/// until the answer is sent, so a peer that asks without reading costs nobody anything.
class OperatorFront::CtrlStream final : public StreamSession {
 public:
  explicit CtrlStream(OperatorFront& owner) : owner_(owner), session_(owner.variables_) {}

  void receive(std::string_view bytes) override {
    input_.assign(bytes);
    taken_ = 0;
    advance();
  }
  [[nodiscard]] bool wants_input() const override {
    return !over_ && taken_ == input_.size() && output_.empty();
  }
  [[nodiscard]] std::string take_output() override { return std::exchange(output_, {}); }
  void on_sent() override { advance(); }
  [[nodiscard]] bool is_over() const override { return over_ && output_.empty(); }

 private:
  void advance() {
    if (over_) {
      return;
    }
    std::string_view rest = std::string_view(input_).substr(taken_);
    over_ = !session_.receive(rest, owner_.parts_.clock.now(), output_);
    taken_ = input_.size() - rest.size();
  }

  OperatorFront& owner_;
  ttcn_compat::CtrlSession session_;
  std::string input_;
  std::size_t taken_ = 0;  // of input_
  std::string output_;
  bool over_ = false;
};

OperatorFront::OperatorFront(OperatorFrontParts parts)
    : parts_(std::move(parts)),
      started_(parts_.clock.now()),
      variables_({parts_.view, history_, parts_.version, started_}),
      next_report_(started_) {
  session_options_.version =
      fmt::format("mgw {}, a media gateway that takes osmo-mgw's place\n", parts_.version);
  session_options_.other_peers = [this] {
    std::vector<std::string> peers;
    for (const VtyStream* stream : vty_streams_) {
      peers.push_back(stream->peer());
    }
    return peers;
  };
  make_reporters();
}

OperatorFront::~OperatorFront() = default;

void OperatorFront::open() {
  const conf::VtyOptions& vty = parts_.config.vty;
  if (vty.enabled) {
    listen(vty.bind, vty.port,
           {"vty", kVtySessionsMax,
            [this](const io::SocketAddress& peer) {
              return std::make_unique<VtyStream>(*this, peer);
            }},
           true);
  }
  const conf::CtrlOptions& ctrl = parts_.config.ctrl;
  if (ctrl.enabled) {
    listen(ctrl.bind, ctrl.port,
           {"ctrl", kCtrlSessionsMax,
            [this](const io::SocketAddress&) { return std::make_unique<CtrlStream>(*this); }},
           false);
  }
}

void OperatorFront::listen(const std::string& bind, std::uint16_t port, StreamService service,
                           bool required) {
  const std::string name = service.name;
  const auto address = io::SocketAddress::parse(bind, port);
  const auto bound = parts_.front.listen(*address, std::move(service));
  if (bound) {
    io::log(LogLevel::notice, LogCategory::lglobal, "{} at {}", name, bound->text());
    return;
  }
  const std::string reason =
      fmt::format("{} can't listen at {}: {}", name, address->text(), bound.error().message());
  if (required) {
    throw std::runtime_error(reason);
  }
  io::log(LogLevel::error, LogCategory::lctrl, "{}", reason);
}

ttcn_compat::CounterSource OperatorFront::counters() const {
  return
      [this](const ttcn_compat::CounterGroupVisitor& visit) { parts_.view.visit_counters(visit); };
}

void OperatorFront::on_tick() {
  const io::TimePoint now = parts_.clock.now();
  if (password_delays_.any(now)) {
    parts_.front.pump_streams();  // some may have waited long enough
  }
  const bool anybody_looks =
      parts_.config.vty.enabled || parts_.config.ctrl.enabled || !reporters_.empty();
  if (anybody_looks) {
    history_.tick(now, counters());
  }
  const auto interval = parts_.config.stats.interval;
  if (interval.count() > 0 && now >= next_report_) {
    next_report_ = std::max(next_report_ + interval, now);
    report(CounterReporter::Extent::periodic);
  }
}

void OperatorFront::on_wake() {
  if (!log_lines_wait_.exchange(false, std::memory_order_acquire)) {
    return;
  }
  for (VtyStream* stream : vty_streams_) {
    stream->show_log();
  }
  parts_.front.pump_streams();
}

void OperatorFront::on_reconfigured() {
  // An interval that became shorter does not wait for the end of the former one.
  next_report_ = std::min(next_report_, parts_.clock.now() + parts_.config.stats.interval);
  if (configured_reporters_ != parts_.config.stats.reporters) {
    make_reporters();
  }
}

void OperatorFront::make_reporters() {
  configured_reporters_ = parts_.config.stats.reporters;
  std::vector<Reporter> former = std::exchange(reporters_, {});
  for (const conf::StatsReporter& options : configured_reporters_) {
    // A reporter that was there keeps what it knows to be reported.
    const auto same = std::find_if(former.begin(), former.end(), [&](const Reporter& candidate) {
      return candidate.reporter.options().kind == options.kind &&
             candidate.reporter.options().name == options.name;
    });
    Reporter reporter{
        same == former.end() ? CounterReporter(options) : std::move(same->reporter), {}, {}};
    if (same != former.end()) {
      former.erase(same);
    }
    reporter.reporter.set_options(options);
    open_socket(reporter);
    reporters_.push_back(std::move(reporter));
  }
}

void OperatorFront::open_socket(Reporter& reporter) {
  const conf::StatsReporter& options = reporter.reporter.options();
  if (options.kind != conf::StatsReporter::Kind::statsd || !options.enabled) {
    return;
  }
  const auto server = io::SocketAddress::parse(options.remote_address, options.remote_port);
  const std::string_view any = server->family() == io::AddressFamily::ipv6 ? "::" : "0.0.0.0";
  const auto local = io::SocketAddress::parse(
      options.local_address.empty() ? any : std::string_view(options.local_address), 0);
  io::SocketOptions socket;
  socket.local = *local;
  auto bound = parts_.sockets.bind_udp(socket);
  if (!bound) {
    io::log(LogLevel::error, LogCategory::lstats, "no statistics to {}: {} can't be bound ({})",
            server->text(), local->text(), bound.error().message());
    return;
  }
  reporter.server = *server;
  reporter.socket = std::move(*bound);
}

void OperatorFront::report(CounterReporter::Extent extent) {
  for (Reporter& reporter : reporters_) {
    const conf::StatsReporter& options = reporter.reporter.options();
    if (!options.enabled) {
      continue;
    }
    CounterReporter::Sink sink = [](std::string_view line) {
      io::log(LogLevel::notice, LogCategory::lstats, "{}", line);
    };
    if (options.kind == conf::StatsReporter::Kind::statsd) {
      if (!reporter.socket) {
        continue;
      }
      // What the server's host does not take is lost: the next report has newer values.
      sink = [&reporter](std::string_view datagram) {
        static_cast<void>(::sendto(reporter.socket.handle(), datagram.data(), datagram.size(),
                                   MSG_DONTWAIT | MSG_NOSIGNAL, reporter.server.kernel_address(),
                                   reporter.server.kernel_size()));
      };
    }
    reporter.reporter.report(counters(), history_, extent, sink);
  }
}

void OperatorFront::report_statistics() {
  report(CounterReporter::Extent::everything);
}

void OperatorFront::reset_statistics() {
  history_.reset(counters());
}

void OperatorFront::write_log(conf::LogLevel level, std::string_view category,
                              std::string_view text) {
  if (const auto found = io::find_log_category(category)) {
    io::log(static_cast<LogLevel>(level), *found, "{}", text);
  }
}

std::vector<std::string> OperatorFront::alarms() const {
  std::vector<std::string> lines;
  for (const io::LogAlarm& alarm : io::log_alarms()) {
    lines.push_back(fmt::format("{:%Y-%m-%d %H:%M:%S} {} {} {}", fmt::gmtime(alarm.time),
                                io::to_string(alarm.level), io::to_string(alarm.category),
                                alarm.text));
  }
  return lines;
}

io::Duration OperatorFront::uptime() const {
  return parts_.clock.now() - started_;
}

std::int32_t OperatorFront::process_id() const {
  return ::getpid();
}

std::uint64_t OperatorFront::memory_bytes() const {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages >> pages;  // the second number is what is resident
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace mgw
