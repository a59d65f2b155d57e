#pragma once
// Whether this process may use io_uring on this kernel, found out by using it. Any thread.

#include <string>
#include <system_error>

namespace io {

/// Makes a backend and sends a datagram through it from one loopback socket to another, then closes
/// both. Empty if all that worked, else a sentence for the operator: which step failed and what
/// that usually means. Takes about a millisecond; never longer than a second.
[[nodiscard]] std::string probe_uring() noexcept;

/// The sentence for an exception of UringBackend's constructor.
[[nodiscard]] std::string explain_uring_refusal(const std::system_error& refused);

}  // namespace io
