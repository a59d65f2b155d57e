#include "conf/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <type_traits>

namespace conf {

namespace {

/// A message shows this much of a value; the rest says nothing more.
constexpr std::size_t kQuotedBytesMax = 64;

/// The names of categories are short, and there are some forty of them.
constexpr std::size_t kCategoryBytesMax = 32;
constexpr std::size_t kCategoryLevelsMax = 256;

/// Entries of a list of numbers, such as the CPUs of a machine.
constexpr std::size_t kNumberListMax = 1024;

template <typename>
inline constexpr bool is_duration_v = false;
template <typename Rep, typename Period>
inline constexpr bool is_duration_v<std::chrono::duration<Rep, Period>> = true;

using Outcome = tl::expected<void, std::string>;

/// Decimal digits alone: YAML 1.1 readers take 010 for eight, so a leading zero is refused.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::size_t> word_index(const Setting& setting, std::string_view text) {
  const auto found = std::ranges::find(setting.words, text);
  if (found == setting.words.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - setting.words.begin());
}

std::optional<std::uint64_t> number_in_range(const Setting& setting, std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number < setting.min || *number > setting.max) {
    return std::nullopt;
  }
  return number;
}

std::string refusal(const Setting& setting, std::string_view text) {
  return fmt::format("{} is not accepted for {}: it must be {}", quoted(text), setting.path,
                     accepted_values(setting));
}

// read_word() puts one word into a field of each type; false = not accepted.

bool read_word(const Setting&, std::string_view text, bool& value) {
  if (text == "true" || text == "yes" || text == "on") {
    value = true;
    return true;
  }
  if (text == "false" || text == "no" || text == "off") {
    value = false;
    return true;
  }
  return false;
}

bool read_word(const Setting& setting, std::string_view text, std::string& value) {
  if (!setting.form.accepts(text)) {
    return false;
  }
  value = text;
  return true;
}

bool read_word(const Setting& setting, std::string_view text, KeepAlive& value) {
  if (const auto index = word_index(setting, text)) {
    value = KeepAlive{static_cast<KeepAlive::Mode>(*index), std::chrono::seconds{0}};
    return true;
  }
  const auto number = number_in_range(setting, text);
  if (number) {
    value = KeepAlive{KeepAlive::Mode::interval, std::chrono::seconds(*number)};
  }
  return number.has_value();
}

/// The first word stands for no level.
bool read_word(const Setting& setting, std::string_view text, std::optional<LogLevel>& value) {
  const auto index = word_index(setting, text);
  if (index) {
    value = *index == 0 ? std::nullopt : std::optional(static_cast<LogLevel>(*index - 1));
  }
  return index.has_value();
}

/// The word stands for no number.
template <typename Number>
bool read_word(const Setting& setting, std::string_view text, std::optional<Number>& value) {
  if (word_index(setting, text)) {
    value = std::nullopt;
    return true;
  }
  const auto number = number_in_range(setting, text);
  if (number) {
    value = static_cast<Number>(*number);
  }
  return number.has_value();
}

/// "lmgcp=info".
std::optional<LogCategoryLevel> read_category_level(const Setting& setting, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals > kCategoryBytesMax) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(0, equals);
  const bool is_name = std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  const auto level = word_index(setting, text.substr(equals + 1));
  if (!is_name || !level) {
    return std::nullopt;
  }
  return LogCategoryLevel{std::string(name), static_cast<LogLevel>(*level)};
}

/// A number that a word may replace: the word stands for zero. Without a range the words are the
/// numbers.
std::optional<std::uint64_t> read_number(const Setting& setting, std::string_view text) {
  if (word_index(setting, text)) {
    return setting.max == 0 ? parse_number(text) : std::uint64_t{0};
  }
  return setting.max == 0 ? std::nullopt : number_in_range(setting, text);
}

template <typename Value>
bool read_word(const Setting& setting, std::string_view text, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    const auto index = word_index(setting, text);
    value = static_cast<Value>(index.value_or(static_cast<std::size_t>(value)));
    return index.has_value();
  } else if constexpr (is_duration_v<Value>) {
    const auto number = read_number(setting, text);
    value = Value(number.value_or(static_cast<std::uint64_t>(value.count())));
    return number.has_value();
  } else {
    static_assert(std::is_unsigned_v<Value>);
    const auto number = read_number(setting, text);
    value = static_cast<Value>(number.value_or(value));
    return number.has_value();
  }
}

template <typename Element, typename Read>
Outcome read_list(const Setting& setting, std::span<const std::string> words, std::size_t max,
                  std::vector<Element>& value, Read read) {
  if (words.size() > max) {
    return tl::unexpected(
        fmt::format("{} has {} entries: at most {} are accepted", setting.path, words.size(), max));
  }
  std::vector<Element> elements;
  for (const std::string& word : words) {
    const auto element = read(word);
    if (!element) {
      return tl::unexpected(refusal(setting, word));
    }
    elements.push_back(static_cast<Element>(*element));
  }
  value = std::move(elements);
  return {};
}

Outcome read_value(const Setting& setting, std::span<const std::string> words,
                   std::vector<std::uint32_t>& value) {
  return read_list(setting, words, kNumberListMax, value,
                   [&](std::string_view word) { return number_in_range(setting, word); });
}

Outcome read_value(const Setting& setting, std::span<const std::string> words,
                   std::vector<IpNetwork>& value) {
  return read_list(setting, words, kAllowMax, value, IpNetwork::parse);
}

