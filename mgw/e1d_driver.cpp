#include "mgw/e1d_driver.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace mgw {

namespace {

/// Of messages at one poll; e1d sends one per request and change of the line.
constexpr int kMessagesPerPollMax = 64;
/// Waits at e1d's end of a stream at most: six blocks of 160 octets with the kernel's costs.
constexpr int kStreamBufferBytes = 2304;
constexpr std::uint8_t kLineRequest = 0;

bool is_empty(const std::error_code& error) noexcept {
  return error.value() == EAGAIN || error.value() == EINTR;
}

}  // namespace

E1dDriver::E1dDriver(std::string socket_path, E1dLine line, std::shared_ptr<E1LineStatus> status)
    : socket_path_(std::move(socket_path)), line_(line), status_(std::move(status)) {
  status_->state.set(static_cast<std::uint64_t>(E1LineState::connecting));
}

void E1dDriver::poll(io::TimePoint now) noexcept {
  now_ = now;
  if (!control_ && now_ >= connect_at_) {
    connect();
  }
  if (control_) {
    read_messages();
  }
  if (control_ && now_ >= answer_by_) {
    lose(E1LineState::unreachable);
  }
  if (control_ && known_) {
    ask_for_timeslots();
  }
}

void E1dDriver::connect() noexcept {
  auto connected = io::UnixSocket::connect_packets(socket_path_);
  if (!connected) {
    lose(E1LineState::unreachable);
    return;
  }
  control_ = std::move(*connected);
  requests_ = {};
  alarms_ = 0;
  known_ = false;
  if (!ask(write_e1d_line_query(line_), kLineRequest)) {
    lose(E1LineState::unreachable);
  }
}

/// The connection goes; streams that are open stay so for as long as they carry something.
void E1dDriver::lose(E1LineState why) noexcept {
  control_ = {};
  known_ = false;
  answer_by_ = io::kNever;
  for (Timeslot& timeslot : timeslots_) {
    timeslot.asked = false;
  }
  set_state(why);
  connect_at_ = now_ + retry_;
  retry_ = std::min(2 * retry_, kRetryLast);
}

void E1dDriver::set_state(E1LineState state) noexcept {
  if (status_->line_state() == E1LineState::up && state != E1LineState::up) {
    status_->losses.add();
  }
  status_->state.set(static_cast<std::uint64_t>(state));
}

bool E1dDriver::ask(std::span<const std::byte> request, std::uint8_t kind) noexcept {
  if (requests_.count == requests_.kinds.size() || !control_.send(request)) {
    return false;
  }
  requests_.kinds[(requests_.first + requests_.count) % requests_.kinds.size()] = kind;
  ++requests_.count;
  answer_by_ = now_ + kAnswerTime;
  return true;
}

void E1dDriver::read_messages() noexcept {
  std::array<std::byte, kE1dMessageBytesMax> octets;
  for (int i = 0; i < kMessagesPerPollMax; ++i) {
    io::UnixSocket passed;
    const auto size = control_.receive(octets, passed);
    if (!size && is_empty(size.error())) {
      return;
    }
    const auto message =
        size ? read_e1d_message(std::span(octets).first(*size), line_.line) : std::nullopt;
    if (!message) {
      lose(E1LineState::unreachable);
      return;
    }
    if (!take(*message, std::move(passed))) {
      return;
    }
  }
}

bool E1dDriver::take(const E1dMessage& message, io::UnixSocket&& passed) noexcept {
  using Kind = E1dMessage::Kind;
  if (message.kind == Kind::alarm) {
    take_alarm(message);
    return true;
  }
  if (message.kind == Kind::other) {
    return true;
  }
  const std::uint8_t request = requests_.kinds[requests_.first];
  const Kind expected = request == kLineRequest ? Kind::line : Kind::timeslot;
  if (requests_.count == 0 || (message.kind != expected && message.kind != Kind::refusal)) {
    lose(E1LineState::unreachable);
    return false;
  }
  requests_.first = (requests_.first + 1) % requests_.kinds.size();
  answer_by_ = --requests_.count == 0 ? io::kNever : now_ + kAnswerTime;
  if (request != kLineRequest) {
    take_timeslot(request, message.accepted ? std::move(passed) : io::UnixSocket());
    return true;
  }
  if (message.mode != E1dLineMode::channelised) {
    lose(message.mode == E1dLineMode::absent ? E1LineState::absent : E1LineState::unchannelised);
    return false;
  }
  known_ = true;
  retry_ = kRetryFirst;
  set_state(alarms_ == 0 ? E1LineState::up : E1LineState::alarm);
  return true;
}

