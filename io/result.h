#pragma once
// How a function says that it may fail for an expected reason: it returns a Result and the caller
// looks.

#include <tl/expected.hpp>

#include <system_error>

namespace io {

/// A value, or the system's reason why there is none.
template <typename Value>
using Result = tl::expected<Value, std::error_code>;

/// The reason `errno_value` (a positive errno) as the error of a Result.
[[nodiscard]] inline tl::unexpected<std::error_code> failure(int errno_value) noexcept {
  return tl::unexpected<std::error_code>(std::error_code(errno_value, std::generic_category()));
}

}  // namespace io
