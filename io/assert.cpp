#include "io/assert.h"

#include <cstdio>
#include <cstdlib>

namespace io {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  // One fprintf call is one write on the unbuffered standard error: lines of several threads stay
  // whole.
  static_cast<void>(std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression));
  std::abort();
}

}  // namespace io
