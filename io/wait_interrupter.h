#pragma once
// Ends a system call in which another thread waits, for calls that look at no descriptor while they
// wait: a signal that the thread takes only there.

#include <sys/types.h>

#include <csignal>

namespace io {

/// Made on the thread that waits. The signal is SIGURG, which nothing else here uses and which is
/// ignored by default; it gets a handler that does nothing, and the thread blocks it outside of the
/// waits that are given mask(). One that is sent before the wait begins ends it at once.
class WaitInterrupter {
 public:
  WaitInterrupter() noexcept;
  WaitInterrupter(const WaitInterrupter&) = delete;
  WaitInterrupter& operator=(const WaitInterrupter&) = delete;
  WaitInterrupter(WaitInterrupter&&) = delete;
  WaitInterrupter& operator=(WaitInterrupter&&) = delete;
  ~WaitInterrupter() = default;

  /// The signals that are blocked during the wait, for system calls that take such a mask (ppoll,
  /// io_uring_enter). They return EINTR when interrupted.
  [[nodiscard]] const sigset_t& mask() const noexcept { return mask_; }
  /// Any thread, also in a signal handler. The waiting thread must not have ended.
  void interrupt() const noexcept;

 private:
  sigset_t mask_{};
  pid_t process_;
  pid_t thread_;
};

}  // namespace io
