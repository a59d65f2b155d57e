#pragma once
// Log records as text, JSON and GSMTAP packets. Pure functions of the record; local time is that of
// the process. Any thread.

#include "io/log_record.h"
#include "io/log_targets.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace io {

/// Whether a line has the ANSI sequences that colour its level.
enum class LogColour : std::uint8_t { off, on };

/// The line without line end, in the style's layout. Nothing in it ends the line or speaks to a
/// terminal, whatever was quoted.
[[nodiscard]] std::string format_log(const LogRecord& record, const LogStyle& style,
                                     LogColour colour);
/// Message and fields alone, printable.
[[nodiscard]] std::string format_log_message(const LogRecord& record);
/// A GSMTAP packet (version 2, type 0x10, Osmocom's log) as Wireshark's dissector `gsmtap_log`
/// reads it: header of 16 bytes, time, program, process, level, category, place, then the text.
[[nodiscard]] std::string format_log_gsmtap(const LogRecord& record, std::uint32_t process_id);
/// The file that wrote the line, from the root of the repository on.
[[nodiscard]] std::string_view log_file_of(const LogRecord& record) noexcept;

}  // namespace io
