#include "io/socket_keeper.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace io {

namespace {

/// Between two attempts to bind a port that is in use.
constexpr std::chrono::milliseconds kRetryInterval{5};

/// The address of a bound UDP socket; family none if it is none.
SocketAddress address_of(int descriptor) noexcept {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_DGRAM) {
    return {};
  }
  sockaddr_in6 address{};
  size = sizeof(address);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  return SocketAddress::from_kernel(&address, size);
}

}  // namespace

SocketKeeper::~SocketKeeper() {
  drop_unused();
}

bool SocketKeeper::inherit(int descriptor, bool is_orphan) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  if (is_orphan) {
    static_cast<void>(::connect(descriptor, &nobody, sizeof(nobody)));
  }
  const SocketAddress local = address_of(descriptor);
  if (local.port() == 0 || !inherited_.emplace(local, descriptor).second) {
    ::close(descriptor);
    return false;
  }
  return true;
}

std::vector<SocketAddress> SocketKeeper::unused() const {
  std::vector<SocketAddress> addresses;
  for (const auto& [local, descriptor] : inherited_) {
    addresses.push_back(local);
  }
  return addresses;
}

std::size_t SocketKeeper::drop_unused() noexcept {
  const std::size_t count = inherited_.size();
  for (const auto& [local, descriptor] : inherited_) {
    ::close(descriptor);
  }
  inherited_.clear();
  return count;
}

int SocketKeeper::descriptor_of(const SocketAddress& local) const noexcept {
  const auto found = bound_.find(local);
  return found == bound_.end() ? -1 : found->second;
}

Result<BoundSocket> SocketKeeper::bind_udp(const SocketOptions& options) noexcept {
  Result<BoundSocket> bound;
  if (const auto found = inherited_.find(options.local); found != inherited_.end()) {
    const int descriptor = found->second;
    inherited_.erase(found);
    bound = kernel_.adopt(descriptor, options);
  } else {
    bound = kernel_.bind_udp(options);
    while (!bound && bound.error().value() == EADDRINUSE &&
           std::chrono::steady_clock::now() < patient_until_) {
      std::this_thread::sleep_for(kRetryInterval);
      bound = kernel_.bind_udp(options);
    }
  }
  if (bound) {
    bound_[bound->local()] = bound->handle();
  }
  return bound;
}

}  // namespace io
