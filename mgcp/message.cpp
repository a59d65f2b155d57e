#include "mgcp/message.h"

#include "mgcp/text.h"

#include <array>

namespace mgcp {

namespace {

constexpr std::array<std::string_view, 6> kModeNames{"recvonly", "sendonly", "sendrecv",
                                                     "inactive", "loopback", "confecho"};

constexpr std::array<std::string_view, kRequestedItemCount> kItemCodes{
    "B",        "C",  "I",  "N",  "X",
    "L",        "M",  "R",  "S",  "D",
    "O",        "P",  "E",  "Z",  "Q",
    "T",        "RC", "LC", "A",  "ES",
    "RM",       "RD", "PL", "MD", "X-Mgw-Streams",
    "X-Mgw-Tap"};

}  // namespace

std::string_view to_text(RequestedItem item) noexcept {
  return kItemCodes[static_cast<std::size_t>(item)];
}

std::string_view to_text(Verb verb) noexcept {
  switch (verb) {
    case Verb::crcx:
      return "CRCX";
    case Verb::mdcx:
      return "MDCX";
    case Verb::dlcx:
      return "DLCX";
    case Verb::auep:
      return "AUEP";
    case Verb::aucx:
      return "AUCX";
    case Verb::rqnt:
      return "RQNT";
    case Verb::rsip:
      return "RSIP";
    case Verb::epcf:
      return "EPCF";
    case Verb::ntfy:
      return "NTFY";
    case Verb::unknown:
      break;
  }
  return {};
}

std::string_view to_text(ConnectionMode mode) noexcept {
  return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<ConnectionMode> parse_mode(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kModeNames.size(); ++i) {
    if (text::equal_ignoring_case(text, kModeNames[i])) {
      return static_cast<ConnectionMode>(i);
    }
  }
  return std::nullopt;
}

std::string_view to_text(RestartMethod method) noexcept {
  switch (method) {
    case RestartMethod::graceful:
      return "graceful";
    case RestartMethod::forced:
      return "forced";
    case RestartMethod::restart:
      return "restart";
    case RestartMethod::disconnected:
      return "disconnected";
    case RestartMethod::cancel_graceful:
      return "cancel-graceful";
    case RestartMethod::absent:
    case RestartMethod::unknown:
      break;
  }
  return {};
}

}  // namespace mgcp
