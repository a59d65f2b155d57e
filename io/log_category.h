#pragma once
// What log lines are about. The names and their numbers are osmo-mgw's, so that its configurations
// and the habits of its operators fit: three of its own, then those of the libraries below it, most
// of which a gateway never uses. Constant tables; any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace io {

/// A category. Those that the gateway writes to: rtp (media and taps), e1, osmux, lmgcp (commands
/// and connections), lglobal (the process), lio (sockets, workers), lctrl, lstats (metrics,
/// reporters) and liuup.
enum class LogCategory : std::uint8_t {
  rtp,
  e1,
  osmux,
  lglobal,
  llapd,
  linp,
  lmux,
  lmi,
  lmib,
  lsms,
  lctrl,
  lgtp,
  lstats,
  lgsup,
  loap,
  lss7,
  lsccp,
  lsua,
  lm3ua,
  lmgcp,
  ljibuf,
  lrspro,
  lns,
  lbssgp,
  lnsdata,
  lnssignal,
  liuup,
  lpfcp,
  lcsn1,
  lio,
  ltcap,
};

/// A category as people see it.
struct LogCategoryInfo {
  std::string_view name;  ///< as in commands: "lmgcp"
  std::string_view help;  ///< what is written to it
};

/// All categories in the order of their numbers.
inline constexpr std::array<LogCategoryInfo, 31> kLogCategories{{
    {"rtp", "RTP and RTCP streams, taps"},
    {"e1", "E1 lines"},
    {"osmux", "Osmux (multiplexed RTP)"},
    {"lglobal", "The process as a whole"},
    {"llapd", "LAPD (unused)"},
    {"linp", "A-bis input (unused)"},
    {"lmux", "A-bis multiplex (unused)"},
    {"lmi", "A-bis input layer 1 (unused)"},
    {"lmib", "A-bis over B channels (unused)"},
    {"lsms", "Short messages (unused)"},
    {"lctrl", "Control interface"},
    {"lgtp", "GPRS tunnelling (unused)"},
    {"lstats", "Statistics: metrics and reporters"},
    {"lgsup", "Subscriber updates (unused)"},
    {"loap", "Authentication protocol (unused)"},
    {"lss7", "Signalling system 7 (unused)"},
    {"lsccp", "SCCP (unused)"},
    {"lsua", "SCCP user adaptation (unused)"},
    {"lm3ua", "MTP3 user adaptation (unused)"},
    {"lmgcp", "MGCP: commands and connections"},
    {"ljibuf", "Jitter buffers (unused)"},
    {"lrspro", "Remote SIM protocol (unused)"},
    {"lns", "GPRS NS layer (unused)"},
    {"lbssgp", "GPRS BSSGP layer (unused)"},
    {"lnsdata", "GPRS NS data (unused)"},
    {"lnssignal", "GPRS NS signalling (unused)"},
    {"liuup", "Iu user plane"},
    {"lpfcp", "PFCP (unused)"},
    {"lcsn1", "CSN.1 decoding (unused)"},
    {"lio", "Sockets, I/O backends, workers"},
    {"ltcap", "TCAP (unused)"},
}};
static_assert(kLogCategories.size() == static_cast<std::size_t>(LogCategory::ltcap) + 1);

/// Position of a category in tables.
[[nodiscard]] constexpr std::size_t index_of(LogCategory category) noexcept {
  return static_cast<std::size_t>(category);
}
/// The name as in commands, "lmgcp".
[[nodiscard]] constexpr std::string_view to_string(LogCategory category) noexcept {
  return kLogCategories[index_of(category)].name;
}
/// The name as Osmocom's programs print it in a line, "DLMGCP".
[[nodiscard]] std::string printed_name(LogCategory category);
/// The category of that name, letter case does not matter; none: unknown.
[[nodiscard]] std::optional<LogCategory> find_log_category(std::string_view name) noexcept;

}  // namespace io
