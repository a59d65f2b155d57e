#pragma once
// The lists of the configuration whose entries have keys of their own, such as stats.reporters.

#include "conf/setting.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace conf {

/// One list. In YAML it is a sequence of maps; --set does not reach it.
struct Collection {
  std::string_view path;  ///< "stats.reporters"
  std::string_view help;  ///< one or two sentences for operators
  std::size_t max = 0;    ///< entries that are accepted
  std::size_t (*size)(const Config&) = nullptr;
  /// New entries at the end have the defaults.
  void (*resize)(Config&, std::size_t entries) = nullptr;
  /// The keys of an entry, with paths like "stats.reporters.prefix". Reading and assigning means
  /// the last entry.
  std::span<const Setting> settings;
};

/// All lists, those of a section together.
[[nodiscard]] std::span<const Collection> all_collections() noexcept;

/// The list with exactly this path, or nullptr.
[[nodiscard]] const Collection* find_collection(std::string_view path) noexcept;

/// The key of a list's entries with exactly this path, or nullptr.
[[nodiscard]] const Setting* find_entry_setting(std::string_view path) noexcept;

}  // namespace conf
