#include "io/log_format.h"

#include "io/json_text.h"
#include "io/printable_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <iterator>

namespace io {

namespace {

/// ANSI sequences that turn on the colour of a level.
constexpr std::array<std::string_view, 6> kColours{
    {"\x1b[2m", "\x1b[32m", "\x1b[1m", "\x1b[33m", "\x1b[31m", "\x1b[31m"}};
constexpr std::string_view kColourEnd = "\x1b[0m";

struct LocalTime {
  std::tm parts{};
  int milliseconds = 0;
};

LocalTime local_time(std::chrono::system_clock::time_point time) {
  const auto since_epoch =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  LocalTime result;
  ::localtime_r(&seconds, &result.parts);
  result.milliseconds = static_cast<int>(since_epoch - std::int64_t{seconds} * 1000);
  return result;
}

/// ISO 8601 with milliseconds and the offset of local time.
std::string iso_time(std::chrono::system_clock::time_point time) {
  const LocalTime local = local_time(time);
  const long offset_minutes = local.parts.tm_gmtoff / 60;
  const long magnitude = offset_minutes < 0 ? -offset_minutes : offset_minutes;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}{}{:02}:{:02}", local.parts, local.milliseconds,
                     offset_minutes < 0 ? '-' : '+', magnitude / 60, magnitude % 60);
}

/// The value of a key=value pair, in quotes if it could be taken for something else without.
void append_value(std::string& out, std::string_view value) {
  if (value.find_first_of(" \"=\\,") == std::string_view::npos) {
    append_printable(out, value);
    return;
  }
  out += '"';
  while (!value.empty()) {
    const std::size_t plain = std::min(value.find_first_of("\"\\"), value.size());
    append_printable(out, value.substr(0, plain));
    value.remove_prefix(plain);
    if (!value.empty()) {
      out += '\\';
      out += value.front();
      value.remove_prefix(1);
    }
  }
  out += '"';
}

std::string format_json(const LogRecord& record) {
  std::string out =
      fmt::format(R"({{"time":"{}","level":"{}","category":"{}","message":)", iso_time(record.time),
                  to_string(record.level), to_string(record.category));
  append_json_string(out, record.message);
  for (const LogRecord::Field& field : record.fields) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":", field.key);
    if (field.is_number) {
      out += field.value;
    } else {
      append_json_string(out, field.value);
    }
  }
  out += '}';
  return out;
}

void append_message(std::string& out, const LogRecord& record) {
  append_printable(out, record.message);
  for (const LogRecord::Field& field : record.fields) {
    fmt::format_to(std::back_inserter(out), " {}=", field.key);
    append_value(out, field.value);
  }
}

/// `words` in the colour of the level, if there is to be any.
std::string coloured(std::string words, LogLevel level, LogColour colour) {
  if (colour == LogColour::off || words.empty()) {
    return words;
  }
  return fmt::format("{}{}{}", kColours.at(static_cast<std::size_t>(level)), words, kColourEnd);
}

std::string format_standard(const LogRecord& record, LogColour colour) {
  std::string out =
      fmt::format("{} {} {} ", iso_time(record.time),
                  coloured(std::string(to_string(record.level)), record.level, colour),
                  to_string(record.category));
  append_message(out, record);
  return out;
}

std::string place_of(const LogRecord& record, LogStyle::File file) {
  std::string_view name = log_file_of(record);
  if (file == LogStyle::File::basename) {
    name.remove_prefix(name.find_last_of('/') + 1);
  }
  return fmt::format("{}:{}", name, record.line);
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char character) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
  });
  return result;
}

