#pragma once
// What a run found out: as text for people, as JSON for scripts, as a verdict for the exit status.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rtpload {

/// Quantiles in microseconds.
struct Quantiles {
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};

/// MGCP transactions of one kind.
struct TransactionFigures {
  std::uint64_t transactions = 0;
  double per_second = 0;
  std::optional<Quantiles> round_trip;  ///< absent if nothing was answered
};

/// The gateway's process over the steady media phase.
struct GatewayFigures {
  double cpu_percent = 0;                   ///< of one core
  std::optional<double> cpu_us_per_packet;  ///< absent if nothing was forwarded
  std::uint64_t rss_kib = 0;
  std::uint32_t threads = 0;
  std::uint64_t voluntary_switches = 0;
};

/// What the load generator itself cost and how punctual it was.
struct GeneratorFigures {
  double cpu_percent = 0;
  std::optional<double>
      cpu_us_per_packet;              ///< of those that came back; sending and receiving together
  std::optional<Quantiles> lateness;  ///< of sending
  std::uint64_t send_refused = 0;     ///< packets that the kernel did not take: not counted as sent
  /// How much the distance of two packets of a stream differed from what it should have been.
  std::optional<Quantiles> pacing;
  std::uint64_t missed = 0;  ///< packets that were not sent since their instant was over
};

/// The whole machine over the steady media phase, gateway, generator and all others together.
struct MachineFigures {
  double busy_percent = 0;                   ///< of one core
  double stolen_percent = 0;                 ///< of one core: what the hypervisor gave to others
  std::optional<double> busy_us_per_packet;  ///< absent if nothing was forwarded
};

/// What the gateway says in its P: lines, summed over all connections.
struct GatewayCounts {
  std::uint64_t connections = 0;  ///< how many told
  std::uint64_t packets_received = 0;
  std::uint64_t packets_sent = 0;
  std::int64_t packets_lost = 0;
};

/// Everything.
struct Report {
  std::string mode;  ///< "calls", "setup-only", "self"
  std::uint64_t calls_wanted = 0;
  std::uint64_t calls = 0;  ///< set up
  std::uint64_t failed_calls = 0;
  std::uint64_t held_calls = 0;   ///< of --hold, not among `calls`
  std::uint64_t connections = 0;  ///< made for `calls`
  std::string codec;
  double seconds = 0;
  double calls_per_second = 0;  ///< set up per second
  std::optional<TransactionFigures> setup;
  std::optional<TransactionFigures> teardown;
  std::uint64_t retransmissions = 0;  ///< of MGCP requests
  std::uint64_t delete_failed = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::uint64_t reordered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t wrong_stream = 0;
  std::uint64_t unknown_source = 0;
  std::uint64_t keep_alives = 0;
  std::uint64_t silent_streams = 0;
  std::uint64_t rtcp_sent = 0;
  std::uint64_t rtcp_received = 0;
  std::optional<Quantiles> latency;
  std::optional<GatewayFigures> gateway;
  std::optional<GatewayCounts> gateway_counts;
  std::optional<GeneratorFigures> generator;
  std::optional<MachineFigures> machine;
  std::map<std::string, std::uint64_t> errors;
  bool interrupted = false;
};

/// Why a run is not good; empty if it is. `max_loss` is a fraction of `sent`.
[[nodiscard]] std::vector<std::string> faults(const Report& report, double max_loss);

/// One object with all keys of the contract, null where a value is not known, and a line end.
[[nodiscard]] std::string to_json(const Report& report, double max_loss);

/// What a reader of the figures must know, such as that the generator itself was late; empty if
/// nothing. No faults.
[[nodiscard]] std::vector<std::string> warnings(const Report& report);

/// Aligned lines for people.
[[nodiscard]] std::string to_text(const Report& report, double max_loss);

}  // namespace rtpload
