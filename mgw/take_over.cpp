#include "mgw/take_over.h"

#include "io/log.h"
#include "mgw/state_codec.h"
#include "mgw/state_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// Kinds of messages.
constexpr char kHello = 'h';
constexpr char kBytes = 'b';
constexpr char kSockets = 's';
constexpr char kMgcpSocket = 'm';
constexpr char kEnd = 'e';
constexpr char kReady = 'r';
constexpr char kWorking = 'w';
constexpr char kYours = 'y';
constexpr char kRefused = 'n';

/// How long the other side may be silent: while it prepares, when all commands wait, and while
/// nobody forwards media.
constexpr io::Duration kPreparingMax = std::chrono::seconds(4);
constexpr io::Duration kSwitchingMax = std::chrono::seconds(2);

/// A message of one of two kinds; the other one is a refusal, whose words are the error.
tl::expected<io::HandOverMessage, std::string> expect(io::HandOverChannel& channel, char kind) {
  auto message = channel.receive();
  if (!message) {
    return tl::unexpected(fmt::format("no answer: {}", message.error().message()));
  }
  if (message->kind == kRefused) {
    return tl::unexpected(message->bytes);
  }
  if (message->kind != kind) {
    return tl::unexpected(std::string("an unexpected message"));
  }
  return std::move(*message);
}

io::Result<void> send_bytes(io::HandOverChannel& channel, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, io::HandOverChannel::kBytesMax);
    if (const auto sent = channel.send(kBytes, part); !sent) {
      return sent;
    }
    bytes.remove_prefix(part.size());
  }
  return channel.send(kEnd);
}

/// The sockets of all connections.
std::vector<int> sockets_of(const CallControl& control, const io::SocketKeeper& sockets) {
  std::vector<int> descriptors;
  const Trunks& trunks = control.trunks();
  for (auto number = trunks.next_used(1); number; number = trunks.next_used(*number + 1)) {
    for (const auto& connection : trunks.find(*number)->connections) {
      const io::SocketAddress& local = connection->local;
      if (connection->osmux) {
        continue;
      }
      descriptors.push_back(sockets.descriptor_of(local));
      descriptors.push_back(
          sockets.descriptor_of(local.with_port(static_cast<std::uint16_t>(local.port() + 1))));
    }
  }
  std::erase(descriptors, -1);
  return descriptors;
}

/// Copies of descriptors, closed with it.
class Copies {
 public:
  explicit Copies(const std::vector<int>& originals) {
    for (const int original : originals) {
      const int copy = ::fcntl(original, F_DUPFD_CLOEXEC, 0);
      if (copy < 0) {
        complete_ = false;
        return;
      }
      copies_.push_back(copy);
    }
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  Copies(Copies&&) = delete;
  Copies& operator=(Copies&&) = delete;
  ~Copies() {
    for (const int copy : copies_) {
      ::close(copy);
    }
  }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] const std::vector<int>& all() const noexcept { return copies_; }
  /// The keeper has them now.
  void give_to(io::SocketKeeper& sockets) {
    for (const int copy : std::exchange(copies_, {})) {
      sockets.inherit(copy, false);
    }
  }

 private:
  std::vector<int> copies_;
  bool complete_ = true;
};

/// The running gateway's side up to the successor's "ready"; why not, else.
tl::expected<void, std::string> prepare(io::HandOverChannel& channel, const HandOverParts& parts,
                                        const std::vector<int>& sockets) {
  std::string state = state_header(parts.boot);
  append_state(state, parts.control, parts.clock.now());
  auto sent = parts.mgcp_socket < 0
                  ? io::Result<void>()
                  : channel.send(kMgcpSocket, {}, std::span(&parts.mgcp_socket, 1));
  std::span<const int> left(sockets);
  while (sent && !left.empty()) {
    const auto part = left.first(std::min(left.size(), io::HandOverChannel::kDescriptorsMax));
    sent = channel.send(kSockets, {}, part);
    left = left.subspan(part.size());
  }
  if (sent) {
    sent = send_bytes(channel, state);
  }
  if (!sent) {
    return tl::unexpected(sent.error().message());
  }
  return expect(channel, kReady).map([](const io::HandOverMessage&) {});
}

/// From there to its "working".
tl::expected<void, std::string> switch_over(io::HandOverChannel& channel,
                                            const HandOverParts& parts) {
  std::string media;
  append_taken_media(media, parts.control, parts.clock.now());
  if (const auto sent = send_bytes(channel, media); !sent) {
    return tl::unexpected(sent.error().message());
  }
  return expect(channel, kWorking).map([](const io::HandOverMessage&) {});
}

bool fail(std::string_view reason) {
  io::log(LogLevel::error, LogCategory::lglobal, "not taken over, the calls go on here: {}",
          reason);
  return false;
}

bool refuse_successor(io::HandOverChannel& channel, std::string_view reason) {
  static_cast<void>(channel.send(kRefused, reason));
  return fail(reason);
}

}  // namespace

