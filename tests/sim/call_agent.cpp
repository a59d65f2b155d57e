#include "tests/sim/call_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace sim {

namespace {

/// RFC 3435 section 3.5.2: first repeat, longest interval, T-MAX.
constexpr io::Duration kFirstInterval = std::chrono::milliseconds(500);
constexpr io::Duration kLongestInterval = std::chrono::seconds(4);
constexpr io::Duration kGiveUpAfter = std::chrono::seconds(20);

/// The next line of `rest`, without its end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 2, rest.size()));
  return line;
}

unsigned number_in(std::string_view text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string Answer::parameter(std::string_view name) const {
  std::string_view rest = text;
  take_line(rest);
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) {
      break;
    }
    if (line.starts_with(name) && line.substr(name.size()).starts_with(": ")) {
      return std::string(line.substr(name.size() + 2));
    }
  }
  return {};
}

std::string Answer::sdp_line(std::string_view prefix) const {
  std::string_view rest = text;
  while (!rest.empty() && !take_line(rest).empty()) {}
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.starts_with(prefix)) {
      return std::string(line.substr(prefix.size()));
    }
  }
  return {};
}

io::SocketAddress Answer::media() const {
  std::string host = sdp_line("c=IN IP4 ");
  if (host.empty()) {
    host = sdp_line("c=IN IP6 ");
  }
  const auto port = static_cast<std::uint16_t>(number_in(sdp_line("m=audio ")));
  return io::SocketAddress::parse(host, port).value_or(io::SocketAddress());
}

std::string Answer::formats() const {
  const std::string line = sdp_line("m=audio ");
  const std::size_t at = line.find("RTP/AVP ");
  return at == std::string::npos ? std::string() : line.substr(at + 8);
}

std::vector<std::string> split_messages(std::string_view datagram) {
  std::vector<std::string> messages(1);
  while (!datagram.empty()) {
    const std::string_view line = take_line(datagram);
    if (line == ".") {
      messages.emplace_back();
    } else {
      messages.back().append(line).append("\r\n");
    }
  }
  return messages;
}

CallAgent::CallAgent(io::SimNetwork& network, Trace& trace, const io::SocketAddress& local,
                     const io::SocketAddress& gateway)
    : network_(network), trace_(trace), gateway_(gateway), socket_(network, local) {}

std::uint32_t CallAgent::start(std::string_view verb, std::string_view endpoint,
                               std::string_view body) {
  const std::uint32_t id = next_id_++;
  start_as(id, verb, endpoint, body);
  return id;
}

void CallAgent::start_as(std::uint32_t id, std::string_view verb, std::string_view endpoint,
                         std::string_view body) {
  Waiting command;
  command.text = fmt::format("{} {} {} MGCP 1.0\r\n{}", verb, id, endpoint, body);
  const io::TimePoint now = network_.clock().now();
  command.interval = kFirstInterval;
  command.next = now + kFirstInterval;
  command.give_up = now + kGiveUpAfter;
  send_raw(command.text);
  ++started_;
  records_[id].started = true;
  if (repeats_) {
    waiting_[id] = std::move(command);
  }
}

void CallAgent::send_raw(std::string_view datagram) {
  socket_.send(gateway_, std::as_bytes(std::span(datagram.data(), datagram.size())));
}

const Answer* CallAgent::answer(std::uint32_t id) const {
  const auto found = records_.find(id);
  return found == records_.end() || found->second.answers == 0 ? nullptr : &found->second.answer;
}

std::size_t CallAgent::answers(std::uint32_t id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? 0 : found->second.answers;
}

std::size_t CallAgent::provisional(std::uint32_t id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? 0 : found->second.provisional;
}

bool CallAgent::act() {
  bool busy = false;
  const io::TimePoint now = network_.clock().now();
  while (const auto datagram = socket_.receive()) {
    busy = true;
    trace_.add(*datagram, now);
    const auto* text = reinterpret_cast<const char*>(datagram->bytes.data());
    datagrams_.emplace_back(text, datagram->bytes.size());
    for (const std::string& message : split_messages(datagrams_.back())) {
      on_message(message);
    }
  }
  for (auto command = waiting_.begin(); command != waiting_.end();) {
    if (command->second.give_up <= now) {
      ++abandoned_;
      command = waiting_.erase(command);
      continue;
    }
    if (command->second.next <= now) {
      busy = true;
      send_raw(command->second.text);
      command->second.interval = std::min(2 * command->second.interval, kLongestInterval);
      command->second.next = now + command->second.interval;
    }
    ++command;
  }
  return busy;
}

void CallAgent::on_message(const std::string& message) {
  const std::size_t blank = message.find(' ');
  if (blank != 3) {
    return;  // a command of the gateway
  }
  const auto code = static_cast<int>(number_in(message));
  const std::uint32_t id = number_in(std::string_view(message).substr(blank + 1));
  Record& record = records_[id];
  if (code == 100) {
    ++record.provisional;
    return;
  }
  waiting_.erase(id);
  if (record.answers == 0) {
    record.answer = {code, message};
  } else if (record.started && record.answer.text != message) {
    ++contradictions_;
  }
  ++record.answers;
}

io::TimePoint CallAgent::next() const {
  io::TimePoint earliest = io::kNever;
  for (const auto& [id, command] : waiting_) {
    earliest = std::min({earliest, command.next, command.give_up});
  }
  return earliest;
}

}  // namespace sim
