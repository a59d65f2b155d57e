#pragma once
// Pieces of which the writers of configurations are made.

#include <cstddef>
#include <ostream>
#include <string_view>

namespace conf {

/// Blanks for each level of nesting.
inline constexpr std::size_t kIndent = 2;

/// How deep a key is nested: 1 for "rtp.dscp".
[[nodiscard]] std::size_t depth_of(std::string_view path);
/// The key's own name: "dscp".
[[nodiscard]] std::string_view last_part(std::string_view path);
/// The section: "rtp"; empty for a section.
[[nodiscard]] std::string_view parent_of(std::string_view path);
/// Writes `text` as comment lines of at most 100 columns, broken between words, each behind
/// `indent` blanks.
void write_comment(std::ostream& out, std::size_t indent, std::string_view text);

}  // namespace conf
