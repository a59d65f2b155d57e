#pragma once
// The table of all keys and sections of the configuration: the one place where a key is declared.

#include "conf/setting.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conf {

/// A group of keys, such as "rtp" or "rtp.patch".
struct Section {
  std::string_view path;
  std::string_view help;  ///< one or two sentences for operators
};

/// All keys in the order of the example file; the keys of a section stand together.
[[nodiscard]] std::span<const Setting> all_settings() noexcept;

/// All sections, each before the sections within it.
[[nodiscard]] std::span<const Section> all_sections() noexcept;

/// The setting with exactly this path, or nullptr.
[[nodiscard]] const Setting* find_setting(std::string_view path) noexcept;

/// The settings that have another value in `left` than in `right`, in the order of the table.
[[nodiscard]] std::vector<const Setting*> differing_settings(const Config& left,
                                                             const Config& right);

/// Whether there is a section with exactly this path.
[[nodiscard]] bool is_section(std::string_view path) noexcept;

/// The key or section that was most likely meant by the unknown `path`; the fewest changes of
/// letters win.
[[nodiscard]] std::string_view nearest_key(std::string_view path);

}  // namespace conf
