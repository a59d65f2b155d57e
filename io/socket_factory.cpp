#include "io/socket_factory.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace io {

namespace {

/// RFC 2474: the code point is the upper six bits of the TOS or traffic class byte.
constexpr unsigned kDscpShift = 2;
constexpr std::uint8_t kDscpMax = 63;
/// Any port will do to ask for a route; 9 is the discard service (RFC 863).
constexpr std::uint16_t kDiscardPort = 9;

/// A file descriptor that is closed unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) {
      ::close(value_);
    }
  }
  [[nodiscard]] int value() const noexcept { return value_; }
  [[nodiscard]] int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

int kernel_family(const SocketAddress& address) noexcept {
  switch (address.family()) {
    case AddressFamily::ipv4:
      return AF_INET;
    case AddressFamily::ipv6:
      return AF_INET6;
    default:
      return AF_UNSPEC;
  }
}

/// Sets an int option; 0 or the errno.
int set_option(int descriptor, int level, int option, int value) noexcept {
  return ::setsockopt(descriptor, level, option, &value, sizeof(value)) == 0 ? 0 : errno;
}

/// Sizes a socket buffer, beyond the system-wide maximum where we have the right to.
int set_buffer_size(int descriptor, int force_option, int option, std::uint32_t bytes) noexcept {
  const int value = bytes > 0x3fffffffU ? 0x3fffffff : static_cast<int>(bytes);
  if (value == 0 || set_option(descriptor, SOL_SOCKET, force_option, value) == 0) {
    return 0;
  }
  return set_option(descriptor, SOL_SOCKET, option, value);
}

/// Everything that SocketOptions asks for besides the addresses; 0 or the errno.
int configure(int descriptor, const SocketOptions& options) noexcept {
  const bool ipv6 = options.local.family() == AddressFamily::ipv6;
  int error = 0;
  if (ipv6) {
    error = set_option(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  }
  if (error == 0 && options.dscp != 0) {
    const int traffic_class = options.dscp << kDscpShift;
    error = ipv6 ? set_option(descriptor, IPPROTO_IPV6, IPV6_TCLASS, traffic_class)
                 : set_option(descriptor, IPPROTO_IP, IP_TOS, traffic_class);
  }
  // After IP_TOS, which derives a priority of its own (ip(7)).
  if (error == 0 && options.priority != 0) {
    error = set_option(descriptor, SOL_SOCKET, SO_PRIORITY, options.priority);
  }
  if (error == 0) {
    error = set_buffer_size(descriptor, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
  }
  if (error == 0) {
    error = set_buffer_size(descriptor, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
  }
  return error;
}

Result<SocketAddress> local_address(int descriptor) noexcept {
  sockaddr_in6 address{};
  socklen_t size = sizeof(address);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return failure(errno);
  }
  return SocketAddress::from_kernel(&address, size);
}

/// True if a descriptor of this number leaves fewer than `reserved` below the limit on open files:
/// the kernel always gives the lowest free number, so all below it are in use.
bool within_reserve(int descriptor, std::uint32_t reserved) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return false;
  }
  return static_cast<rlim_t>(descriptor) + reserved >= limit.rlim_cur;
}

}  // namespace

BoundSocket& BoundSocket::operator=(BoundSocket&& other) noexcept {
  if (this != &other) {
    if (handle_ >= 0) {
      factory_->close_handle(handle_);
    }
    factory_ = std::exchange(other.factory_, nullptr);
    handle_ = std::exchange(other.handle_, -1);
    joins_received_ = other.joins_received_;
    joins_sent_ = other.joins_sent_;
    local_ = other.local_;
  }
  return *this;
}

BoundSocket::~BoundSocket() {
  if (handle_ >= 0) {
    factory_->close_handle(handle_);
  }
}

KernelSocketFactory::KernelSocketFactory(std::uint32_t reserved_descriptors) noexcept
    : reserved_descriptors_(reserved_descriptors) {}

Result<BoundSocket> KernelSocketFactory::bind_udp(const SocketOptions& options) noexcept {
  const int family = kernel_family(options.local);
  if (family == AF_UNSPEC) {
    return failure(EAFNOSUPPORT);
  }
  if (options.dscp > kDscpMax) {
    return failure(EINVAL);
  }
  Descriptor descriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (descriptor.value() < 0) {
    return failure(errno);
  }
  if (within_reserve(descriptor.value(), reserved_descriptors_)) {
    return failure(EMFILE);
  }
  if (const int error = configure(descriptor.value(), options); error != 0) {
    return failure(error);
  }
  if (::bind(descriptor.value(), options.local.kernel_address(), options.local.kernel_size()) !=
      0) {
    return failure(errno);
  }
  if (options.connected && ::connect(descriptor.value(), options.connected->kernel_address(),
                                     options.connected->kernel_size()) != 0) {
    return failure(errno);
  }
  const auto local = local_address(descriptor.value());
  if (!local) {
    return tl::unexpected<std::error_code>(local.error());
  }
  const bool joins_received =
      options.join_received && set_option(descriptor.value(), SOL_UDP, UDP_GRO, 1) == 0;
  return BoundSocket(*this, descriptor.release(), *local, joins_received, options.join_sent);
}

Result<BoundSocket> KernelSocketFactory::adopt(int handle, const SocketOptions& options) noexcept {
  Descriptor descriptor(handle);
  const auto local = local_address(descriptor.value());
  if (!local) {
    return tl::unexpected<std::error_code>(local.error());
  }
  // Options that can't be set are those of the process that made it, which could.
  static_cast<void>(configure(descriptor.value(), options));
  const int flags = ::fcntl(descriptor.value(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.value(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(descriptor.value(), F_SETFD, FD_CLOEXEC) != 0) {
    return failure(errno);
  }
  const bool joins_received =
      options.join_received && set_option(descriptor.value(), SOL_UDP, UDP_GRO, 1) == 0;
  return BoundSocket(*this, descriptor.release(), *local, joins_received, options.join_sent);
}

Result<SocketAddress> KernelSocketFactory::route_source(const SocketAddress& remote) noexcept {
  const int family = kernel_family(remote);
  if (family == AF_UNSPEC) {
    return failure(EAFNOSUPPORT);
  }
  const Descriptor descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (descriptor.value() < 0) {
    return failure(errno);
  }
  const SocketAddress target = remote.with_port(kDiscardPort);
  if (::connect(descriptor.value(), target.kernel_address(), target.kernel_size()) != 0) {
    return failure(errno);
  }
  const auto local = local_address(descriptor.value());
  if (!local) {
    return local;
  }
  return local->with_port(0);
}

void KernelSocketFactory::close_handle(int handle) noexcept {
  ::close(handle);
}

}  // namespace io
