#include "tests/contract/throttled_network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace contract {

ThrottledNetwork::ThrottledNetwork() {
  previous_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (previous_ < 0 || ::unshare(CLONE_NEWNET) != 0) {
    problem_ = std::string("no network namespace: ") + std::strerror(errno);
    return;
  }
  const char* const commands =
      "PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && "
      "tc qdisc add dev lo root tbf rate 2mbit burst 4kb limit 1mb";
  if (std::system(commands) != 0) {
    problem_ = "ip or tc failed";
  }
}

ThrottledNetwork::~ThrottledNetwork() {
  if (previous_ >= 0) {
    if (::setns(previous_, CLONE_NEWNET) != 0) {
      std::abort();  // every later test would run in the wrong network
    }
    ::close(previous_);
  }
}

}  // namespace contract
