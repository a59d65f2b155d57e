// bare-relay: what any relay with epoll costs on this machine. Reads a packet, sends it on, and
// does nothing else: no checks, no statistics, no RTCP, one thread. It understands as much of MGCP
// as rtpload speaks to it, and is the floor that the benchmark shows beside the gateways. Not for
// use.

#include "io/socket_address.h"
#include "mgcp/parser.h"
#include "mgcp/sdp.h"
#include "mgcp/writer.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

constexpr std::uint32_t kAgentEvent = 0xffffffff;
constexpr std::size_t kEventsMax = 512;
constexpr std::size_t kDatagramBytesMax = 4096;
constexpr std::uint32_t kNobody = 0xffffffff;

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t mgcp_port = 2427;
  std::uint32_t wait_us = 0;  ///< before each look for packets; 0 = they are taken at once
  bool connect = false;       ///< sockets are connected to the peers
};

struct Leg {
  int file = -1;
  std::uint32_t partner = kNobody;
  io::SocketAddress remote;  ///< family none: not yet known
};

[[noreturn]] void fail(const char* step) {
  throw std::system_error(errno, std::generic_category(), step);
}

class BareRelay {
 public:
  explicit BareRelay(const Options& options)
      : options_(options), host_(io::SocketAddress::parse(options.host, 0).value()) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) {
      fail("epoll");
    }
    agent_ = open_socket(options.mgcp_port);
    watch(agent_, kAgentEvent);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, kEventsMax> events{};
    for (;;) {
      if (options_.wait_us > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(options_.wait_us));
      }
      const int count = ::epoll_wait(epoll_, events.data(), kEventsMax, -1);
      for (int i = 0; i < count; ++i) {
        const std::uint32_t who = events[static_cast<std::size_t>(i)].data.u32;
        if (who == kAgentEvent) {
          serve_agent();
        } else {
          relay(who);
        }
      }
    }
  }

 private:
  [[nodiscard]] int open_socket(std::uint16_t port) const {
    const int file = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const io::SocketAddress local = host_.with_port(port);
    if (file < 0 || ::bind(file, local.kernel_address(), local.kernel_size()) != 0) {
      fail("socket");
    }
    return file;
  }

  void watch(int file, std::uint32_t who) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = who;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event) != 0) {
      fail("epoll");
    }
  }

  void relay(std::uint32_t number) {
    sockaddr_in6 source;
    socklen_t source_bytes = sizeof(source);
    const Leg& from = legs_[number];
    const ssize_t bytes = ::recvfrom(from.file, media_.data(), media_.size(), MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&source), &source_bytes);
    if (bytes < 0 || from.partner == kNobody) {
      return;
    }
    const Leg& to = legs_[from.partner];
    if (to.remote.port() == 0) {
      return;
    }
    const bool named = !options_.connect;
    static_cast<void>(::sendto(to.file, media_.data(), static_cast<std::size_t>(bytes),
                               MSG_DONTWAIT, named ? to.remote.kernel_address() : nullptr,
                               named ? to.remote.kernel_size() : 0));
  }

  void serve_agent() {
    std::array<char, kDatagramBytesMax> bytes;
    sockaddr_in6 agent;
    socklen_t agent_bytes = sizeof(agent);
    const ssize_t size = ::recvfrom(agent_, bytes.data(), bytes.size(), MSG_DONTWAIT,
                                    reinterpret_cast<sockaddr*>(&agent), &agent_bytes);
    if (size <= 0) {
      return;
    }
    mgcp::MessageSplitter messages({bytes.data(), static_cast<std::size_t>(size)});
    while (const auto message = messages.next()) {
      const mgcp::FirstLine first = mgcp::parse_first_line(*message);
      const auto* const line = std::get_if<mgcp::CommandLine>(&first);
      if (line == nullptr) {
        continue;
      }
      if (const auto request = mgcp::parse_parameters(*line)) {
        const std::string answer = serve(*request);
        static_cast<void>(::sendto(agent_, answer.data(), answer.size(), 0,
                                   reinterpret_cast<sockaddr*>(&agent), agent_bytes));
      }
    }
  }

  [[nodiscard]] std::string serve(const mgcp::Request& request) {
    mgcp::Response response;
    response.transaction_id = request.transaction_id;
    std::string endpoint(request.endpoint);
    std::string connection;
    std::string description;
    if (request.verb == mgcp::Verb::crcx || request.verb == mgcp::Verb::mdcx) {
      std::uint32_t number = 0;
      if (request.verb == mgcp::Verb::crcx) {
        if (endpoint.find('*') != std::string::npos) {
          endpoint = fmt::format("rtpbridge/{:x}@mgw", endpoints_++);
          response.endpoint = endpoint;
        }
        number = add_leg(endpoint);
        connection = fmt::format("{:X}", number + 1);
        response.connection_id = connection;
      } else {
        number = static_cast<std::uint32_t>(
                     std::stoul(std::string(request.connection_id.value_or("1")), nullptr, 16)) -
                 1;
      }
      if (request.sdp && request.sdp->address && request.sdp->port) {
        set_remote(legs_.at(number), request.sdp->address->with_port(*request.sdp->port));
      }
      description = describe(legs_.at(number));
      response.sdp = description;
    } else if (request.verb == mgcp::Verb::dlcx) {
      response.code = mgcp::ResponseCode::connection_deleted;
    }
    std::string text;
    mgcp::write_response(text, response);
    return text;
  }

  [[nodiscard]] std::uint32_t add_leg(const std::string& endpoint) {
    const auto number = static_cast<std::uint32_t>(legs_.size());
    Leg& leg = legs_.emplace_back();
    leg.file = open_socket(0);
    watch(leg.file, number);
    const auto [place, is_first] = newest_leg_.try_emplace(endpoint, number);
    if (!is_first) {
      leg.partner = place->second;
      legs_[place->second].partner = number;
    }
    return number;
  }

  void set_remote(Leg& leg, const io::SocketAddress& remote) const {
    leg.remote = remote;
    if (options_.connect &&
        ::connect(leg.file, remote.kernel_address(), remote.kernel_size()) != 0) {
      fail("connect");
    }
  }

  [[nodiscard]] std::string describe(const Leg& leg) const {
    sockaddr_in6 local;
    socklen_t local_bytes = sizeof(local);
    if (::getsockname(leg.file, reinterpret_cast<sockaddr*>(&local), &local_bytes) != 0) {
      fail("getsockname");
    }
    mgcp::SessionAnswer answer;
    answer.connection_id = "1";
    answer.address = host_;
    answer.port = io::SocketAddress::from_kernel(&local, local_bytes).port();
    std::string text;
    mgcp::write_sdp(text, answer);
    return text;
  }

  Options options_;
  io::SocketAddress host_;
  int epoll_ = -1;
  int agent_ = -1;
  std::uint32_t endpoints_ = 0;
  std::vector<Leg> legs_;
  std::unordered_map<std::string, std::uint32_t> newest_leg_;  ///< by endpoint name
  std::array<std::byte, 2048> media_{};
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A relay that does nothing but relay: the floor of a benchmark.");
  app.add_option("--mgcp-port", options.mgcp_port, "UDP port for the call agent");
  app.add_option("--wait-us", options.wait_us, "Look for packets only so often");
  app.add_flag("--connect", options.connect, "Connect the sockets to their peers");
  CLI11_PARSE(app, argc, argv);
  try {
    BareRelay(options).run();
  } catch (const std::exception& error) {
    std::cerr << "bare-relay: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
