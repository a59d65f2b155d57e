#include "tests/sim/e1d_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace sim {

namespace {

using Octets = E1dServer::Octets;

constexpr std::uint8_t kIdle = 0xff;

void must(bool holds, const char* what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

/// A message with its header, numbers in the machine's order.
Octets message(std::uint8_t type, std::uint8_t interface, std::uint8_t line, std::uint8_t timeslot,
               const Octets& content) {
  const std::uint16_t magic = 0x01e1;
  const auto length = static_cast<std::uint16_t>(8 + content.size());
  Octets out(8);
  std::memcpy(out.data(), &magic, 2);
  std::memcpy(out.data() + 2, &length, 2);
  out[4] = type;
  out[5] = interface;
  out[6] = line;
  out[7] = timeslot;
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

void send_with(int client, const Octets& octets, int descriptor) {
  iovec vector{const_cast<std::uint8_t*>(octets.data()), octets.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(int));
  }
  static_cast<void>(::sendmsg(client, &header, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void close_all(std::span<int> descriptors) {
  for (int& descriptor : descriptors) {
    if (descriptor >= 0) {
      ::close(std::exchange(descriptor, -1));
    }
  }
}

}  // namespace

E1dServer::E1dServer(std::string path) : path_(std::move(path)) {
  start();
}

E1dServer::~E1dServer() {
  stop();
}

void E1dServer::start() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  must(path_.size() < sizeof(address.sun_path), "the path of the server is too long");
  std::memcpy(address.sun_path, path_.data(), path_.size());
  listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  must(listener_ >= 0, "no socket for the server");
  must(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
       "the server cannot be bound");
  must(::listen(listener_, 8) == 0, "the server cannot listen");
}

void E1dServer::stop() {
  close_all({&listener_, 1});
  close_all(clients_);
  clients_.clear();
  for (Timeslot& timeslot : timeslots_) {
    close_all({&timeslot.stream, 1});
    timeslot = {};
  }
  ::unlink(path_.c_str());
}

void E1dServer::step() {
  for (int client = 0; (client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    clients_.push_back(client);
  }
  for (std::size_t i = 0; i < clients_.size();) {
    Octets octets(4096);
    const ssize_t size = ::recv(clients_[i], octets.data(), octets.size(), MSG_DONTWAIT);
    if (size == 0) {
      ::close(clients_[i]);
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (size < 0) {
      ++i;
    } else {
      octets.resize(static_cast<std::size_t>(size));
      requests_.push_back(octets);
      if (answers) {
        answer(clients_[i], octets);
      }
    }
  }
}

void E1dServer::answer(int client, const Octets& request) {
  must(request.size() >= 8 && request[0] == message(0, 0, 0, 0, {})[0], "no request of e1d's");
  const bool is_ours = request[5] == 0 && request[6] == 0 && has_line;
  if (request[4] == 0x01) {
    send_with(client, message(0x81, 0, 0, 0, is_ours ? Octets{0, line_mode, 0} : Octets{}), -1);
  } else {
    must(request[4] == 0x04 && request.size() == 12 && request[8] == 0x10,
         "neither a query of a line nor a raw time slot");
    open_timeslot(client, request);
  }
}

void E1dServer::open_timeslot(int client, const Octets& request) {
  const std::uint8_t number = request[7];
  // The last client may have gone since the line last had something for it.
  if (is_open(number)) {
    std::uint8_t octet = 0;
    if (::recv(timeslots_[number].stream, &octet, 1, MSG_DONTWAIT | MSG_PEEK) == 0) {
      drop(number);
    }
  }
  if (fails) {
    send_with(client, message(0xc0 | 0x16, 0, 0, 0, {}), -1);
    return;
  }
  if (number == 0 || number > 31 || taken[number] || is_open(number)) {
    send_with(client, message(0x84, 0, 0, 0, {}), -1);
    return;
  }
  std::array<int, 2> ends{};
  must(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no stream for a time slot");
  timeslots_[number] = {};
  timeslots_[number].stream = ends[0];
  std::uint16_t piece = 0;
  std::memcpy(&piece, request.data() + 10, 2);
  timeslots_[number].piece = piece;
  send_with(client, message(0x84, 0, 0, 0, {number, request[8], 0, 0, 0, 0xa5}), ends[1]);
  ::close(ends[1]);
}

void E1dServer::send_raw(const Octets& octets) {
  for (const int client : clients_) {
    send_with(client, octets, -1);
  }
}

void E1dServer::send_event(std::uint8_t type, std::uint8_t interface, std::uint8_t line) {
  send_raw(message(type, interface, line, 0xff, {}));
}

void E1dServer::deliver(std::uint8_t timeslot, const Octets& octets) {
  static_cast<void>(::send(timeslots_[timeslot].stream, octets.data(), octets.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL));
}

E1dServer::Octets E1dServer::take(std::uint8_t timeslot, std::size_t octets_max) {
  Octets octets(octets_max);
  const ssize_t size =
      ::recv(timeslots_[timeslot].stream, octets.data(), octets.size(), MSG_DONTWAIT);
  if (size == 0) {
    drop(timeslot);
  }
  octets.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return octets;
}

void E1dServer::drop(std::uint8_t timeslot) {
  close_all({&timeslots_[timeslot].stream, 1});
  timeslots_[timeslot] = {};
}

void E1dServer::move(std::size_t octets) {
  std::array<Octets, 32> sent;
  for (std::uint8_t number = 1; number < 32; ++number) {
    if (is_open(number)) {
      Timeslot& timeslot = timeslots_[number];
      sent[number] = take(number, octets);
      timeslot.started = timeslot.started || !sent[number].empty();
      missing_ += timeslot.started ? octets - sent[number].size() : 0;
    }
    sent[number].resize(octets, kIdle);
  }
  for (std::uint8_t number = 1; number < 32; ++number) {
    if (!is_open(number)) {
      continue;
    }
    const auto partner = static_cast<std::uint8_t>(number == 31 ? 31 : ((number - 1) ^ 1) + 1);
    Timeslot& timeslot = timeslots_[number];
    const Octets& heard = sent[loopback ? number : partner];
    timeslot.gathered.insert(timeslot.gathered.end(), heard.begin(), heard.end());
    while (timeslot.gathered.size() >= timeslot.piece) {
      const auto end = timeslot.gathered.begin() + static_cast<std::ptrdiff_t>(timeslot.piece);
      deliver(number, Octets(timeslot.gathered.begin(), end));
      timeslot.gathered.erase(timeslot.gathered.begin(), end);
    }
  }
}

}  // namespace sim
