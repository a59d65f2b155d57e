#include "io/backend_factory.h"

#include "io/poll_backend.h"
#include "io/uring_backend.h"
#include "io/uring_probe.h"

#include <exception>

namespace io {

namespace {

constexpr std::string_view kNoMemory = "out of memory";

template <typename Made>
std::unique_ptr<Backend> make(BufferPool& pool, const BackendOptions& options) {
  return std::make_unique<Made>(pool, options);
}

}  // namespace

tl::expected<BackendSelection, std::string> select_backend(BackendChoice wanted) noexcept {
  if (wanted == BackendChoice::poll) {
    return BackendSelection{BackendChoice::poll, {}};
  }
  std::string refusal = probe_uring();
  if (refusal.empty()) {
    return BackendSelection{BackendChoice::io_uring, {}};
  }
  if (wanted == BackendChoice::automatic) {
    return BackendSelection{BackendChoice::poll, std::move(refusal)};
  }
  return tl::unexpected<std::string>(std::move(refusal));
}

std::unique_ptr<Backend> make_backend(BackendChoice choice, BufferPool& pool,
                                      const BackendOptions& options, std::string& error) {
  try {
    if (choice == BackendChoice::poll) {
      return make<PollBackend>(pool, options);
    }
    if (choice == BackendChoice::io_uring) {
      return make<UringBackend>(pool, options);
    }
    error = "automatic is not a backend: select one first";
  } catch (const std::system_error& refused) {
    error = choice == BackendChoice::io_uring ? explain_uring_refusal(refused) : refused.what();
  } catch (const std::bad_alloc&) {
    error = kNoMemory;
  }
  return nullptr;
}

}  // namespace io
