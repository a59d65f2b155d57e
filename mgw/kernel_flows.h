#pragma once
// Which connections of a worker the kernel forwards by itself, and the change from the sockets to
// the kernel and back. At each instant exactly one of the two owns a stream with its statistics:
//
// - To the kernel: only when a stream has been quiet for a moment after its last packet left, and
//   only from the very next sequence number on. If that packet was in the socket already, the
//   kernel meets one with a later number, lets it pass to the socket and gives the stream up.
// - Back: the kernel lets a packet that it does not forward pass to the socket and marks the flow
// as
//   stopped in the same step, so nothing that follows overtakes it. Whatever the sockets bring of a
//   connection whose flow is active ends it, as does every command.
//
// Owned by a worker, its thread only. Packets that the kernel forwards cost nothing here; memory is
// made when connections are installed.

#include "io/kernel_flow_table.h"
#include "io/time.h"
#include "mgw/kernel_counters.h"
#include "mgw/kernel_flow_plan.h"
#include "mgw/media_connection.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mgw {

class MediaPath;

/// See above.
class KernelFlows {
 public:
  /// `path` must outlive it.
  KernelFlows(MediaPath& path, std::unique_ptr<io::KernelFlowTable> table, KernelFlowMarks marks);
  KernelFlows(const KernelFlows&) = delete;
  KernelFlows& operator=(const KernelFlows&) = delete;
  KernelFlows(KernelFlows&&) = delete;
  KernelFlows& operator=(KernelFlows&&) = delete;
  ~KernelFlows();

  /// Makes room for slots below `slots`.
  void reserve(std::size_t slots);

  // --- on the way of a packet

  /// A packet of an active flow came to the socket: the flow is over.
  void interrupt(MediaConnection& connection, io::TimePoint now) noexcept;
  /// A packet of the connection went its way through the sockets.
  void on_forwarded(std::uint32_t slot, MediaConnection& connection, std::uint8_t payload_type,
                    io::TimePoint now) noexcept;
  /// Brings the counters of the connection, and of those that send to it, up to date.
  void update(std::uint32_t slot) noexcept;

  // --- for the worker

  /// When run() is to be called.
  [[nodiscard]] io::TimePoint next_due() const noexcept { return next_due_; }
  /// Gives quiet streams to the kernel and reads the counters of some flows.
  void run(io::TimePoint now) noexcept;
  /// The connection is about to change: its flow and those that lead to it end, and it is looked at
  /// anew.
  void on_change(std::uint32_t slot) noexcept;
  /// The connection is about to go, or to have other sockets.
  void on_release(std::uint32_t slot) noexcept;

 private:
  static constexpr std::uint32_t kNone = KernelFlowPlace::kNone;

  struct Flow {
    std::uint32_t source = kNone;          ///< slot
    std::uint32_t target = kNone;          ///< slot; kNone unless it is active
    std::uint32_t next_to_target = kNone;  ///< the next flow that leads to the same slot
    std::uint32_t position = 0;            ///< in active_
    io::SocketAddress local;               ///< it is bound to
    io::SocketAddress from;                ///< whence it leaves
    io::SocketAddress remote;              ///< and where to
    io::Way way;
    io::TimePoint way_checked{};
    io::TimePoint activated{};
    io::Duration pause{};        ///< after the next interruption
    io::KernelFlowState seen{};  ///< what has been counted
  };

  void activate(std::uint32_t slot, MediaConnection& connection, io::TimePoint now) noexcept;
  [[nodiscard]] bool take_flow(std::uint32_t slot, MediaConnection& connection) noexcept;
  void refuse(MediaConnection& connection, KernelRefusal refusal, io::TimePoint now) noexcept;
  void end(std::uint32_t number) noexcept;
  void update_flow(std::uint32_t number) noexcept;
  void account(Flow& flow, const io::KernelFlowState& state) noexcept;
  void look(io::TimePoint now) noexcept;
  void check_way(std::uint32_t number, io::TimePoint now) noexcept;

  MediaPath& path_;
  std::unique_ptr<io::KernelFlowTable> table_;
  const KernelFlowMarks marks_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> active_;
  std::vector<std::uint32_t> quiet_;     ///< slots that may soon be given to the kernel
  std::vector<std::uint32_t> first_to_;  ///< by slot: the first flow that leads there
  std::size_t next_look_ = 0;            ///< in active_
  io::TimePoint look_due_ = io::kNever;
  io::TimePoint next_due_ = io::kNever;
};

}  // namespace mgw