void E1dDriver::take_alarm(const E1dMessage& message) noexcept {
  if (message.at.interface != line_.interface || message.at.line != line_.line) {
    return;
  }
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(message.alarm));
  alarms_ = static_cast<std::uint8_t>(message.present ? alarms_ | bit : alarms_ & ~bit);
  if (known_) {
    set_state(alarms_ == 0 ? E1LineState::up : E1LineState::alarm);
  }
}

void E1dDriver::take_timeslot(std::uint8_t number, io::UnixSocket&& stream) noexcept {
  Timeslot& timeslot = timeslots_[number];
  timeslot.asked = false;
  if (!timeslot.wanted) {
    return;  // it was closed meanwhile, and the stream is closed here
  }
  if (!stream) {
    timeslot.ask_at = now_ + kReopenInterval;
    if (++timeslot.refusals == kRefusalsMax) {
      set_refused(number, true);
    }
    return;
  }
  set_refused(number, false);
  timeslot.refusals = 0;
  timeslot.stream = std::move(stream);
  timeslot.stream.limit_send_buffer(kStreamBufferBytes);
  timeslot.partial_bytes = 0;
  timeslot.burst = 0;
  timeslot.started = false;
}

void E1dDriver::ask_for_timeslots() noexcept {
  for (std::uint8_t number = 1; number < kE1Timeslots; ++number) {
    Timeslot& timeslot = timeslots_[number];
    if (timeslot.wanted && !timeslot.stream && !timeslot.asked && now_ >= timeslot.ask_at) {
      timeslot.asked = ask(write_e1d_open(line_, number), number);
    }
  }
}

void E1dDriver::set_refused(std::uint8_t number, bool refused) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << number;
  const std::uint64_t before = status_->refused.value();
  status_->refused.set(refused ? before | bit : before & ~bit);
}

void E1dDriver::open(std::uint8_t timeslot) noexcept {
  Timeslot& opened = timeslots_[timeslot];
  opened.wanted = true;
  opened.clock = {};
  opened.ask_at = {};
  opened.refusals = 0;
}

void E1dDriver::close(std::uint8_t timeslot) noexcept {
  Timeslot& closed = timeslots_[timeslot];
  closed.wanted = false;
  closed.stream = {};
  set_refused(timeslot, false);
}

bool E1dDriver::read_stream(Timeslot& timeslot) noexcept {
  while (timeslot.stream && timeslot.partial_bytes < timeslot.partial.size()) {
    const auto rest = std::span(timeslot.partial).subspan(timeslot.partial_bytes);
    const auto size = timeslot.stream.receive(rest);
    if (size && *size > 0) {
      timeslot.partial_bytes += *size;
    } else if (!size && is_empty(size.error())) {
      return false;
    } else {  // e1d has closed it, or what it passed is no stream
      timeslot.stream = {};
      timeslot.ask_at = now_ + kReopenInterval;
    }
  }
  return timeslot.stream && std::exchange(timeslot.partial_bytes, 0) != 0;
}

bool E1dDriver::receive(std::uint8_t number, E1Block& block) noexcept {
  Timeslot& timeslot = timeslots_[number];
  if (read_stream(timeslot)) {
    block = timeslot.partial;
    timeslot.clock = now_;
    ++timeslot.burst;
    return true;
  }
  timeslot.burst = 0;
  const io::Duration patience = timeslot.stream ? kSilence : kE1BlockTime;
  // Nothing yet, or a jump of the clock: counted from now.
  if (now_ - timeslot.clock > kE1BlockTime * E1Line::kBlocksPerRunMax) {
    timeslot.clock = now_;
  }
  if (now_ - timeslot.clock < patience) {
    return false;
  }
  timeslot.clock += kE1BlockTime;
  block.fill(rtp::kIdleOctet);
  return true;
}

void E1dDriver::transmit(std::uint8_t number, const E1Block& block) noexcept {
  Timeslot& timeslot = timeslots_[number];
  if (!timeslot.stream || timeslot.burst == 0) {
    return;  // what was received was no block of e1d's
  }
  if (timeslot.burst > kQueuedBlocks) {
    status_->discarded_blocks.add();
    return;
  }
  if (!std::exchange(timeslot.started, true)) {
    E1Block idle;
    idle.fill(rtp::kIdleOctet);
    for (unsigned i = 1; i < kQueuedBlocks; ++i) {
      write_stream(timeslot, idle);
    }
  }
  write_stream(timeslot, block);
}

void E1dDriver::write_stream(Timeslot& timeslot, const E1Block& block) noexcept {
  const auto sent = timeslot.stream.send(block);
  if (!sent || *sent != block.size()) {
    status_->discarded_blocks.add();
  }
}

}  // namespace mgw
