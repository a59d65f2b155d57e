#include "conf/config_error.h"

#include <fmt/format.h>

namespace conf {

std::string ConfigError::to_string() const {
  if (line == 0) {
    return fmt::format("{}: {}", file, message);
  }
  if (column == 0) {
    return fmt::format("{}:{}: {}", file, line, message);
  }
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

}  // namespace conf
