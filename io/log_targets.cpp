#include "io/log_targets.h"

#include <algorithm>

namespace io {

namespace {

constexpr std::array<std::string_view, 6> kLevels{
    {"debug", "info", "notice", "warning", "error", "fatal"}};

constexpr char lower(char character) noexcept {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a')
                                              : character;
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  return kLevels[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> find_log_level(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (std::ranges::equal(kLevels[i], name, [](char a, char b) { return lower(a) == lower(b); })) {
      return static_cast<LogLevel>(i);
    }
  }
  return std::nullopt;
}

std::array<LogLevel, kLogCategories.size()> LogFilter::all_at(LogLevel level) noexcept {
  std::array<LogLevel, kLogCategories.size()> result{};
  result.fill(level);
  return result;
}

bool LogFilter::passes(LogLevel level, LogCategory category) const noexcept {
  return all && level >= force_all.value_or(levels[index_of(category)]);
}

}  // namespace io
