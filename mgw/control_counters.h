#pragma once
// What the control thread counts; read by the metrics exporter from its own thread.

#include "io/counter.h"
#include "io/time.h"
#include "mgcp/endpoint_name.h"
#include "mgcp/message.h"
#include "mgw/admission.h"
#include "mgw/command_outcome.h"
#include "mgw/e1_line_status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mgw {

/// Commands by verb, with the number of their answers by code and how long they took.
class TransactionCounters {
 public:
  static constexpr std::size_t kVerbs = static_cast<std::size_t>(mgcp::Verb::unknown) + 1;
  /// Codes that the gateway answers with; all others share a counter behind the last one.
  static constexpr std::array<std::uint16_t, 30> kCodes = {
      100, 200, 250, 400, 401, 403, 404, 409, 500, 501, 502, 503, 504, 505, 507,
      509, 510, 511, 515, 516, 517, 523, 524, 527, 528, 534, 535, 536, 539, 540};
  /// Upper bounds of the latency histogram, microseconds; the last bucket has none.
  static constexpr std::array<std::uint32_t, 12> kBucketsUs = {
      20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000, 1000000};

  /// Control thread only.
  void count(mgcp::Verb verb, mgcp::ResponseCode code, io::Duration latency) noexcept {
    std::size_t index = 0;
    while (index < kCodes.size() && kCodes[index] != mgcp::number(code)) {
      ++index;
    }
    answers[static_cast<std::size_t>(verb)][index].add();
    const auto latency_us = static_cast<std::uint64_t>(latency.count() / 1000);
    std::size_t bucket = 0;
    while (bucket < kBucketsUs.size() && latency_us > kBucketsUs[bucket]) {
      ++bucket;
    }
    latency_buckets[bucket].add();
    latency_sum_us.add(latency_us);
  }

  std::array<std::array<io::Counter, kCodes.size() + 1>, kVerbs> answers;
  std::array<io::Counter, kBucketsUs.size() + 1> latency_buckets;
  io::Counter latency_sum_us;
};

/// What became of the commands on one trunk that make, change and delete connections.
struct TrunkCounters {
  /// CRCX, MDCX and DLCX, in the order of mgcp::Verb.
  static constexpr std::array kVerbs = {mgcp::Verb::crcx, mgcp::Verb::mdcx, mgcp::Verb::dlcx};

  /// Does nothing for other verbs. Control thread only.
  void count(mgcp::Verb verb, CommandOutcome outcome) noexcept {
    if (const auto index = static_cast<std::size_t>(verb); index < kVerbs.size()) {
      outcomes[index][static_cast<std::size_t>(outcome)].add();
    }
  }
  [[nodiscard]] std::uint64_t value(mgcp::Verb verb, CommandOutcome outcome) const noexcept {
    return outcomes[static_cast<std::size_t>(verb)][static_cast<std::size_t>(outcome)].value();
  }

  std::array<std::array<io::Counter, kCommandOutcomes>, kVerbs.size()> outcomes;
  io::Counter connections_deleted;  ///< by DLCX
};
static_assert(static_cast<std::size_t>(mgcp::Verb::dlcx) + 1 == TrunkCounters::kVerbs.size());

/// Everything else on the signalling side.
struct ControlCounters {
  TransactionCounters transactions;
  /// The virtual trunk, then those of E1 lines; as many as there are once call control is made.
  std::vector<TrunkCounters> trunks;
  io::Counter messages;        ///< commands and others, repeated ones too, in those datagrams
  io::Counter handled;         ///< commands that a handler got
  io::Counter unhandled;       ///< commands that there is no handler for
  io::Counter malformed;       ///< commands that could not be read, and unhandled ones
  io::Counter no_endpoint;     ///< commands for an endpoint that there is not
  io::Counter datagrams;       ///< received on the MGCP socket
  io::Counter garbage;         ///< messages that were neither command nor response
  io::Counter responses;       ///< responses received: never answered
  io::Counter refused_agents;  ///< datagrams from agents that the access list does not name
  io::Counter repeated;        ///< retransmissions of commands that were already answered or run
  io::Counter transactions_refused;  ///< no room for another command under way
  LimitCounters limits;
  io::Counter ports_exhausted;  ///< no RTP port pair could be had
  io::Counter restored;         ///< connections that came from another process
  io::Counter not_restored;     ///< and those that could not
  io::Counter endpoints_total;  ///< gauges from here on
  io::Counter endpoints_used;
  io::Counter connections;
  io::Counter ports_total;
  io::Counter ports_used;
  io::Counter transactions_remembered;
  io::Counter taps;
  io::Counter draining;                 ///< 1 while new calls are refused
  std::vector<std::uint8_t> e1_trunks;  ///< their numbers; fixed once call control is made
  std::array<io::Counter, mgcp::kE1TrunkMax + 1> e1_endpoints_used;  ///< by trunk number
  /// The trunks' lines, in the order of e1_trunks; null where there is none.
  std::vector<std::shared_ptr<const E1LineStatus>> e1_lines;
};

}  // namespace mgw
