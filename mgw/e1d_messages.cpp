#include "mgw/e1d_messages.h"

#include "rtp/i460.h"

#include <cstring>

namespace mgw {

namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint16_t kMagic = 0x01e1;
constexpr std::uint8_t kNone = 0xff;

constexpr std::uint8_t kLineQuery = 0x01;
constexpr std::uint8_t kOpen = 0x04;
constexpr std::uint8_t kFirstAlarm = 0x40;
constexpr std::uint8_t kLastAlarm = 0x47;
constexpr std::uint8_t kAnswer = 0x80;
constexpr std::uint8_t kRefusal = 0xc0;
constexpr std::uint8_t kKindMask = 0xc0;

constexpr std::uint8_t kRawMode = 0x10;
constexpr std::uint8_t kChannelised = 0x20;
constexpr std::size_t kLineInfoBytes = 3;
constexpr std::size_t kTimeslotInfoBytes = 6;

void put(std::span<std::byte> out, std::size_t at, std::uint16_t value) noexcept {
  std::memcpy(out.data() + at, &value, sizeof(value));
}

std::uint16_t get(std::span<const std::byte> octets, std::size_t at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, octets.data() + at, sizeof(value));
  return value;
}

void put_header(std::span<std::byte> out, std::uint8_t type, E1dLine line,
                std::uint8_t timeslot) noexcept {
  put(out, 0, kMagic);
  put(out, 2, static_cast<std::uint16_t>(out.size()));
  out[4] = std::byte{type};
  out[5] = std::byte{line.interface};
  out[6] = std::byte{line.line};
  out[7] = std::byte{timeslot};
}

/// Of several lines the one with this number counts.
E1dLineMode line_mode(std::span<const std::byte> lines, std::uint8_t line) noexcept {
  for (; lines.size() >= kLineInfoBytes; lines = lines.subspan(kLineInfoBytes)) {
    if (lines[0] == std::byte{line}) {
      return lines[1] == std::byte{kChannelised} ? E1dLineMode::channelised : E1dLineMode::other;
    }
  }
  return E1dLineMode::absent;
}

}  // namespace

std::array<std::byte, 8> write_e1d_line_query(E1dLine line) noexcept {
  std::array<std::byte, kHeaderBytes> out{};
  put_header(out, kLineQuery, line, kNone);
  return out;
}

std::array<std::byte, 12> write_e1d_open(E1dLine line, std::uint8_t timeslot) noexcept {
  std::array<std::byte, kHeaderBytes + 4> out{};
  put_header(out, kOpen, line, timeslot);
  out[kHeaderBytes] = std::byte{kRawMode};
  put(out, kHeaderBytes + 2, static_cast<std::uint16_t>(rtp::kTimeslotBlockBytes));
  return out;
}

std::optional<E1dMessage> read_e1d_message(std::span<const std::byte> octets,
                                           std::uint8_t line) noexcept {
  if (octets.size() < kHeaderBytes || get(octets, 0) != kMagic || get(octets, 2) != octets.size()) {
    return std::nullopt;
  }
  E1dMessage message;
  const auto type = std::to_integer<std::uint8_t>(octets[4]);
  const std::span<const std::byte> content = octets.subspan(kHeaderBytes);
  message.at = {std::to_integer<std::uint8_t>(octets[5]), std::to_integer<std::uint8_t>(octets[6])};
  if (type == (kLineQuery | kAnswer)) {
    message.kind = E1dMessage::Kind::line;
    message.mode = line_mode(content, line);
  } else if (type == (kOpen | kAnswer)) {
    message.kind = E1dMessage::Kind::timeslot;
    message.accepted = content.size() == kTimeslotInfoBytes;
  } else if (type >= kFirstAlarm && type <= kLastAlarm) {
    message.kind = E1dMessage::Kind::alarm;
    message.alarm = static_cast<E1dAlarm>((type - kFirstAlarm) / 2U);
    message.present = type % 2U == 0;
  } else if ((type & kKindMask) == kRefusal) {
    message.kind = E1dMessage::Kind::refusal;
  }
  return message;
}

}  // namespace mgw
