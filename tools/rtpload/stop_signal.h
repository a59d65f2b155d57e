#pragma once
// SIGINT and SIGTERM: the first asks the run to end its calls properly, the second ends the
// process.

namespace rtpload {

/// Installs the handlers. Main thread, once.
void catch_stop_signals() noexcept;
/// True after the first signal. Async-signal-safe on the other side.
[[nodiscard]] bool stop_was_requested() noexcept;

}  // namespace rtpload