Outcome read_value(const Setting& setting, std::span<const std::string> words,
                   std::vector<LogCategoryLevel>& value) {
  return read_list(setting, words, kCategoryLevelsMax, value,
                   [&](std::string_view word) { return read_category_level(setting, word); });
}

template <typename Value>
Outcome read_value(const Setting& setting, std::span<const std::string> words, Value& value) {
  if (words.size() != 1) {
    return tl::unexpected(
        fmt::format("{} takes one value, not a list: {}", setting.path, accepted_values(setting)));
  }
  if (!read_word(setting, words.front(), value)) {
    return tl::unexpected(refusal(setting, words.front()));
  }
  return {};
}

/// A YAML double-quoted scalar.
std::string yaml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7f) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

// text_of() writes a value of each type as YAML.

std::string text_of(const Setting&, bool value) {
  return value ? "true" : "false";
}

std::string text_of(const Setting&, const std::string& value) {
  return yaml_string(value);
}

std::string text_of(const Setting& setting, const KeepAlive& value) {
  return value.mode == KeepAlive::Mode::interval
             ? std::to_string(value.interval.count())
             : std::string(setting.words[static_cast<std::size_t>(value.mode)]);
}

std::string text_of(const Setting&, const std::vector<std::uint32_t>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}

std::string text_of(const Setting&, const std::vector<IpNetwork>& value) {
  std::vector<std::string> texts;
  for (const IpNetwork& network : value) {
    texts.push_back(yaml_string(network.to_string()));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string text_of(const Setting& setting, const std::optional<LogLevel>& value) {
  return std::string(setting.words[value ? static_cast<std::size_t>(*value) + 1 : 0]);
}

std::string text_of(const Setting& setting, const std::optional<std::chrono::microseconds>& value) {
  return value ? std::to_string(value->count()) : std::string(setting.words.front());
}

std::string text_of(const Setting& setting, const std::optional<std::uint32_t>& value) {
  return value ? std::to_string(*value) : std::string(setting.words.front());
}

std::string text_of(const Setting& setting, const std::vector<LogCategoryLevel>& value) {
  std::vector<std::string> texts;
  for (const LogCategoryLevel& entry : value) {
    texts.push_back(
        fmt::format("{}={}", entry.category, setting.words[static_cast<std::size_t>(entry.level)]));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

template <typename Value>
std::string text_of(const Setting& setting, const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(setting.words[static_cast<std::size_t>(value)]);
  } else if constexpr (is_duration_v<Value>) {
    return std::to_string(value.count());
  } else {
    const bool word_for_zero = value == 0 && setting.max != 0 && !setting.words.empty();
    return word_for_zero ? std::string(setting.words.front()) : std::to_string(value);
  }
}

/// "a, b or c".
std::string alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) {
      text += i + 1 == words.size() ? " or " : ", ";
    }
    text += words[i];
  }
  return text;
}

std::string range_text(const Setting& setting) {
  return fmt::format("a number from {} to {}{}{}", setting.min, setting.max,
                     setting.unit.empty() ? "" : " ", setting.unit);
}

}  // namespace

bool is_list(const Setting& setting) noexcept {
  return std::holds_alternative<Access<std::vector<std::uint32_t>>>(setting.field) ||
         std::holds_alternative<Access<std::vector<IpNetwork>>>(setting.field) ||
         std::holds_alternative<Access<std::vector<LogCategoryLevel>>>(setting.field);
}

std::string accepted_values(const Setting& setting) {
  if (std::holds_alternative<Access<bool>>(setting.field)) {
    return "true or false";
  }
  if (std::holds_alternative<Access<std::vector<IpNetwork>>>(setting.field)) {
    return "a list of addresses (10.0.0.1) and networks (10.0.0.0/8, no bit set after the prefix)";
  }
  if (std::holds_alternative<Access<std::vector<std::uint32_t>>>(setting.field)) {
    return fmt::format("a list of numbers from {} to {}", setting.min, setting.max);
  }
  if (std::holds_alternative<Access<std::vector<LogCategoryLevel>>>(setting.field)) {
    return fmt::format("a list of CATEGORY=LEVEL with one of the levels {}",
                       alternatives(setting.words));
  }
  if (setting.form.accepts != nullptr) {
    return std::string(setting.form.name);
  }
  if (setting.max == 0) {
    const bool is_number = !setting.unit.empty();
    return alternatives(setting.words) + (is_number ? fmt::format(" {}", setting.unit) : "");
  }
  if (setting.words.empty()) {
    return range_text(setting);
  }
  return fmt::format("{} or {}", fmt::join(setting.words, ", "), range_text(setting));
}

std::string value_text(const Setting& setting, const Config& config) {
  // The accessors serve reading and writing; nothing is written through this one.
  Config copy = config;
  return std::visit([&](auto access) { return text_of(setting, access(copy)); }, setting.field);
}

tl::expected<void, std::string> assign(const Setting& setting, Config& config,
                                       std::span<const std::string> words) {
  return std::visit([&](auto access) { return read_value(setting, words, access(config)); },
                    setting.field);
}

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kQuotedBytesMax)) {
    const bool printable = c >= ' ' && c <= '~';
    result += printable ? c : '?';
  }
  return result + (text.size() > kQuotedBytesMax ? "...'" : "'");
}

}  // namespace conf
