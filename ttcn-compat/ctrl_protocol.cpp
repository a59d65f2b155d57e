#include "ttcn-compat/ctrl_protocol.h"

#include "mgcp/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace ttcn_compat {

namespace {

constexpr std::size_t kHeadBytes = 3;  // length and stream identifier
constexpr std::size_t kFrameBytesMax = 0xffff;
constexpr std::uint8_t kStreamOsmo = 0xee;  // extensions, told apart by the octet that follows
constexpr std::uint8_t kStreamCcm = 0xfe;   // the protocol's own messages
constexpr char kExtensionCtrl = 0;
constexpr char kPing = 0;
constexpr char kPong = 1;
constexpr char kIdentityAcknowledgement = 6;

/// Takes the next word off the front of `text`; empty after the last.
std::string_view take_word(std::string_view& text, std::string_view separators) {
  text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(separators));
  text.remove_prefix(word.size());
  return word;
}

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_variable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view(".:-_@").find(c) != std::string_view::npos;
  });
}

std::string error(std::string_view id, std::string_view text) {
  return fmt::format("ERROR {} {}", id, text);
}

std::string answer_get(std::string_view id, std::string_view rest, CtrlSubject& subject,
                       io::TimePoint now) {
  const std::string_view variable = take_word(rest, " \n");
  if (variable.empty()) {
    return error(id, "GET incomplete");
  }
  if (!is_variable(variable)) {
    return error(id, "GET variable contains invalid characters");
  }
  if (!take_word(rest, " \n").empty()) {
    return error(id, "GET with trailing characters");
  }
  const CtrlAnswer answer = subject.get(variable, now);
  return answer ? fmt::format("GET_REPLY {} {} {}", id, variable, *answer)
                : error(id, answer.error());
}

std::string answer_set(std::string_view id, std::string_view rest, CtrlSubject& subject,
                       io::TimePoint now) {
  const std::string_view variable = take_word(rest, " \n");
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::string_view value = rest.substr(0, rest.find('\n'));
  if (variable.empty() || value.empty()) {
    return error(id, "SET incomplete");
  }
  if (!is_variable(variable)) {
    return error(id, "SET variable contains invalid characters");
  }
  const CtrlAnswer answer = subject.set(variable, value, now);
  return answer ? fmt::format("SET_REPLY {} {} {}", id, variable, *answer)
                : error(id, answer.error());
}

}  // namespace

std::string answer_ctrl_request(std::string_view request, CtrlSubject& subject, io::TimePoint now) {
  request = request.substr(0, request.find('\0'));
  const std::string_view verb = take_word(request, " ");
  if (verb.empty()) {
    return error("err", "Request malformed");
  }
  const auto is = [verb](std::string_view name) {
    return mgcp::text::equal_ignoring_case(verb, name);
  };
  const bool known =
      is("GET") || is("SET") || is("GET_REPLY") || is("SET_REPLY") || is("TRAP") || is("ERROR");
  if (!known) {
    return error("err", "Request type unknown");
  }
  const std::string_view id = take_word(request, " ");
  if (id.empty()) {
    return error("err", "Missing ID");
  }
  if (is("ERROR")) {
    return {};  // two programs must not tell each other of errors for ever
  }
  if (!is_number(id)) {
    return error("err", "Invalid message ID number");
  }
  if (is("GET")) {
    return answer_get(id, request, subject, now);
  }
  if (is("SET")) {
    return answer_set(id, request, subject, now);
  }
  return error(id, "Trying to execute something not GET or SET");
}

void append_ctrl_frame(std::string& out, std::string_view text) {
  text = text.substr(0, kFrameBytesMax - 1);
  const std::size_t length = text.size() + 1;
  out += static_cast<char>(length >> 8U);
  out += static_cast<char>(length & 0xffU);
  out += static_cast<char>(kStreamOsmo);
  out += kExtensionCtrl;
  out += text;
}

void CtrlSession::on_frame(std::uint8_t stream, std::string_view payload, io::TimePoint now,
                           std::string& out) {
  if (payload.empty()) {
    return;
  }
  if (stream == kStreamCcm && (payload[0] == kPing || payload[0] == kIdentityAcknowledgement)) {
    out += {'\0', '\1', static_cast<char>(kStreamCcm),
            payload[0] == kPing ? kPong : kIdentityAcknowledgement};
  } else if (stream == kStreamOsmo && payload[0] == kExtensionCtrl) {
    const std::string answer = answer_ctrl_request(payload.substr(1), subject_, now);
    if (!answer.empty()) {
      append_ctrl_frame(out, answer);
    }
  }
}

bool CtrlSession::receive(std::string_view& bytes, io::TimePoint now, std::string& out) {
  const auto byte = [](char c) { return static_cast<std::uint8_t>(c); };
  // Only a frame's own bytes are ever kept, so each byte is moved twice at most.
  while (!bytes.empty()) {
    const std::size_t wanted =
        pending_.size() < kHeadBytes
            ? kHeadBytes
            : kHeadBytes + (std::size_t{byte(pending_[0])} << 8U | byte(pending_[1]));
    const std::size_t taken = std::min(wanted - pending_.size(), bytes.size());
    pending_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (pending_.size() < kHeadBytes) {
      return true;
    }
    const std::size_t length = std::size_t{byte(pending_[0])} << 8U | byte(pending_[1]);
    if (length > kRequestBytesMax) {
      return false;
    }
    if (pending_.size() == kHeadBytes + length) {
      const std::size_t before = out.size();
      on_frame(byte(pending_[2]), std::string_view(pending_).substr(kHeadBytes), now, out);
      pending_.clear();
      if (out.size() != before) {
        return true;
      }
    }
  }
  return true;
}

}  // namespace ttcn_compat
