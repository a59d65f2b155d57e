#pragma once
// One key of the configuration as data: what loading, --set, the checks of values, error messages
// and the example file all go by. The table itself is in conf/config_keys.h.

#include "conf/config.h"

#include <tl/expected.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace conf {

/// Where a value of type `Value` stands in a Config.
template <typename Value>
using Access = Value& (*)(Config&);

/// The field of a setting. Durations are numbers in their own unit, enumerations one of the
/// setting's words.
using Field = std::variant<
    Access<bool>, Access<std::uint8_t>, Access<std::uint16_t>, Access<std::uint32_t>,
    Access<std::chrono::microseconds>, Access<std::chrono::milliseconds>,
    Access<std::chrono::seconds>, Access<std::optional<std::chrono::microseconds>>,
    Access<std::optional<std::uint32_t>>, Access<std::string>, Access<std::vector<std::uint32_t>>,
    Access<std::vector<IpNetwork>>, Access<KeepAlive>, Access<BackendChoice>,
    Access<KernelPathMode>, Access<SourceCheck>, Access<UnknownPayloadTypes>, Access<LogLevel>,
    Access<OsmuxMode>, Access<E1Wiring>, Access<OnSigterm>, Access<E1Driver>,
    Access<StatsReporter::Kind>, Access<StatsLevel>, Access<LogTarget::Kind>, Access<LogPrintFile>,
    Access<std::optional<LogLevel>>, Access<std::vector<LogCategoryLevel>>>;

/// What a text value must look like.
struct TextForm {
  bool (*accepts)(std::string_view) = nullptr;
  std::string_view name;  ///< for messages: "an IPv4 address"
};

/// One key. All texts are literals.
struct Setting {
  std::string_view path;  ///< "rtp.port-min"
  std::string_view unit;  ///< unit of a number: "bytes", "ms"; empty = none
  std::string_view help;  ///< one or two sentences for operators
  std::uint64_t min = 0;  ///< range of a number, or of each number of a list
  std::uint64_t max = 0;
  /// Of an enumeration: its values in order. Of a number: words that may stand in place of it. Of a
  /// number with `max` = 0: the only numbers that are accepted.
  std::span<const std::string_view> words;
  TextForm form;  ///< of a text
  Field field;
};

/// Whether the value is a list, [a, b] in YAML and a,b in --set.
[[nodiscard]] bool is_list(const Setting& setting) noexcept;

/// What is accepted, for messages and the example: "auto or a number from 1 to 64".
[[nodiscard]] std::string accepted_values(const Setting& setting);

/// The value that `config` has for the setting, as YAML.
[[nodiscard]] std::string value_text(const Setting& setting, const Config& config);

/// Puts the value into `config`: one word, or with a list any number of them. On failure `config`
/// is unchanged and the error says what would have been accepted.
[[nodiscard]] tl::expected<void, std::string> assign(const Setting& setting, Config& config,
                                                     std::span<const std::string> words);

/// Text from a configuration as it may stand in a message: printable, quoted and not longer than 64
/// bytes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace conf
