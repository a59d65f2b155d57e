#include "mgw/tap_port.h"

#include "mgw/media_connection.h"
#include "mgw/media_path.h"
#include "mgw/tap_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mgw {

namespace {

/// One in so many buffers is not for taps, so that copies for them never cost media its buffer.
constexpr std::uint32_t kReservedShare = 8;

/// The gateway's own address of a socket of the connection.
io::SocketAddress local_of(const MediaConnection& connection, const io::SocketId& socket) noexcept {
  const io::SocketAddress& local = connection.tap->local;
  return socket == connection.rtp_socket
             ? local
             : local.with_port(static_cast<std::uint16_t>(local.port() + 1));
}

bool put_into(TapQueue& queue, const Capture& capture, const io::Datagram& datagram,
              io::TimePoint now, const io::SocketAddress& source,
              const io::SocketAddress& destination) noexcept {
  std::unique_ptr<TapRecord> record = queue.take();
  if (record == nullptr) {
    return false;
  }
  record->capture = capture.number();
  record->at = now;
  record->source = source;
  record->destination = destination;
  record->size = datagram.size;
  record->captured = std::min<std::uint32_t>(datagram.size, kTapPacketBytesMax);
  std::memcpy(record->bytes.data(), datagram.bytes().data(), record->captured);
  queue.push(std::move(record));
  return true;
}

}  // namespace

void TapPort::received(const MediaConnection& connection, const io::Datagram& datagram) noexcept {
  const Tap& tap = *connection.tap;
  if (tap.taps.in != nullptr) {
    copy(*tap.taps.in, tap.queue, datagram, datagram.peer, local_of(connection, datagram.socket));
  }
}

void TapPort::sent(const MediaConnection& connection, const io::Datagram& datagram) noexcept {
  const Tap& tap = *connection.tap;
  if (tap.taps.out != nullptr) {
    copy(*tap.taps.out, tap.queue, datagram, local_of(connection, datagram.socket), datagram.peer);
  }
}

void TapPort::from_device(const MediaConnection& connection,
                          const io::Datagram& datagram) noexcept {
  const Tap& tap = *connection.tap;
  if (tap.taps.in != nullptr && tap.taps.in->capture != nullptr) {
    copy(*tap.taps.in, tap.queue, datagram, connection.entry.remote_rtp, tap.local);
  }
}

void TapPort::to_device(const MediaConnection& connection, const io::Datagram& datagram) noexcept {
  const Tap& tap = *connection.tap;
  if (tap.taps.out != nullptr && tap.taps.out->capture != nullptr) {
    copy(*tap.taps.out, tap.queue, datagram, tap.local, connection.entry.remote_rtp);
  }
}

void TapPort::copy(const TapTarget& target, TapQueue* queue, const io::Datagram& datagram,
                   const io::SocketAddress& source, const io::SocketAddress& destination) noexcept {
  const Capture* const capture = target.capture.get();
  if (capture != nullptr && capture->ended()) {
    return;
  }
  counters_.copied.add();
  if (capture == nullptr) {
    if (send_copy(target.address, datagram)) {
      counters_.tapped.add();
      counters_.sent.add();
      return;
    }
  } else if (queue != nullptr && put_into(*queue, *capture, datagram, now_, source, destination)) {
    counters_.tapped.add();
    counters_.consumed.add();
    return;
  }
  counters_.dropped[static_cast<std::size_t>(DropCause::tap_overrun)].add();
}

bool TapPort::send_copy(const io::SocketAddress& address, const io::Datagram& datagram) noexcept {
  if (pool_.available() <= pool_.slots() / kReservedShare) {
    return false;
  }
  io::Datagram extra;
  extra.buffer = pool_.take();
  extra.offset = datagram.offset;
  extra.size = datagram.size;
  extra.socket = datagram.socket;
  extra.peer = address;
  std::memcpy(extra.bytes().data(), datagram.bytes().data(), datagram.size);
  backend_.send(std::move(extra));
  return true;
}

}  // namespace mgw
