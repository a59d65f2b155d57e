#pragma once
// Text that strangers chose, where people read it: in logs, sessions and views nothing in it may
// end a line or speak to the terminal. Pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace io {

/// Bytes of the UTF-8 sequence at the beginning of `text`; 0: there is none (RFC 3629).
[[nodiscard]] std::size_t utf8_size(std::string_view text) noexcept;
/// Whether one UTF-8 sequence is a control character: C0, DEL, or C1 (ISO 6429; U+009B is as good
/// as ESC [ to some terminals).
[[nodiscard]] bool is_control(std::string_view sequence) noexcept;
/// Appends the text with each byte of a control character, and each that is no UTF-8, as \xNN.
void append_printable(std::string& out, std::string_view text);
/// The same as a text of its own.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace io
