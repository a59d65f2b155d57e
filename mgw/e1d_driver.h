#pragma once
// E1 lines that osmo-e1d serves: a client of its UNIX socket (mgw/e1d_messages.h) with one
// connection per line, and a stream per time slot in use.

#include "io/time.h"
#include "io/unix_socket.h"
#include "mgw/e1_line.h"
#include "mgw/e1_line_status.h"
#include "mgw/e1d_messages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mgw {

/// Where osmo-e1d listens if nothing else is configured.
inline constexpr const char* kE1dSocketPath = "/tmp/osmo-e1d.ctl";

/// One line. Made by the control thread, then used by its worker only. Nothing here waits: what is
/// not there yet is looked for at the next poll. A time slot without data, because it is not open
/// yet or e1d has none, is idle in its own time, so that what is paired with it keeps its pace.
class E1dDriver final : public E1Driver {
 public:
  /// Between two looks at the sockets while time slots are open: half a block, so that a block
  /// waits 5 ms on average.
  static constexpr io::Duration kInterval = std::chrono::milliseconds(10);
  /// Between two looks while none is.
  static constexpr io::Duration kIdleInterval = std::chrono::milliseconds(200);
  /// Between two attempts to reach e1d: doubles from the first to the last.
  static constexpr io::Duration kRetryFirst = std::chrono::milliseconds(100);
  static constexpr io::Duration kRetryLast = std::chrono::seconds(5);
  /// How long an answer may take.
  static constexpr io::Duration kAnswerTime = std::chrono::seconds(2);
  /// Between two requests for a time slot that was refused: e1d notices that a stream was closed
  /// when it has data for it, every few milliseconds.
  static constexpr io::Duration kReopenInterval = std::chrono::milliseconds(100);
  /// Refusals in a row after which the time slot counts as somebody else's.
  static constexpr unsigned kRefusalsMax = 5;
  /// Without data for so long an open time slot is idle.
  static constexpr io::Duration kSilence = std::chrono::milliseconds(100);
  /// Blocks that e1d has to send when one has just been given to it: one more than it needs, so
  /// that a look that is late by a block does not tear the stream. After a longer stall e1d has
  /// sent idle octets; what had been meant for then is not sent behind them, as it would delay
  /// everything from then on.
  static constexpr unsigned kQueuedBlocks = 2;

  /// The status must be that of the E1Line.
  E1dDriver(std::string socket_path, E1dLine line, std::shared_ptr<E1LineStatus> status);

  [[nodiscard]] io::Duration interval() const noexcept override { return kInterval; }
  [[nodiscard]] io::Duration idle_interval() const noexcept override {
    return answer_by_ == io::kNever ? kIdleInterval : kInterval;
  }
  void poll(io::TimePoint now) noexcept override;
  void open(std::uint8_t timeslot) noexcept override;
  void close(std::uint8_t timeslot) noexcept override;
  [[nodiscard]] bool receive(std::uint8_t timeslot, E1Block& block) noexcept override;
  void transmit(std::uint8_t timeslot, const E1Block& block) noexcept override;

 private:
  struct Timeslot {
    io::UnixSocket stream;
    E1Block partial{};  // the beginning of the next block
    std::size_t partial_bytes = 0;
    io::TimePoint clock{};   // until when blocks were handed on
    io::TimePoint ask_at{};  // not before
    unsigned refusals = 0;   // in a row
    unsigned burst = 0;      // blocks received without a pause
    bool wanted = false;
    bool asked = false;    // the answer is on its way
    bool started = false;  // something was sent
  };
  /// Requests whose answers are on their way, oldest first: time slots, or 0 for the line.
  struct Requests {
    std::array<std::uint8_t, kE1Timeslots> kinds{};
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void connect() noexcept;
  void lose(E1LineState why) noexcept;
  void set_state(E1LineState state) noexcept;
  void read_messages() noexcept;
  /// False if the connection is of no more use.
  [[nodiscard]] bool take(const E1dMessage& message, io::UnixSocket&& passed) noexcept;
  void take_alarm(const E1dMessage& message) noexcept;
  void take_timeslot(std::uint8_t number, io::UnixSocket&& stream) noexcept;
  void ask_for_timeslots() noexcept;
  [[nodiscard]] bool ask(std::span<const std::byte> request, std::uint8_t kind) noexcept;
  /// Fills `partial`; true if it is a block.
  [[nodiscard]] bool read_stream(Timeslot& timeslot) noexcept;
  void write_stream(Timeslot& timeslot, const E1Block& block) noexcept;
  void set_refused(std::uint8_t number, bool refused) noexcept;

  std::string socket_path_;
  E1dLine line_;
  std::shared_ptr<E1LineStatus> status_;
  io::UnixSocket control_;
  std::array<Timeslot, kE1Timeslots> timeslots_{};
  Requests requests_;
  io::TimePoint now_{};
  io::TimePoint connect_at_{};
  io::TimePoint answer_by_ = io::kNever;
  io::Duration retry_ = kRetryFirst;
  std::uint8_t alarms_ = 0;  // a bit for each E1dAlarm
  bool known_ = false;       // the line is there and has time slots
};

}  // namespace mgw
