#pragma once
// The telnet protocol (RFC 854, RFC 855) as far as a command line needs it: commands and
// negotiations are taken out of what a client sends, wherever it is cut. Bytes in, bytes out.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ttcn_compat {

/// What the server sends before its first prompt: IAC WILL ECHO, IAC WILL SUPPRESS-GO-AHEAD,
/// IAC DONT LINEMODE, IAC DO NAWS.
inline constexpr std::string_view kTelnetGreeting =
    "\xff\xfb\x01\xff\xfb\x03\xff\xfe\x22\xff\xfd\x1f";

/// Takes one client's bytes one by one. Negotiations are not answered: the greeting says all that
/// this server does. Memory is constant.
class TelnetDecoder {
 public:
  /// What is typed, if `byte` is that. "Interrupt process" and "break" are control-C, "erase
  /// character" backspace, "erase line" control-U.
  [[nodiscard]] std::optional<char> feed(std::uint8_t byte) noexcept;
  /// Lines of the client's window as it last told (RFC 1073); 0: it did not.
  [[nodiscard]] std::uint16_t window_lines() const noexcept { return window_lines_; }

 private:
  enum class State : std::uint8_t { data, command, option, subnegotiation, subnegotiation_command };

  [[nodiscard]] std::optional<char> on_command(std::uint8_t byte) noexcept;
  void on_subnegotiation(std::uint8_t byte) noexcept;

  State state_ = State::data;
  std::size_t subnegotiation_bytes_ = 0;
  bool is_window_size_ = false;
  std::uint16_t window_lines_ = 0;
  std::uint16_t new_window_lines_ = 0;
};

}  // namespace ttcn_compat
