#pragma once
// UDP sockets that outlive the process that made them: those of another process are used again
// instead of being bound anew, and those of this one can be handed on.

#include "io/socket_factory.h"
#include "io/time.h"

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace io {

/// See above. One thread.
class SocketKeeper final : public SocketFactory {
 public:
  /// `kernel` must outlive it.
  explicit SocketKeeper(KernelSocketFactory& kernel) noexcept : kernel_(kernel) {}
  SocketKeeper(const SocketKeeper&) = delete;
  SocketKeeper& operator=(const SocketKeeper&) = delete;
  SocketKeeper(SocketKeeper&&) = delete;
  SocketKeeper& operator=(SocketKeeper&&) = delete;
  /// Closes what was inherited and not used.
  ~SocketKeeper() override;

  /// Takes a socket of another process over, to be had with bind_udp() by its address. False, and
  /// it is closed, if it is no bound UDP socket. `is_orphan`: no process uses it any more; should
  /// it be connected to a peer, that ends.
  bool inherit(int descriptor, bool is_orphan);
  /// The addresses of those that were inherited and not used.
  [[nodiscard]] std::vector<SocketAddress> unused() const;
  /// Closes these; returns how many.
  std::size_t drop_unused() noexcept;
  /// Until then a port that is in use is tried again and again: the kernel may not yet have let go
  /// of what a process held that has just died. Waits.
  void be_patient_until(TimePoint deadline) noexcept { patient_until_ = deadline; }
  /// The descriptor that was last bound to the address; -1: none. Meaningless once it is closed.
  [[nodiscard]] int descriptor_of(const SocketAddress& local) const noexcept;

  [[nodiscard]] Result<BoundSocket> bind_udp(const SocketOptions& options) noexcept override;
  [[nodiscard]] Result<SocketAddress> route_source(const SocketAddress& remote) noexcept override {
    return kernel_.route_source(remote);
  }
  void close_handle(int handle) noexcept override { kernel_.close_handle(handle); }

 private:
  KernelSocketFactory& kernel_;
  TimePoint patient_until_{};
  std::unordered_map<SocketAddress, int> inherited_;
  std::unordered_map<SocketAddress, int> bound_;  // grows with the ports in the range, no further
};

}  // namespace io
