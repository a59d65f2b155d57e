#pragma once
// What the tables of keys are written with: a Setting for each kind of value, the words of
// enumerations, and the forms of texts. For the tables alone.

#include "conf/notified_entity.h"
#include "conf/setting.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace conf::table {

/// The words of an enumeration, or those that may stand in place of a number.
using Words = std::span<const std::string_view>;

/// The longest domain and file name that are accepted.
inline constexpr std::size_t kDomainBytesMax = 255;
inline constexpr std::size_t kPathBytesMax = 4096;

/// Words, in the order of the enumerators.
inline constexpr std::array<std::string_view, 1> kAuto = {"auto"};
inline constexpr std::array<std::string_view, 1> kAny = {"any"};
inline constexpr std::array<std::string_view, 3> kBackends = {"auto", "poll", "io_uring"};
inline constexpr std::array<std::string_view, 4> kKernelPaths = {"off", "auto", "xdp", "tc"};
inline constexpr std::array<std::string_view, 2> kKeepAlives = {"off", "once"};
inline constexpr std::array<std::string_view, 3> kSources = {"strict", "latch", "any"};
inline constexpr std::array<std::string_view, 2> kUnknownPayloadTypes = {"pass", "drop"};
inline constexpr std::array<std::string_view, 3> kE1Wirings = {"loopback", "timeslot-pairs",
                                                               "line-pairs"};
inline constexpr std::array<std::string_view, 4> kPtimes = {"0", "10", "20", "40"};
inline constexpr std::array<std::string_view, 3> kOsmuxModes = {"off", "on", "only"};
inline constexpr std::array<std::string_view, 2> kOnSigterm = {"stop", "drain"};
inline constexpr std::array<std::string_view, 6> kLogLevels = {"debug",   "info",  "notice",
                                                               "warning", "error", "fatal"};
inline constexpr std::array<std::string_view, 7> kForcedLogLevels = {
    "off", "debug", "info", "notice", "warning", "error", "fatal"};
inline constexpr std::array<std::string_view, 6> kLogTargets = {
    "stderr", "file", "syslog", "systemd-journal", "gsmtap", "alarms"};
inline constexpr std::array<std::string_view, 3> kLogPrintFiles = {"off", "path", "basename"};
inline constexpr std::array<std::string_view, 2> kStatsReporters = {"statsd", "log"};
inline constexpr std::array<std::string_view, 3> kStatsLevels = {"global", "peer", "subscriber"};
inline constexpr std::array<std::string_view, 1> kOff = {"off"};
inline constexpr std::array<std::string_view, 1> kChanges = {"changes"};

/// An IPv4 address.
inline bool is_ipv4(std::string_view text) {
  return address_family(text) == AddressFamily::ipv4;
}

/// An IPv6 address.
inline bool is_ipv6(std::string_view text) {
  return address_family(text) == AddressFamily::ipv6;
}

/// The domain part of endpoint names.
inline bool is_domain(std::string_view text) {
  return !text.empty() && text.size() <= kDomainBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '@'; });
}

/// A file name.
inline bool is_path(std::string_view text) {
  return text.size() <= kPathBytesMax &&
         std::ranges::none_of(text, [](char c) { return c == '\0' || c == '\n'; });
}

/// Names of network devices, separated by commas.
inline bool is_device_list(std::string_view text) {
  return text.size() <= kDomainBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

/// A name for people or for the receivers of reports.
inline bool is_label(std::string_view text) {
  return text.size() <= kDomainBytesMax &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// Forms of texts.
inline constexpr TextForm kAddress = {
    [](std::string_view text) { return address_family(text).has_value(); },
    "an IPv4 or IPv6 address"};
inline constexpr TextForm kOptionalAddress = {
    [](std::string_view text) { return text.empty() || address_family(text).has_value(); },
    "an IPv4 or IPv6 address, or \"\" for none"};
inline constexpr TextForm kOptionalIpv4 = {
    [](std::string_view text) { return text.empty() || is_ipv4(text); },
    "an IPv4 address, or \"\" for none"};
inline constexpr TextForm kOptionalIpv6 = {
    [](std::string_view text) { return text.empty() || is_ipv6(text); },
    "an IPv6 address, or \"\" for none"};
inline constexpr TextForm kDomain = {is_domain,
                                     "a domain name of 1 to 255 characters, or \"*\" for any"};
inline constexpr TextForm kOptionalEntity = {
    [](std::string_view text) { return text.empty() || parse_notified_entity(text).has_value(); },
    "name@address:port, with an IPv6 address in [], or \"\" for none"};
inline constexpr TextForm kLabel = {is_label, "at most 255 printable characters, or \"\" for none"};
inline constexpr TextForm kDevices = {
    is_device_list, "names of network devices separated by commas, or \"\" for those found"};
inline constexpr TextForm kOptionalPath = {is_path, "a file name, or \"\" for none"};
inline constexpr TextForm kOptionalDirectory = {is_path,
                                                "the name of a directory, or \"\" for none"};

/// The field that the members lead to, one after the other from a Config on.
template <auto... Members>
constexpr Field field() {
  return +[](Config & config) -> auto& {
    return (config.*....*Members);
  };
}

/// A number in its unit, within a range.
template <auto... Members>
constexpr Setting number(std::string_view path, std::string_view unit, std::uint64_t min,
                         std::uint64_t max, std::string_view help, Words words = {}) {
  return {path, unit, help, min, max, words, {}, field<Members...>()};
}

/// True or false.
template <auto... Members>
constexpr Setting toggle(std::string_view path, std::string_view help) {
  return {path, "", help, 0, 0, {}, {}, field<Members...>()};
}

/// One word of several.
template <auto... Members>
constexpr Setting choice(std::string_view path, Words words, std::string_view help,
                         std::string_view unit = "") {
  return {path, unit, help, 0, 0, words, {}, field<Members...>()};
}

/// A text of a form.
template <auto... Members>
constexpr Setting text(std::string_view path, TextForm form, std::string_view help) {
  return {path, "", help, 0, 0, {}, form, field<Members...>()};
}

/// The list `List` of the section `Section`: its entries' settings are those of the last entry.
template <auto Section, auto List>
struct Entries {
  /// The field that the members of an entry lead to.
  template <auto... Members>
  static constexpr Field field() {
    return +[](Config & config) -> auto& {
      return (((config.*Section).*List).back().*....*Members);
    };
  }
  /// A number in its unit, within a range.
  template <auto... Members>
  static constexpr Setting number(std::string_view path, std::string_view unit, std::uint64_t min,
                                  std::uint64_t max, std::string_view help, Words words = {}) {
    return {path, unit, help, min, max, words, {}, field<Members...>()};
  }
  /// True or false.
  template <auto... Members>
  static constexpr Setting toggle(std::string_view path, std::string_view help) {
    return {path, "", help, 0, 0, {}, {}, field<Members...>()};
  }
  /// One word of several.
  template <auto... Members>
  static constexpr Setting choice(std::string_view path, Words words, std::string_view help,
                                  std::string_view unit = "") {
    return {path, unit, help, 0, 0, words, {}, field<Members...>()};
  }
  /// A text of a form.
  template <auto... Members>
  static constexpr Setting text(std::string_view path, TextForm form, std::string_view help) {
    return {path, "", help, 0, 0, {}, form, field<Members...>()};
  }
  /// What a Collection needs.
  static std::size_t size(const Config& config) { return ((config.*Section).*List).size(); }
  /// What a Collection needs; new entries have the defaults.
  static void resize(Config& config, std::size_t entries) {
    ((config.*Section).*List).resize(entries);
  }
};

}  // namespace conf::table
