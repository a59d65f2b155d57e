#pragma once
// The files of the status page, which are in the program itself: mgw/CMakeLists.txt makes the
// source of these functions out of them.

#include <string_view>

namespace mgw::status_page {

/// index.html, status.css and status.js. Literals.
[[nodiscard]] std::string_view html() noexcept;
[[nodiscard]] std::string_view css() noexcept;
[[nodiscard]] std::string_view script() noexcept;

}  // namespace mgw::status_page
