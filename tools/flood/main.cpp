// flood: sends datagrams that nobody asked for at a steady rate: RTP packets of strangers to a
// range of media ports, or malformed messages to an MGCP port. To see what a gateway makes of it.

#include "io/socket_address.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Sockets that take turns, so that there are as many senders.
constexpr std::size_t kSenders = 64;
/// Messages of one system call.
constexpr std::size_t kBatch = 32;
/// Datagrams that the kernel cuts out of one message at most (UDP_MAX_SEGMENTS is 64).
constexpr std::uint32_t kBurstMax = 32;

struct Options {
  std::string target;  ///< HOST:PORT
  bool mgcp = false;
  std::uint32_t port_pairs = 1;  ///< of RTP, from PORT on
  std::uint32_t rate = 10000;
  double seconds = 1;
  bool spread = false;      ///< the strangers' packets go to RTCP ports too
  std::uint32_t burst = 1;  ///< datagrams in a row that are alike and go to one port
};

/// Neither commands nor responses, or commands with something wrong.
std::vector<std::string> malformed_messages() {
  std::vector<std::string> messages = {
      "CRCX\r\n",
      "CRCX 1 \r\n",
      "CRCX notanumber rtpbridge/*@mgw MGCP 1.0\r\nC: 1\r\n\r\n",
      "CRCX 7 rtpbridge/*@mgw MGCP 9.9\r\nC: 1\r\nM: recvonly\r\n",
      "XXXX 8 rtpbridge/1@mgw MGCP 1.0\r\n",
      "MDCX 9 rtpbridge/zzz@mgw MGCP 1.0\r\nI: 1\r\n",
      "\r\n\r\n\r\n",
      ".\r\n.\r\n.\r\n",
      "200\r\n",
      std::string("CRCX 10 rtpbridge/\0*@mgw MGCP 1.0\r\n", 36),
      "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n",
  };
  messages.push_back(std::string(1400, 'A'));
  std::string binary;
  for (int i = 0; i < 300; ++i) {
    binary += static_cast<char>(i * 37 + i / 7);
  }
  messages.push_back(std::move(binary));
  return messages;
}

/// A valid packet of G.711, but for who sends it.
std::string stranger_packet() {
  constexpr std::size_t kBytes = 172;
  std::string packet(kBytes, '\x55');
  const std::array<unsigned char, 12> header = {0x80, 8,   0,    1,    0,    0,
                                                0,    160, 0xBA, 0xD0, 0xBA, 0xD0};
  std::memcpy(packet.data(), header.data(), header.size());
  return packet;
}

/// Tells the kernel into what to cut a message (udp(7), UDP_SEGMENT).
class SegmentSize {
 public:
  void set(msghdr& header, std::uint16_t bytes) noexcept {
    header.msg_control = control_.data();
    header.msg_controllen = control_.size();
    cmsghdr* const item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = IPPROTO_UDP;
    item->cmsg_type = UDP_SEGMENT;
    item->cmsg_len = CMSG_LEN(sizeof bytes);
    std::memcpy(CMSG_DATA(item), &bytes, sizeof bytes);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control_{};
};

class Flood {
 public:
  Flood(const Options& options, const io::SocketAddress& target)
      : options_(options),
        messages_(options.mgcp ? malformed_messages() : std::vector{stranger_packet()}) {
    const std::uint32_t ports = options.mgcp ? 1 : 2 * options.port_pairs;
    for (std::uint32_t port = 0; port < ports; port += options.spread ? 1 : 2) {
      targets_.push_back(target.with_port(static_cast<std::uint16_t>(target.port() + port)));
    }
    for (std::size_t i = 0; i < kSenders; ++i) {
      sockets_.push_back(
          ::socket(target.kernel_address()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    for (const int socket : sockets_) {
      ::close(socket);
    }
  }

  void run() {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point end = begin + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(options_.seconds));
    Clock::time_point now = begin;
    while (now < end) {
      const std::chrono::duration<double> passed = now - begin;
      const auto due = static_cast<std::uint64_t>(passed.count() * options_.rate);
      while (sent_ + failed_ + options_.burst <= due) {
        send_batch(std::min<std::uint64_t>(kBatch, (due - sent_ - failed_) / options_.burst));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      now = Clock::now();
    }
    const std::chrono::duration<double> passed = now - begin;
    std::cout << fmt::format(
        "{{\"sent\": {}, \"not_sent\": {}, \"seconds\": {:.3f}, \"per_second\": {:.0f}}}\n", sent_,
        failed_, passed.count(), static_cast<double>(sent_) / passed.count());
  }

 private:
  /// Sends `count` bursts. One goes through the kernel as one packet up to the gateway's socket
  /// (UDP_SEGMENT): whoever shares the machine with the gateway has little to spare.
  void send_batch(std::size_t count) {
    std::array<mmsghdr, kBatch> headers{};
    std::array<std::array<iovec, kBurstMax>, kBatch> bytes;
    std::array<SegmentSize, kBatch> sizes;
    for (std::size_t i = 0; i < count; ++i, ++next_) {
      const std::string& message = messages_[next_ % messages_.size()];
      const io::SocketAddress& target = targets_[next_ % targets_.size()];
      bytes[i].fill({const_cast<char*>(message.data()), message.size()});
      msghdr& header = headers[i].msg_hdr;
      header.msg_name = const_cast<sockaddr*>(target.kernel_address());
      header.msg_namelen = target.kernel_size();
      header.msg_iov = bytes[i].data();
      header.msg_iovlen = options_.burst;
      if (options_.burst > 1) {
        sizes[i].set(header, static_cast<std::uint16_t>(message.size()));
      }
    }
    const int socket = sockets_[turn_++ % sockets_.size()];
    const int done = ::sendmmsg(socket, headers.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    sent_ += static_cast<std::uint64_t>(std::max(done, 0)) * options_.burst;
    failed_ += done < 0 ? options_.burst : 0U;
    // Answers and ICMP errors pile up otherwise.
    std::array<char, 64> ignored;
    while (::recv(socket, ignored.data(), ignored.size(), MSG_DONTWAIT) >= 0) {}
  }

  Options options_;
  std::vector<std::string> messages_;
  std::vector<io::SocketAddress> targets_;
  std::vector<int> sockets_;
  std::uint64_t sent_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t next_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Sends datagrams that nobody asked for, at a steady rate", "flood");
  app.add_option("target", options.target, "HOST:PORT, numeric")->required();
  app.add_flag("--mgcp", options.mgcp, "Malformed messages in place of RTP packets");
  app.add_option("--port-pairs", options.port_pairs, "RTP ports from PORT on, every second one")
      ->check(CLI::Range(1U, 32768U));
  app.add_flag("--rtcp-ports", options.spread, "The ports between them too");
  app.add_option("--burst", options.burst, "Datagrams in a row that are alike and go to one port")
      ->check(CLI::Range(1U, kBurstMax));
  app.add_option("--rate", options.rate, "Datagrams per second")->check(CLI::Range(1U, 10000000U));
  app.add_option("--seconds", options.seconds, "How long")->check(CLI::Range(0.01, 86400.0));
  CLI11_PARSE(app, argc, argv);
  const auto target = io::SocketAddress::parse_with_port(options.target);
  if (!target) {
    std::cerr << "flood: not a numeric HOST:PORT\n";
    return EXIT_FAILURE;
  }
  Flood(options, *target).run();
  return EXIT_SUCCESS;
}
