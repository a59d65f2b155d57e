#pragma once
// From section `log` of the configuration to the targets of io/log_targets.h, at start and whenever
// the configuration changes. Control thread.

#include "conf/operation.h"
#include "io/log_targets.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mgw {

/// Whether standard error may be coloured, if it is a terminal; option -s says never.
enum class LogColours : std::uint8_t { never, on_terminals };

/// The targets that the section asks for: those of `targets`, or else one of the simple form. The
/// error is a sentence, about an unknown category for example.
[[nodiscard]] tl::expected<std::vector<io::LogTarget>, std::string> log_targets_of(
    const conf::LogOptions& options, LogColours colours);

/// Has lines go there from now on; targets that stay are not opened anew. Warnings (a log daemon
/// that is not running) are logged; those that are returned went to the very target that is
/// missing, so that a program that starts prints them. An error changes nothing.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> set_up_log(
    const conf::LogOptions& options, LogColours colours);

}  // namespace mgw