std::string format_osmocom(const LogRecord& record, const LogStyle& style, LogColour colour) {
  std::string out;
  if (style.extended_timestamp) {
    const LocalTime local = local_time(record.time);
    out = fmt::format("{:%Y%m%d%H%M%S}{:03} ", local.parts, local.milliseconds);
  } else if (style.timestamp) {
    out = fmt::format("{:%a %b %e %H:%M:%S %Y} ", local_time(record.time).parts);
  }
  if (style.thread_id) {
    out += fmt::format("{} ", record.thread_id);
  }
  std::string words;
  if (style.category) {
    words += printed_name(record.category) + " ";
  }
  if (style.category_hex) {
    words += fmt::format("<{:04x}> ", index_of(record.category));
  }
  if (style.level) {
    words += upper(to_string(record.level)) + " ";
  }
  out += coloured(std::move(words), record.level, colour);
  const bool place = style.file != LogStyle::File::off;
  if (place && !style.file_last) {
    out += place_of(record, style.file) + " ";
  }
  append_message(out, record);
  if (place && style.file_last) {
    out += fmt::format(" ({})", place_of(record, style.file));
  }
  return out;
}

/// Appends numbers in network byte order and texts of fixed width.
class PacketWriter {
 public:
  void u8(unsigned value) { bytes_ += static_cast<char>(value & 0xffU); }
  void u32(std::uint64_t value) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      u8(static_cast<unsigned>(value >> shift));
    }
  }
  void zeros(std::size_t count) { bytes_.append(count, '\0'); }
  /// Cut so that a zero follows, filled with zeros.
  void text(std::string_view value, std::size_t width) {
    value = value.substr(0, width - 1);
    bytes_ += value;
    zeros(width - value.size());
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Levels as numbers of GSMTAP's log packets; there is none for a warning.
constexpr std::array<unsigned, 6> kGsmtapLevels{{1, 3, 5, 5, 7, 8}};

}  // namespace

std::string format_log(const LogRecord& record, const LogStyle& style, LogColour colour) {
  switch (style.layout) {
    case LogStyle::Layout::json:
      return format_json(record);
    case LogStyle::Layout::osmocom:
      return format_osmocom(record, style, colour);
    case LogStyle::Layout::standard:
      break;
  }
  return format_standard(record, colour);
}

std::string format_log_message(const LogRecord& record) {
  std::string out;
  append_message(out, record);
  return out;
}

std::string format_log_gsmtap(const LogRecord& record, std::uint32_t process_id) {
  constexpr unsigned kVersion = 2;
  constexpr unsigned kHeaderWords = 4;
  constexpr unsigned kTypeLog = 0x10;
  constexpr std::size_t kNameWidth = 16;
  constexpr std::size_t kFileWidth = 32;
  PacketWriter packet;
  packet.u8(kVersion);
  packet.u8(kHeaderWords);
  packet.u8(kTypeLog);
  packet.zeros(13);  // of radio: time slot, channel, signal, frame number
  const auto microseconds =
      std::chrono::floor<std::chrono::microseconds>(record.time.time_since_epoch()).count();
  packet.u32(static_cast<std::uint64_t>(microseconds / 1'000'000));
  packet.u32(static_cast<std::uint64_t>(microseconds % 1'000'000));
  packet.text("mgw", kNameWidth);
  packet.u32(process_id);
  packet.u8(kGsmtapLevels.at(static_cast<std::size_t>(record.level)));
  packet.zeros(3);
  packet.text(printed_name(record.category), kNameWidth);
  std::string_view file = log_file_of(record);
  // Of a long path the end says more than the beginning.
  file.remove_prefix(file.size() >= kFileWidth ? file.size() - kFileWidth + 1 : 0);
  packet.text(file, kFileWidth);
  packet.u32(record.line);
  append_message(packet.bytes(), record);
  return std::move(packet.bytes());
}

std::string_view log_file_of(const LogRecord& record) noexcept {
  constexpr std::string_view kOwnName = "io/log_format.cpp";
  constexpr std::string_view kOwnFile = __FILE__;
  static_assert(kOwnFile.ends_with(kOwnName));
  constexpr std::string_view kRoot = kOwnFile.substr(0, kOwnFile.size() - kOwnName.size());
  std::string_view file = record.file;
  file.remove_prefix(file.starts_with(kRoot) ? kRoot.size() : 0);
  return file;
}

}  // namespace io
