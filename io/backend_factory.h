#pragma once
// Chooses and makes the backend: by what the operator asked for and by what this kernel lets us do.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/result.h"

#include <memory>
#include <string>

namespace io {

/// What was asked for.
enum class BackendChoice : std::uint8_t { automatic, poll, io_uring };

/// What runs, or why nothing does.
struct BackendSelection {
  BackendChoice choice = BackendChoice::poll;  ///< poll or io_uring, never automatic
  std::string
      fallback_reason;  ///< why `automatic` did not take io_uring; empty if it did or was not asked
};

/// Tries io_uring by doing (set-up, buffer ring, receive, send, cancel on loopback), when `wanted`
/// is automatic or io_uring. Error text instead of a selection when io_uring was demanded and this
/// kernel, a seccomp filter or a memory limit refuses.
[[nodiscard]] tl::expected<BackendSelection, std::string> select_backend(
    BackendChoice wanted) noexcept;

/// Makes the selected backend over `pool`, on the thread that will run it. Null with the reason in
/// `error` if the kernel refuses after all. `pool` must outlive it.
[[nodiscard]] std::unique_ptr<Backend> make_backend(BackendChoice choice, BufferPool& pool,
                                                    const BackendOptions& options,
                                                    std::string& error);

}  // namespace io
