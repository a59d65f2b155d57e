#include "ttcn-compat/telnet_decoder.h"

namespace ttcn_compat {

namespace {

// RFC 854, "TELNET command structure".
constexpr std::uint8_t kSubnegotiationEnd = 240;
constexpr std::uint8_t kBreak = 243;
constexpr std::uint8_t kInterruptProcess = 244;
constexpr std::uint8_t kEraseCharacter = 247;
constexpr std::uint8_t kEraseLine = 248;
constexpr std::uint8_t kSubnegotiation = 250;
constexpr std::uint8_t kWill = 251;
constexpr std::uint8_t kDont = 254;
constexpr std::uint8_t kInterpretAsCommand = 255;
// RFC 1073: option, two bytes of width, two of height.
constexpr std::uint8_t kWindowSize = 31;
constexpr std::size_t kWindowSizeBytes = 5;

}  // namespace

std::optional<char> TelnetDecoder::on_command(std::uint8_t byte) noexcept {
  state_ = State::data;
  switch (byte) {
    case kInterpretAsCommand:
      return static_cast<char>(byte);
    case kBreak:
    case kInterruptProcess:
      return '\x03';
    case kEraseCharacter:
      return '\x7f';
    case kEraseLine:
      return '\x15';
    case kSubnegotiation:
      state_ = State::subnegotiation;
      subnegotiation_bytes_ = 0;
      return std::nullopt;
    default:
      if (byte >= kWill && byte <= kDont) {
        state_ = State::option;
      }
      return std::nullopt;
  }
}

void TelnetDecoder::on_subnegotiation(std::uint8_t byte) noexcept {
  if (subnegotiation_bytes_ == 0) {
    is_window_size_ = byte == kWindowSize;
  } else if (is_window_size_ && subnegotiation_bytes_ < kWindowSizeBytes) {
    new_window_lines_ = static_cast<std::uint16_t>((new_window_lines_ << 8U) | byte);
  }
  if (subnegotiation_bytes_ <= kWindowSizeBytes) {
    ++subnegotiation_bytes_;
  }
}

std::optional<char> TelnetDecoder::feed(std::uint8_t byte) noexcept {
  switch (state_) {
    case State::data:
      if (byte != kInterpretAsCommand) {
        return static_cast<char>(byte);
      }
      state_ = State::command;
      return std::nullopt;
    case State::command:
      return on_command(byte);
    case State::option:
      state_ = State::data;
      return std::nullopt;
    case State::subnegotiation:
      if (byte == kInterpretAsCommand) {
        state_ = State::subnegotiation_command;
      } else {
        on_subnegotiation(byte);
      }
      return std::nullopt;
    case State::subnegotiation_command:
      state_ = State::subnegotiation;
      if (byte == kInterpretAsCommand) {
        on_subnegotiation(byte);
      } else if (byte == kSubnegotiationEnd) {
        state_ = State::data;
        if (is_window_size_ && subnegotiation_bytes_ == kWindowSizeBytes) {
          window_lines_ = new_window_lines_;
        }
      }
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ttcn_compat
