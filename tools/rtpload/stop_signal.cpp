#include "tools/rtpload/stop_signal.h"

#include <csignal>

namespace rtpload {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void on_stop_signal(int) {
  stop_requested = 1;
}

}  // namespace

void catch_stop_signals() noexcept {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags =
      static_cast<int>(SA_RESETHAND);  // without SA_RESTART: sleeps and waits end early
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool stop_was_requested() noexcept {
  return stop_requested != 0;
}

}  // namespace rtpload
