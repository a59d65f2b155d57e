#include "tools/rtpload/osmux_trunk.h"

#include "rtp/rtp_header.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rtpload {
namespace {

constexpr std::size_t kDatagramBytesMax = 65536;
/// Kernel memory for what arrives between two looks at the socket.
constexpr int kReceiveBufferBytes = 4 << 20;

rtp::OsmuxOptions link_options() {
  rtp::OsmuxOptions options;
  options.datagrams_max = rtp::kOsmuxDatagramsDefault;
  return options;
}

}  // namespace

OsmuxTrunk::OsmuxTrunk(int socket, const io::SocketAddress& local)
    : socket_(socket), local_(local), link_(link_options()) {
  legs_.fill(kNoLeg);
}

OsmuxTrunk::~OsmuxTrunk() {
  ::close(socket_);
}

tl::expected<std::unique_ptr<OsmuxTrunk>, std::string> OsmuxTrunk::open(
    const io::SocketAddress& host) {
  const io::SocketAddress any = host.with_port(0);
  const int socket =
      ::socket(any.kernel_address()->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return tl::unexpected(std::string("no socket for the trunk: ") + std::strerror(errno));
  }
  static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes,
                                 sizeof(kReceiveBufferBytes)));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto* address = reinterpret_cast<sockaddr*>(&bound);
  if (::bind(socket, any.kernel_address(), any.kernel_size()) != 0 ||
      ::getsockname(socket, address, &size) != 0) {
    std::string error = any.text() + ": " + std::strerror(errno);
    ::close(socket);
    return tl::unexpected(std::move(error));
  }
  return std::unique_ptr<OsmuxTrunk>(
      new OsmuxTrunk(socket, io::SocketAddress::from_kernel(address, size)));
}

bool OsmuxTrunk::add_leg(std::uint32_t leg, std::uint8_t own, std::uint8_t far,
                         const io::SocketAddress& gateway, io::TimePoint now) {
  gateway_ = gateway;
  legs_[own] = leg;
  if (far_circuits_.size() <= leg) {
    far_circuits_.resize(leg + 1U);
  }
  far_circuits_[leg] = far;
  return link_.add_circuit(far, now);
}

void OsmuxTrunk::push(std::uint32_t leg, std::span<const std::uint8_t> packet,
                      io::TimePoint now) noexcept {
  const std::span<const std::byte> bytes = std::as_bytes(packet);
  const auto header = rtp::parse_rtp(bytes);
  if (header) {
    // What the link refuses shows as lost.
    static_cast<void>(link_.push(far_circuits_[leg], *header,
                                 bytes.subspan(header->payload_offset, header->payload_size), now,
                                 *this));
  }
}

void OsmuxTrunk::flush_due(io::TimePoint now) noexcept {
  if (link_.deadline() <= now) {
    link_.flush(now, *this);
  }
}

void OsmuxTrunk::on_osmux_datagram(std::span<const std::byte> datagram) noexcept {
  // What the kernel refuses shows as lost.
  static_cast<void>(::sendto(socket_, datagram.data(), datagram.size(), MSG_DONTWAIT,
                             gateway_.kernel_address(), gateway_.kernel_size()));
}

void OsmuxTrunk::receive(MediaChecker& checker) noexcept {
  std::array<std::byte, kDatagramBytesMax> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0) {
      return;
    }
    take_apart(std::span(buffer).first(static_cast<std::size_t>(size)), read_clocks().wall_ns,
               checker);
  }
}

void OsmuxTrunk::take_apart(std::span<const std::byte> datagram, std::uint64_t received_ns,
                            MediaChecker& checker) const noexcept {
  rtp::OsmuxReader reader(datagram);
  while (const auto chunk = reader.next()) {
    const std::uint32_t leg = legs_[chunk->header.circuit];
    if (chunk->header.kind != rtp::OsmuxKind::voice || leg == kNoLeg) {
      continue;
    }
    const std::size_t bytes = chunk->frames.size() / chunk->header.frame_count;
    for (std::size_t frame = 0; frame < chunk->header.frame_count; ++frame) {
      std::array<std::uint8_t, kPacketBytesMax> packet{};
      const std::size_t size = write_rebuilt_packet(packet, checker.codec_of(leg), chunk->header,
                                                    chunk->frames.subspan(frame * bytes, bytes));
      checker.on_frame(leg, std::span(packet).first(size), received_ns);
    }
  }
}

}  // namespace rtpload
