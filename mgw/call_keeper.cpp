#include "mgw/call_keeper.h"

#include "io/log.h"
#include "mgw/take_over.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// The beginning of the names of RTP and RTCP sockets at the service manager.
constexpr std::string_view kSocketNames = "r.";
/// Sockets that it keeps at most: it passes their names, of up to ten characters with what is
/// between them, in one variable of the environment, which may have 128 KiB (MAX_ARG_STRLEN of
/// Linux).
constexpr std::size_t kKeptMax = 12'800;
/// The kernel has let go of the ports of a process that was killed after this.
constexpr io::Duration kPatience = std::chrono::seconds(1);

/// A short name for the socket of an address: the port and three digits for the host.
std::string name_of(const io::SocketAddress& local) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  constexpr int kHostDigits = 3;
  std::string name(kSocketNames);
  std::size_t host = local.with_port(0).hash();
  for (int i = 0; i < kHostDigits; ++i) {
    name += kDigits[host % kDigits.size()];
    host /= kDigits.size();
  }
  for (std::size_t port = local.port(); port != 0; port /= kDigits.size()) {
    name += kDigits[port % kDigits.size()];
  }
  return name;
}

io::SocketAddress rtcp_of(const io::SocketAddress& rtp) {
  return rtp.with_port(static_cast<std::uint16_t>(rtp.port() + 1));
}

}  // namespace

/// Has the service manager keep the pairs of RTP and RTCP sockets.
class CallKeeper::ManagedSockets final : public SocketStore {
 public:
  ManagedSockets(io::ServiceManager& manager, const io::SocketKeeper& sockets)
      : manager_(manager), sockets_(sockets) {}
  void keep(const io::SocketAddress& local) override {
    if (kept_.size() >= kKeptMax) {
      if (!std::exchange(is_full_, true)) {
        io::log(
            LogLevel::warning, LogCategory::lglobal,
            "the service manager keeps {} sockets, it can't pass more: further calls would lose "
            "what arrives while the gateway starts again",
            kept_.size());
      }
      return;
    }
    for (const io::SocketAddress& one : {local, rtcp_of(local)}) {
      const int descriptor = sockets_.descriptor_of(one);
      if (descriptor >= 0 && manager_.store(name_of(one), descriptor)) {
        kept_.insert(one);
      }
    }
  }
  void let_go(const io::SocketAddress& local) override {
    for (const io::SocketAddress& one : {local, rtcp_of(local)}) {
      if (kept_.erase(one) != 0) {
        manager_.forget(name_of(one));
      }
    }
  }

 private:
  io::ServiceManager& manager_;
  const io::SocketKeeper& sockets_;
  std::unordered_set<io::SocketAddress> kept_;
  bool is_full_ = false;
};

CallKeeper::CallKeeper(CallKeeperParts parts)
    : parts_(std::move(parts)), boot_(this_boot()), sockets_(parts_.sockets) {
  const conf::JournalOptions& options = parts_.config.journal;
  if (options.directory.empty()) {
    return;
  }
  if (options.keep_sockets && parts_.manager != nullptr && parts_.manager->is_present()) {
    store_ = std::make_unique<ManagedSockets>(*parts_.manager, sockets_);
  }
  journal_.emplace(files_, options.directory, boot_);
  recorder_.emplace(*journal_, parts_.clock, parts_.agents, store_.get());
}

CallKeeper::~CallKeeper() = default;

void CallKeeper::inherit_sockets() {
  if (parts_.manager == nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const auto& passed : parts_.manager->passed()) {
    if (passed.name.starts_with(kSocketNames)) {
      names.push_back(passed.name);
    }
  }
  for (const std::string& name : names) {
    if (const auto descriptor = parts_.manager->take(name)) {
      sockets_.inherit(*descriptor, true);
    }
  }
}

void CallKeeper::drop_unused() {
  if (parts_.manager != nullptr) {
    for (const io::SocketAddress& local : sockets_.unused()) {
      parts_.manager->forget(name_of(local));
    }
  }
  sockets_.drop_unused();
}

void CallKeeper::occupy_journal() {
  if (!journal_) {
    return;
  }
  const std::string reason = journal_->occupy();
  has_journal_ = reason.empty();
  if (!has_journal_) {
    io::log(LogLevel::error, LogCategory::lglobal, "no journal, calls end with the gateway: {}",
            reason);
  }
}