bool hand_over(io::HandOverChannel& channel, const HandOverParts& parts) {
  const auto user = channel.peer_user();
  const auto process = channel.peer_process();
  if (!user || !process || (*user != ::geteuid() && *user != 0)) {
    return refuse_successor(channel, "the successor is of another user");
  }
  channel.limit_waiting(kSwitchingMax);
  const auto hello = expect(channel, kHello);
  if (!hello) {
    return fail(hello.error());
  }
  StateReader reader(hello->bytes);
  const std::uint64_t format = reader.number();
  io::log(LogLevel::notice, LogCategory::lglobal, "version {} wants to take over", reader.bytes());
  if (!reader.ok() || format < kStateFormat) {
    return refuse_successor(channel, fmt::format("the successor reads states up to format {}, this "
                                                 "one is of format {}",
                                                 format, kStateFormat));
  }
  if (!parts.settle()) {
    return refuse_successor(channel, "commands that are under way don't end");
  }
  Copies copies(sockets_of(parts.control, parts.sockets));
  if (!copies.complete()) {
    return refuse_successor(channel, "too many open files: each socket is needed twice");
  }
  channel.limit_waiting(kPreparingMax);
  if (const auto prepared = prepare(channel, parts, copies.all()); !prepared) {
    return fail(prepared.error());
  }
  channel.limit_waiting(kSwitchingMax);
  parts.control.take_media_away();
  const bool has_settled = parts.settle();
  const auto switched = has_settled ? switch_over(channel, parts)
                                    : tl::unexpected(std::string("the workers don't let go"));
  if (!switched) {
    channel = io::HandOverChannel();  // it must not go on with the sockets
    copies.give_to(parts.sockets);
    parts.control.give_media_back();
    static_cast<void>(parts.settle());
    return fail(switched.error());
  }
  parts.on_success(*process);
  static_cast<void>(channel.send(kYours));
  return true;
}

TakeOver::Outcome TakeOver::receive(const std::string& path, std::string_view version,
                                    const BootId& boot, io::SocketKeeper& sockets) {
  auto channel = io::HandOverChannel::connect(path);
  if (!channel) {
    return tl::unexpected(
        fmt::format("no gateway to take over from at {}: {}", path, channel.error().message()));
  }
  channel_ = std::move(*channel);
  channel_.limit_waiting(kPreparingMax);
  std::string hello;
  StateWriter writer(hello);
  writer.number(kStateFormat);
  writer.bytes(version);
  if (const auto sent = channel_.send(kHello, hello); !sent) {
    return tl::unexpected(sent.error().message());
  }
  if (auto received = receive_section(&sockets); !received) {
    return received;
  }
  replay_ = replay_state(bytes_, boot);
  if (replay_.outcome != ReplayOutcome::whole) {
    const std::string reason = fmt::format("the state of the running gateway is of no use: {}",
                                           to_string(replay_.outcome));
    refuse(reason);
    return tl::unexpected(reason);
  }
  return {};
}

TakeOver::Outcome TakeOver::receive_section(io::SocketKeeper* sockets) {
  bytes_.clear();
  for (;;) {
    auto message = channel_.receive();
    if (!message) {
      return tl::unexpected(
          fmt::format("the running gateway fell silent: {}", message.error().message()));
    }
    if (message->kind == kRefused) {
      return tl::unexpected(fmt::format("the running gateway refuses: {}", message->bytes));
    }
    if (message->kind == kEnd) {
      return {};
    }
    if (message->kind == kBytes) {
      bytes_ += message->bytes;
    } else if (message->kind == kMgcpSocket && !message->descriptors.empty()) {
      mgcp_socket_ = std::exchange(message->descriptors, {}).front();
    } else if (message->kind == kSockets && sockets != nullptr) {
      for (const int descriptor : std::exchange(message->descriptors, {})) {
        sockets->inherit(descriptor, false);
      }
    }
  }
}

std::optional<int> TakeOver::take_mgcp_socket() noexcept {
  return std::exchange(mgcp_socket_, std::nullopt);
}

TakeOver::Outcome TakeOver::receive_media() {
  channel_.limit_waiting(kSwitchingMax);
  if (const auto sent = channel_.send(kReady); !sent) {
    return tl::unexpected(sent.error().message());
  }
  if (auto received = receive_section(nullptr); !received) {
    return received;
  }
  if (const auto outcome = apply_records(bytes_, replay_); outcome != ReplayOutcome::whole) {
    return tl::unexpected(
        fmt::format("the media of the running gateway are of no use: {}", to_string(outcome)));
  }
  return {};
}

TakeOver::Outcome TakeOver::confirm() {
  if (const auto sent = channel_.send(kWorking); !sent) {
    return tl::unexpected(sent.error().message());
  }
  return expect(channel_, kYours).map([](const io::HandOverMessage&) {});
}

void TakeOver::refuse(std::string_view reason) noexcept {
  static_cast<void>(channel_.send(kRefused, reason));
}

}  // namespace mgw
