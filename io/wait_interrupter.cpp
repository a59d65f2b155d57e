#include "io/wait_interrupter.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace io {

namespace {

constexpr int kSignal = SIGURG;

/// A signal that is ignored interrupts nothing, so it needs a handler.
void ensure_handler() noexcept {
  struct sigaction present {};
  if (::sigaction(kSignal, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    static_cast<void>(::sigaction(kSignal, &action, nullptr));
  }
}

}  // namespace

WaitInterrupter::WaitInterrupter() noexcept
    : process_(::getpid()), thread_(static_cast<pid_t>(::syscall(SYS_gettid))) {
  ensure_handler();
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, kSignal);
  static_cast<void>(::pthread_sigmask(SIG_BLOCK, &blocked, &mask_));
  sigdelset(&mask_, kSignal);
}

void WaitInterrupter::interrupt() const noexcept {
  static_cast<void>(::syscall(SYS_tgkill, process_, thread_, kSignal));
}

}  // namespace io
