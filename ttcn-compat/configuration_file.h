#pragma once
// The configuration file on disk: whole texts in and out. Blocks for as long as the disk does.

#include <tl/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ttcn_compat {

/// Bytes of a configuration file at most: tens of thousands of lines.
inline constexpr std::size_t kConfigurationFileBytesMax = std::size_t{4} << 20U;

/// The text of a file; otherwise why it can't be read.
[[nodiscard]] tl::expected<std::string, std::string> read_text_file(const std::string& path);

/// Puts `text` into the place of a file, all or nothing: whoever opens it meanwhile reads the old
/// text or the new one. Owner and permissions of an existing file stay if this process may set
/// them. Otherwise why it can't be written.
[[nodiscard]] tl::expected<void, std::string> replace_text_file(const std::string& path,
                                                                std::string_view text);

}  // namespace ttcn_compat
