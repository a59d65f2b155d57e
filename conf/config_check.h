#pragma once
// The rules that concern more than one key; what a single key accepts is in its setting.

#include "conf/config.h"

#include <optional>
#include <string>
#include <string_view>

namespace conf {

/// A broken rule and the keys that it is about.
struct Violation {
  std::string_view path;   ///< the key that an operator would change; a literal
  std::string_view other;  ///< the key that it does not fit to; a literal, may be empty
  std::string message;     ///< a sentence
};

/// The first rule that `config` breaks, or nothing.
[[nodiscard]] std::optional<Violation> find_violation(const Config& config);

}  // namespace conf
