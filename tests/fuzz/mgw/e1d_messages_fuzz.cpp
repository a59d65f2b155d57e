// Messages of osmo-e1d: any octets as one message, and as what a server sends to a driver whose
// time slots are asked for, opened and closed meanwhile.
#include "mgw/e1d_driver.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A listener of this process alone, for all inputs.
class Server {
 public:
  Server() : path_("/tmp/mgw-e1d-fuzz-" + std::to_string(::getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ::unlink(path_.c_str());
    listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    require(::listen(listener_, 4) == 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(Server&&) = delete;
  ~Server() {
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] io::UnixSocket accept() const {
    return io::UnixSocket(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  std::string path_;
  int listener_ = -1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = std::as_bytes(std::span(data, size));
  if (const auto message = mgw::read_e1d_message(input, 0)) {
    require(message->kind <= mgw::E1dMessage::Kind::other);
    require(message->alarm <= mgw::E1dAlarm::framing);
  }
  static const Server server;
  const auto status = std::make_shared<mgw::E1LineStatus>();
  mgw::E1dDriver driver(server.path(), {0, 0}, status);
  io::TimePoint now{std::chrono::seconds(1)};
  driver.poll(now);
  io::UnixSocket client = server.accept();
  // Pieces of the input: an octet of length and what is done, then the message as it is.
  while (!input.empty() && client) {
    const auto choice = std::to_integer<std::uint8_t>(input[0]);
    input = input.subspan(1);
    const std::size_t length = std::min<std::size_t>(choice & 0x1fU, input.size());
    static_cast<void>(client.send(input.first(length)));
    input = input.subspan(length);
    const auto named = static_cast<std::uint8_t>(1 + length % 31);
    if ((choice & 0x20U) != 0) {
      driver.open(named);
    }
    if ((choice & 0x40U) != 0) {
      driver.close(named);
    }
    now += (choice & 0x80U) != 0 ? mgw::E1dDriver::kRetryLast : mgw::E1dDriver::kInterval;
    driver.poll(now);
    mgw::E1Block block;
    for (std::uint8_t timeslot = 1; timeslot < mgw::kE1Timeslots; ++timeslot) {
      if (driver.receive(timeslot, block)) {
        driver.transmit(timeslot, block);
      }
    }
    require(status->line_state() <= mgw::E1LineState::alarm);
    if (io::UnixSocket again = server.accept()) {
      client = std::move(again);
    }
  }
  return 0;
}
