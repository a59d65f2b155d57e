#pragma once
// Pieces of the screens of `mgwctl top`: values of JSON as text that fits. Pure functions. For the
// screens alone.

#include "tools/mgwctl/top_screen.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgwctl {

/// The text with "?" for each character that is not printable ASCII.
[[nodiscard]] std::string printable(std::string_view text);
/// A member's text as it is; empty if there is none.
[[nodiscard]] std::string raw_text_of(const nlohmann::json& object, const char* member);
/// The same, printable.
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* member);
/// A member's number; none if there is none.
[[nodiscard]] std::optional<double> number_of(const nlohmann::json& object, const char* member);
/// A member's array; an empty one if there is none.
[[nodiscard]] const nlohmann::json& list_of(const nlohmann::json& object, const char* member);

/// The number times `factor`, if there is one.
[[nodiscard]] std::optional<double> scaled(std::optional<double> number, double factor);
/// "1.50"; "-" for nothing.
[[nodiscard]] std::string fixed_text(std::optional<double> number, int digits);
/// "12345", "123.4k", "12.3M"; "-" for nothing.
[[nodiscard]] std::string count_text(std::optional<double> number);
/// "0:01:30", "3d 04:05"; "-" for nothing.
[[nodiscard]] std::string duration_text(std::optional<double> seconds);

/// Columns that UTF-8 text takes; all signs that are used here are one wide.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;
/// The text in exactly `width` columns, cut or filled up.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width, bool to_the_right);
/// Cuts what is behind column `width`.
void cut(Line& line, std::size_t width);
/// A column for each value, 0 to `top` high.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, double top,
                                    bool with_blocks);

/// What is below the figures when a call is open: its path, then its legs side by side.
/// `call_json` is empty if the endpoint has no call.
[[nodiscard]] std::vector<Line> call_screen(const std::string& call_json,
                                            const std::string& endpoint, TopSize size, Signs signs);

}  // namespace mgwctl
