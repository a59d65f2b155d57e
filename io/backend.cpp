#include "io/backend.h"

#include <cerrno>

namespace io {

void Backend::set_peer(SocketId /*socket*/, const SocketAddress& /*peer*/) noexcept {}

bool Backend::is_unreachable(int error) noexcept {
  switch (error) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ENONET:
    case ENOPROTOOPT:
    case EPROTO:
      return true;
    default:
      return false;
  }
}

void Backend::count_send_error(int error) noexcept {
  if (error == EAGAIN || error == ENOBUFS) {
    counters_.send_would_block.add();
  } else if (is_unreachable(error)) {
    counters_.send_unreachable.add();
  } else {
    counters_.send_failed.add();
  }
}

}  // namespace io
