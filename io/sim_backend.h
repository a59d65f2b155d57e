#pragma once
// The backend of tests: the contract of Backend over a SimNetwork, on virtual time, with faults on
// demand. It never blocks: whoever steps the world moves the clock.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/sim_network.h"

#include <atomic>
#include <unordered_map>

namespace io {

/// Legal misfortunes that a SimBackend can be told to have.
struct SimFaults {
  std::uint32_t close_passes = 0;  ///< closing takes so many passes more, the port stays bound
  bool starved = false;            ///< behaves as if the pool were empty
};

/// See Backend for the contract. pass() hands what is queued to the network and takes what is due
/// at the clock's present time; `deadline` is of no concern to it.
class SimBackend final : public Backend {
 public:
  /// `pool` and `network` must outlive it.
  SimBackend(BufferPool& pool, SimNetwork& network, const BackendOptions& options);
  ~SimBackend() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "simulated"; }
  [[nodiscard]] Result<SocketId> open(BoundSocket&& socket, std::uint64_t tag) noexcept override;
  void close(SocketId socket) noexcept override;
  [[nodiscard]] PassResult pass(TimePoint deadline) noexcept override;
  void wake() noexcept override { woken_.store(true); }
  [[nodiscard]] std::uint32_t sockets() const noexcept override { return open_sockets_; }

  /// True if a pass now would do or bring something: the world must not move the clock yet.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] SimFaults& faults() noexcept { return faults_; }

 private:
  enum class SlotState : std::uint8_t { unused, open, closing };
  struct Slot {
    int handle = -1;
    std::uint32_t generation = 0;
    std::uint64_t tag = 0;
    std::size_t close_mark = 0;
    std::uint32_t close_passes_left = 0;
    SlotState state = SlotState::unused;
  };

  [[nodiscard]] Slot* find(SocketId socket) noexcept;
  [[nodiscard]] SocketId id_of(const Slot& slot) const noexcept;
  void flush();
  void send_one(const Datagram& datagram, std::size_t position);
  void finish_closing();
  void harvest();
  /// False when it stopped for want of buffers.
  [[nodiscard]] bool receive_from(Slot& slot);
  [[nodiscard]] bool out_of_buffers() noexcept;
  void report_error(const Slot& slot, int error);

  BufferPool& pool_;
  SimNetwork& network_;
  BackendOptions options_;
  SimFaults faults_;
  std::atomic<bool> woken_{false};
  bool paused_ = false;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_slots_;
  std::vector<std::uint32_t> closing_slots_;
  std::unordered_map<int, std::uint32_t> slot_of_handle_;
  std::deque<int> ready_;  // handles with work, the longest waiting first
  std::uint32_t open_sockets_ = 0;
  DatagramVector received_;
  std::vector<SocketEvent> events_;
};

}  // namespace io
