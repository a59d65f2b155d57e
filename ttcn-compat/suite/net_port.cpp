#include "ttcn-compat/suite/NetPort.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace Net {
namespace {

// What a socket may have received while the test case was busy: some seconds of media of many legs.
constexpr int kReceiveBufferBytes = 4 * 1024 * 1024;
constexpr std::size_t kDatagramBytesMax = 65536;
// Attempts to find an even port whose neighbour is free as well.
constexpr int kPairAttempts = 1000;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

Address make_address(const char* text, int port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    address.length = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.length = sizeof(sockaddr_in6);
  } else {
    TTCN_error("'%s' is no address", text);
  }
  return address;
}

// A bound UDP socket, or -1 with errno.
int bound_socket(const char* text, int port) {
  Address address = make_address(text, port);
  const int descriptor = socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return -1;
  }
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes, sizeof kReceiveBufferBytes);
  if (bind(descriptor, address.get(), address.length) != 0) {
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
  }
  return descriptor;
}

int port_of(int descriptor) {
  Address address;
  address.length = sizeof address.storage;
  if (getsockname(descriptor, address.get(), &address.length) != 0) {
    TTCN_error("getsockname: %s", std::strerror(errno));
  }
  // Both families have the port at the same place.
  return ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);
}

}  // namespace

NetPort* NetPort::mapped_ = nullptr;

NetPort::NetPort(const char* port_name) : NetPort_BASE(port_name), buffer_(kDatagramBytesMax) {}

NetPort::~NetPort() = default;

NetPort& NetPort::mapped() {
  if (mapped_ == nullptr) {
    TTCN_error("the port of the sockets is not mapped");
  }
  return *mapped_;
}

void NetPort::user_map(const char*, Map_Params&) {
  mapped_ = this;
}

void NetPort::user_unmap(const char*, Map_Params&) {
  remove_all();
  mapped_ = nullptr;
}

int NetPort::add(int descriptor, bool is_stream) {
  sockets_.push_back({descriptor, is_stream});
  Handler_Add_Fd_Read(descriptor);
  return static_cast<int>(sockets_.size()) - 1;
}

int NetPort::descriptor_of(int socket) const {
  if (socket < 0 || socket >= static_cast<int>(sockets_.size()) ||
      sockets_[socket].descriptor < 0) {
    TTCN_error("there is no socket %d", socket);
  }
  return sockets_[socket].descriptor;
}

void NetPort::remove(int socket) {
  const int descriptor = descriptor_of(socket);
  Handler_Remove_Fd_Read(descriptor);
  close(descriptor);
  sockets_[socket].descriptor = -1;
}

void NetPort::remove_all() {
  for (std::size_t socket = 0; socket < sockets_.size(); ++socket) {
    if (sockets_[socket].descriptor >= 0) {
      remove(static_cast<int>(socket));
    }
  }
  sockets_.clear();
}

void NetPort::report_refusal(int socket) {
  Refused refused;
  refused.socket() = socket;
  incoming_message(refused);
}

void NetPort::outgoing_send(const Bytes& bytes) {
  const int socket = static_cast<int>(bytes.socket());
  const int descriptor = descriptor_of(socket);
  const auto& data = bytes.data();
  const auto length = static_cast<std::size_t>(data.lengthof());
  // An ICMP error that waits at the socket fails the next call on it, which then has sent nothing.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const ssize_t sent =
        ::send(descriptor, static_cast<const unsigned char*>(data), length, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(length)) {
      return;
    }
    if (sent >= 0 || errno != ECONNREFUSED) {
      TTCN_error("send on socket %d: %s", socket, sent >= 0 ? "cut" : std::strerror(errno));
    }
    report_refusal(socket);
  }
}

bool NetPort::receive_one(int socket) {
  const Socket entry = sockets_[socket];
  const ssize_t length = recv(entry.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (length < 0 && errno == ECONNREFUSED) {
    report_refusal(socket);
    return true;
  }
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (entry.is_stream && length <= 0) {
    Handler_Remove_Fd_Read(entry.descriptor);
    Closed closed;
    closed.socket() = socket;
    incoming_message(closed);
    return false;
  }
  if (length < 0) {
    TTCN_error("recv on socket %d: %s", socket, std::strerror(errno));
  }
  Bytes bytes;
  bytes.socket() = socket;
  bytes.data() = OCTETSTRING(static_cast<int>(length), buffer_.data());
  incoming_message(bytes);
  return true;
}

void NetPort::Handle_Fd_Event_Readable(int descriptor) {
  for (std::size_t socket = 0; socket < sockets_.size(); ++socket) {
    if (sockets_[socket].descriptor == descriptor) {
      while (receive_one(static_cast<int>(socket))) {}
      return;
    }
  }
}

void NetPort::Handle_Fd_Event_Writable(int) {}

void NetPort::Handle_Fd_Event_Error(int descriptor) {
  Handle_Fd_Event_Readable(descriptor);
}

INTEGER udp__open(const CHARSTRING& address, const INTEGER& udp_port) {
  const int descriptor = bound_socket(address, static_cast<int>(udp_port));
  if (descriptor < 0) {
    TTCN_error("bind to %s port %d: %s", static_cast<const char*>(address),
               static_cast<int>(udp_port), std::strerror(errno));
  }
  return NetPort::mapped().add(descriptor, false);
}

INTEGER udp__open__pair(const CHARSTRING& address) {
  for (int attempt = 0; attempt < kPairAttempts; ++attempt) {
    const int lower = bound_socket(address, 0);
    if (lower < 0) {
      break;
    }
    const int port = port_of(lower);
    const int upper = port % 2 == 0 ? bound_socket(address, port + 1) : -1;
    if (upper >= 0) {
      const int socket = NetPort::mapped().add(lower, false);
      NetPort::mapped().add(upper, false);
      return socket;
    }
    close(lower);
  }
  TTCN_error("no pair of ports is free at %s", static_cast<const char*>(address));
}

void udp__connect(const INTEGER& socket, const CHARSTRING& address, const INTEGER& udp_port) {
  Address peer = make_address(address, static_cast<int>(udp_port));
  if (connect(NetPort::mapped().descriptor_of(static_cast<int>(socket)), peer.get(), peer.length) !=
      0) {
    TTCN_error("connect to %s port %d: %s", static_cast<const char*>(address),
               static_cast<int>(udp_port), std::strerror(errno));
  }
}

INTEGER tcp__open(const CHARSTRING& address, const INTEGER& tcp_port) {
  Address peer = make_address(address, static_cast<int>(tcp_port));
  const int descriptor = socket(peer.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    TTCN_error("socket: %s", std::strerror(errno));
  }
  if (connect(descriptor, peer.get(), peer.length) != 0) {
    close(descriptor);
    return -1;
  }
  return NetPort::mapped().add(descriptor, true);
}

INTEGER local__port(const INTEGER& socket) {
  return port_of(NetPort::mapped().descriptor_of(static_cast<int>(socket)));
}

void close__socket(const INTEGER& socket) {
  NetPort::mapped().remove(static_cast<int>(socket));
}

FLOAT clock__seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace Net
