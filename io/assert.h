#pragma once
// Assertions on the program's own state. They stay on in every build: a gateway whose state is
// wrong must stop before it forwards somebody's voice to a stranger. Never used on bytes from the
// network or on kernel results.

namespace io {

/// Prints what was asserted and where, then aborts. Thread-safe.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace io

/// Stops the process when `expression` is false.
#define MGW_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::io::assertion_failed(#expression, __FILE__, __LINE__))
