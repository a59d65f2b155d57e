#pragma once
// An E1 line of 31 time slots, as a device of a worker: takes the blocks that come from a driver to
// the legs of the sub-slots, and the blocks that they fill back to it. Behind each received block
// exactly one is sent, so what is received clocks what is sent.

#include "mgw/e1_line_status.h"
#include "mgw/leg.h"
#include "rtp/i460.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace mgw {

class E1Leg;

/// Time slots of a line with slot 0, which carries the framing and nothing else.
inline constexpr std::size_t kE1Timeslots = 32;
/// A block: 20 ms of a time slot.
inline constexpr io::Duration kE1BlockTime = std::chrono::milliseconds(20);
/// Octets of one.
using E1Block = std::array<std::byte, rtp::kTimeslotBlockBytes>;

/// Where the blocks of a line come from and go to. Worker thread only.
class E1Driver {
 public:
  E1Driver() = default;
  E1Driver(const E1Driver&) = delete;
  E1Driver& operator=(const E1Driver&) = delete;
  E1Driver(E1Driver&&) = delete;
  E1Driver& operator=(E1Driver&&) = delete;
  virtual ~E1Driver() = default;

  /// How often it is asked for blocks while a time slot is open.
  [[nodiscard]] virtual io::Duration interval() const noexcept = 0;
  /// How often poll() is called while none is; zero: not at all.
  [[nodiscard]] virtual io::Duration idle_interval() const noexcept { return {}; }
  /// Each interval comes first of all: what the driver has to see to by itself.
  virtual void poll(io::TimePoint /*now*/) noexcept {}
  /// The first sub-slot of the time slot is in use. Blocks come once that is done.
  virtual void open(std::uint8_t timeslot) noexcept = 0;
  /// The last one is free again.
  virtual void close(std::uint8_t timeslot) noexcept = 0;
  /// The next received block of an open time slot, false if there is none for now. Each interval it
  /// is asked until then, a few times at most.
  [[nodiscard]] virtual bool receive(std::uint8_t timeslot, E1Block& block) noexcept = 0;
  /// Sends a block on an open time slot.
  virtual void transmit(std::uint8_t timeslot, const E1Block& block) noexcept = 0;
};

/// See above. Made by the control thread, then used by its worker only.
class E1Line final : public MediaDevice {
 public:
  /// Blocks of a time slot taken in one run at most: what a stall of 200 ms leaves.
  static constexpr int kBlocksPerRunMax = 10;

  /// `status` is brought up to date as far as the driver does not do it.
  E1Line(std::unique_ptr<E1Driver> driver, std::shared_ptr<E1LineStatus> status,
         io::TimePoint now) noexcept;

  /// The leg, of the connection in `slot`, has its sub-slot of this time slot from now on, which
  /// none of the others shares a bit with.
  void attach(std::uint8_t timeslot, E1Leg& leg, std::uint32_t slot, io::TimePoint now) noexcept;
  /// It no longer has. Does nothing if it had none.
  void detach(std::uint8_t timeslot, const E1Leg& leg) noexcept;

  void opened(const std::vector<io::SocketId>& /*sockets*/) override {}
  void receive(MediaPath& path, io::Datagram& datagram, io::TimePoint now) noexcept override;
  [[nodiscard]] io::TimePoint next_due() const noexcept override { return next_due_; }
  void run(MediaPath& path, io::TimePoint now) noexcept override;

 private:
  struct Attached {
    E1Leg* leg = nullptr;
    std::uint32_t slot = 0;
  };
  /// At most eight sub-slots of 8 kbit/s.
  struct Timeslot {
    std::array<Attached, 8> legs{};
    std::size_t leg_count = 0;
  };

  void run_timeslot(MediaPath& path, std::uint8_t number, io::TimePoint now) noexcept;

  /// When run() is next, if it is not for the blocks of an open time slot.
  [[nodiscard]] io::TimePoint next_idle(io::TimePoint now) const noexcept;
  void set_open_timeslots(std::size_t count) noexcept;

  std::unique_ptr<E1Driver> driver_;
  std::shared_ptr<E1LineStatus> status_;
  std::array<Timeslot, kE1Timeslots> timeslots_{};
  std::size_t open_timeslots_ = 0;
  io::TimePoint next_due_ = io::kNever;
};

}  // namespace mgw