void CallKeeper::restore(CallControl& control) {
  inherit_sockets();
  occupy_journal();
  if (has_journal_) {
    Journal::Found found = journal_->read();
    before_ = std::move(found.replay.state);
    const SavedState& state = before_;
    const io::TimePoint now = parts_.clock.now();
    const bool is_over =
        state.at > now || now - state.at > io::Duration(parts_.config.journal.restore_within);
    if (!found.remark.empty()) {
      io::log(LogLevel::error, LogCategory::lglobal, "journal: {}", found.remark);
    }
    if (is_over && state.connections() != 0) {
      io::log(LogLevel::notice, LogCategory::lglobal,
              "journal: its {} connections are older than {} s, they are over", state.connections(),
              parts_.config.journal.restore_within.count());
    } else if (!is_over) {
      sockets_.be_patient_until(now + kPatience);
      control.restore(state);
      control.start_restored(state, state.is_exact);
      static_cast<void>(parts_.settle());
      sockets_.be_patient_until({});
      io::log(LogLevel::notice, LogCategory::lglobal,
              "journal: {} of {} connections go on, {} answers are known",
              control.counters().restored.value(), state.connections(), state.answers.size());
    }
  }
  drop_unused();
}

void CallKeeper::take_over(CallControl& control) {
  const auto require = [](const TakeOver::Outcome& outcome) {
    if (!outcome) {
      throw std::runtime_error(outcome.error());
    }
  };
  TakeOver predecessor;
  require(predecessor.receive(parts_.config.take_over.socket, parts_.version, boot_, sockets_));
  mgcp_socket_ = predecessor.take_mgcp_socket();
  const SavedState& state = predecessor.state();
  control.restore(state);
  if (control.counters().not_restored.value() != 0) {
    io::log(LogLevel::error, LogCategory::lglobal, "{} connections can't be taken over",
            control.counters().not_restored.value());
  }
  require(predecessor.receive_media());
  const io::TimePoint begin = parts_.clock.now();
  control.start_restored(state, true);
  if (!parts_.settle()) {
    throw std::runtime_error("the workers don't take the calls over");
  }
  require(predecessor.confirm());
  io::log(LogLevel::notice, LogCategory::lglobal,
          "taken over: {} of {} connections go on, {} answers are known; the media stood still for "
          "less than {} ms here",
          control.counters().restored.value(), state.connections(), state.answers.size(),
          std::chrono::ceil<std::chrono::milliseconds>(parts_.clock.now() - begin).count());
  sockets_.drop_unused();
  before_ = state;
  occupy_journal();
}

void CallKeeper::start(CallControl& control) {
  if (has_journal_) {
    control.listen_with(&*recorder_);
    recorder_->start(control, std::exchange(before_, SavedState()));
    journal_->sync_every(parts_.config.journal.sync_interval);
  }
  const std::string& path = parts_.config.take_over.socket;
  if (path.empty()) {
    return;
  }
  if (const auto opened = server_.open(path); !opened) {
    io::log(LogLevel::error, LogCategory::lglobal, "no successor can take over, {}: {}", path,
            opened.error().message());
  }
}

bool CallKeeper::hand_over(CallControl& control, int mgcp_socket,
                           const std::function<void()>& on_success) {
  auto channel = server_.accept();
  if (!channel) {
    return false;
  }
  const io::TimePoint begin = parts_.clock.now();
  const std::uint64_t connections = control.counters().connections.value();
  const HandOverParts parts{
      control, sockets_, parts_.clock, boot_, mgcp_socket, parts_.settle, [&](int successor) {
        on_success();
        server_.close();
        if (recorder_) {
          recorder_->abandon();
        }
        if (parts_.manager != nullptr) {
          parts_.manager->main_process(successor);
        }
      }};
  if (!mgw::hand_over(*channel, parts)) {
    return false;
  }
  io::log(LogLevel::notice, LogCategory::lglobal, "{} connections given to a successor in {} ms",
          connections,
          std::chrono::ceil<std::chrono::milliseconds>(parts_.clock.now() - begin).count());
  return true;
}

bool CallKeeper::suspend(CallControl& control) {
  if (!recorder_ || !recorder_->is_on() || control.counters().connections.value() == 0) {
    return false;
  }
  static_cast<void>(parts_.settle());
  control.take_media_away();
  if (!parts_.settle()) {
    return false;
  }
  recorder_->end();
  return journal_->is_whole();
}

void CallKeeper::end() {
  if (recorder_) {
    recorder_->discard();
  }
}

void CallKeeper::on_tick() {
  if (recorder_) {
    recorder_->on_tick();
  }
}

}  // namespace mgw
