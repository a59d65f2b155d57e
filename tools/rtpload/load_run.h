#pragma once
// One whole run of the load generator, from the first CRCX to the report.

#include "tools/rtpload/options.h"
#include "tools/rtpload/report.h"

#include <tl/expected.hpp>

#include <string>

namespace rtpload {

/// Carries out a run of mode calls, setup_only or self. Blocks until it is over; a stop signal
/// shortens it. An error text instead of a report if it could not begin: no gateway, no sockets.
[[nodiscard]] tl::expected<Report, std::string> run_load(const Options& options);

/// The local address for media: as the options say, else the one from which the gateway is reached.
/// Port 0.
[[nodiscard]] tl::expected<io::SocketAddress, std::string> media_host(const Options& options);

/// A number that differs from run to run.
[[nodiscard]] std::uint32_t random_seed();

}  // namespace rtpload
