#pragma once
// The command line of rtpload.

#include "io/socket_address.h"
#include "tools/rtpload/codec.h"
#include "tools/rtpload/pacing.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace rtpload {

/// Exit statuses.
inline constexpr int kExitGood = 0;
inline constexpr int kExitFaults =
    1;  ///< lost, reordered, duplicated, corrupted or misdirected packets, failed calls
inline constexpr int kExitUsage = 2;  ///< wrong usage, or no gateway there

/// What a run does.
enum class RunMode : std::uint8_t {
  calls,       ///< set up, media, take down
  setup_only,  ///< set up and take down again and again, without media
  self,        ///< media from socket to socket, without a gateway
  play,        ///< one call with a recording
};

/// Everything that can be said on the command line.
struct Options {
  RunMode mode = RunMode::calls;
  std::optional<io::SocketAddress> mgcp;  ///< set unless mode is self
  std::uint32_t calls = 0;                ///< with setup_only: how many exist at one time
  double seconds = 10;
  Codec codec;
  Codec answer_codec;  ///< of the second leg of each call
  pid_t pid = 0;       ///< of the gateway; 0 = not to be measured
  std::string json_file;
  double max_loss = 0;  ///< fraction of the packets sent
  double rate = 0;      ///< calls per second; 0 = no limit
  std::uint32_t in_flight = 64;
  std::optional<io::SocketAddress> local;  ///< port 0; chosen by route if absent
  std::string endpoint_prefix = "rtpbridge/";
  std::string domain = "mgw";
  PhasePlan phases = PhasePlan::even;
  bool rtcp = false;
  std::uint32_t hold = 0;  ///< calls that exist during the run without media
  int cpu = -1;            ///< core to run on; -1 = any
  std::uint32_t sockets =
      0;  ///< local socket pairs; 0 = one per leg up to kSocketsPerLegMax legs, else kSharedSockets
  bool progress = false;
  std::uint32_t tick_us =
      0;  ///< shortest sleep between two vectors; 0 = every packet at its own instant
  std::uint32_t interval_ms = 20;  ///< between two packets of a stream
  std::uint32_t drain_ms = 500;
  std::uint32_t mgcp_timeout_s = 20;
  std::string play_file;
  std::string record_file;
};

/// Up to so many legs each has its own pair of sockets, as real phones have.
inline constexpr std::uint32_t kSocketsPerLegMax = 1024;
/// So many pairs serve all legs above that: enough that no socket's buffer holds more than some ms
/// of packets.
inline constexpr std::uint32_t kSharedSockets = 64;

/// Reads the command line. An exit status instead of options if the run is over: after --help, or
/// after an error that was printed.
[[nodiscard]] std::variant<Options, int> parse_command_line(int count,
                                                            const char* const* arguments);

/// How many local socket pairs a run with `legs` legs takes.
[[nodiscard]] std::uint32_t socket_pairs(const Options& options, std::uint32_t legs) noexcept;

}  // namespace rtpload
