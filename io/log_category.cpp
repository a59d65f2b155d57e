#include "io/log_category.h"

#include <algorithm>

namespace io {

namespace {

constexpr char upper(char character) noexcept {
  return character >= 'a' && character <= 'z' ? static_cast<char>(character - 'a' + 'A')
                                              : character;
}

}  // namespace

std::string printed_name(LogCategory category) {
  std::string result = "D";
  for (const char character : to_string(category)) {
    result += upper(character);
  }
  return result;
}

std::optional<LogCategory> find_log_category(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLogCategories.size(); ++i) {
    if (std::ranges::equal(kLogCategories[i].name, name,
                           [](char a, char b) { return upper(a) == upper(b); })) {
      return static_cast<LogCategory>(i);
    }
  }
  return std::nullopt;
}

}  // namespace io
