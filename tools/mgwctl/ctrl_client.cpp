#include "tools/mgwctl/ctrl_client.h"

#include "ttcn-compat/ctrl_protocol.h"

#include <fmt/format.h>

namespace mgwctl {

std::optional<std::string> take_ctrl_message(std::string& received) {
  constexpr std::size_t kHeadBytes = 3;
  constexpr unsigned char kIpaExtension = 0xEE;
  const auto octet = [&received](std::size_t at) {
    return static_cast<unsigned char>(received[at]);
  };
  while (received.size() >= kHeadBytes) {
    const std::size_t size = std::size_t{octet(0)} << 8U | octet(1);
    if (received.size() < kHeadBytes + size) {
      return std::nullopt;
    }
    const bool is_ctrl = octet(2) == kIpaExtension && size >= 1 && received[kHeadBytes] == '\0';
    const std::string text = received.substr(kHeadBytes, size);
    received.erase(0, kHeadBytes + size);
    if (is_ctrl) {
      return text.substr(1);
    }
  }
  return std::nullopt;
}

tl::expected<CtrlClient, std::string> CtrlClient::connect(const io::SocketAddress& server,
                                                          io::Duration timeout) {
  auto stream = TcpStream::connect(server, io::MonotonicClock().now() + timeout);
  if (!stream) {
    return tl::unexpected(
        fmt::format("{} (is there a control interface: ctrl.enabled?)", stream.error()));
  }
  return CtrlClient(std::move(*stream), timeout);
}

tl::expected<std::string, std::string> CtrlClient::get(std::string_view variable) {
  return ask("GET", variable, {});
}

tl::expected<std::string, std::string> CtrlClient::set(std::string_view variable,
                                                       std::string_view value) {
  return ask("SET", variable, value);
}

tl::expected<std::string, std::string> CtrlClient::ask(std::string_view kind,
                                                       std::string_view variable,
                                                       std::string_view value) {
  const std::uint32_t id = next_id_++;
  std::string request;
  ttcn_compat::append_ctrl_frame(
      request, value.empty() ? fmt::format("{} {} {}", kind, id, variable)
                             : fmt::format("{} {} {} {}", kind, id, variable, value));
  if (auto sent = stream_.send(request); !sent) {
    closed_ = true;
    return tl::unexpected(sent.error());
  }
  const std::string good = fmt::format("{}_REPLY {} {} ", kind, id, variable);
  const std::string bad = fmt::format("ERROR {} ", id);
  const io::TimePoint deadline = io::MonotonicClock().now() + timeout_;
  while (true) {
    const auto message = take_ctrl_message(received_);
    if (message && message->starts_with(good)) {
      return message->substr(good.size());
    }
    if (message && message->starts_with(bad)) {
      return tl::unexpected(message->substr(bad.size()));
    }
    if (message) {
      continue;  // something else that the gateway has to say
    }
    const auto part = stream_.receive(deadline);
    if (!part) {
      return tl::unexpected(part.error());
    }
    closed_ = part->empty();
    if (closed_) {
      return tl::unexpected(std::string("the gateway has closed the control connection"));
    }
    received_ += *part;
  }
}

}  // namespace mgwctl
