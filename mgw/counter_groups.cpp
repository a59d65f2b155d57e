#include "mgw/counter_groups.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace mgw {

namespace {

using ttcn_compat::CounterGroupView;
using ttcn_compat::CounterGroupVisitor;
using ttcn_compat::CounterView;
using Kind = CounterGroupView::Kind;
using Outcome = CommandOutcome;

/// A counter of commands and the outcomes that it sums up.
struct OutcomeCounter {
  std::string_view name;
  std::string_view description;
  std::array<Outcome, 4> outcomes{};
  std::size_t count = 0;
};

template <typename... Outcomes>
constexpr OutcomeCounter counter(std::string_view name, std::string_view description,
                                 Outcomes... outcomes) {
  return {name, description, {outcomes...}, sizeof...(outcomes)};
}

constexpr std::array kCrcx = {
    counter("crcx:success", "CRCX command processed successfully.", Outcome::success),
    counter("crcx:bad_action", "bad action in CRCX command.", Outcome::bad_action),
    counter("crcx:unhandled_param", "unhandled parameter in CRCX command.",
            Outcome::unhandled_parameter),
    counter("crcx:missing_callid", "missing CallId in CRCX command.", Outcome::missing_call_id),
    counter("crcx:invalid_mode", "invalid connection mode in CRCX command.", Outcome::invalid_mode),
    counter("crcx:limit_exceeded", "limit of concurrent connections was reached.",
            Outcome::connection_limit),
    counter("crcx:unkown_callid", "unknown CallId in CRCX command.", Outcome::wrong_call_id),
    counter("crcx:alloc_conn_fail", "connection allocation failure.", Outcome::no_osmux_circuit),
    counter("crcx:no_remote_conn_desc", "no opposite end specified for connection.",
            Outcome::no_remote_description),
    counter("crcx:start_rtp_failure", "failure to start RTP processing."),
    counter("crcx:no_osmux", "no osmux offered by peer.", Outcome::no_osmux),
    counter("crcx:conn_opt", "connection options invalid.", Outcome::connection_options),
    counter("crcx:codec_nego", "codec negotiation failure.", Outcome::codec_negotiation),
    counter("crcx:bind_port", "port bind failure.", Outcome::no_port),
    counter("crcx:unavailable", "endpoint unavailable.", Outcome::unavailable, Outcome::overload),
    counter("crcx:claim", "endpoint can not be claimed.", Outcome::no_line),
};

// A connection that is not found counts as an invalid identifier, and a parameter under the name
// of CRCX: so it does with osmo-mgw, whose users watch these.
constexpr std::array kMdcx = {
    counter("mdcx:success", "MDCX command processed successfully.", Outcome::success),
    counter("mdcx:wildcard", "wildcard endpoint names in MDCX commands are unsupported.",
            Outcome::wildcard),
    counter("mdcx:no_conn", "endpoint specified in MDCX command has no active connections.",
            Outcome::no_connection),
    counter("mdcx:callid", "invalid CallId specified in MDCX command.", Outcome::wrong_call_id),
    counter("mdcx:connid", "invalid connection ID specified in MDCX command.",
            Outcome::bad_connection_id, Outcome::connection_not_found),
    counter("crcx:unhandled_param", "unhandled parameter in MDCX command.",
            Outcome::unhandled_parameter),
    counter("mdcx:no_connid", "no connection ID specified in MDCX command.",
            Outcome::missing_connection_id),
    counter("mdcx:conn_not_found", "connection specified in MDCX command does not exist."),
    counter("mdcx:invalid_mode", "invalid connection mode in MDCX command.", Outcome::invalid_mode),
    counter("mdcx:conn_opt", "connection options invalid.", Outcome::connection_options,
            Outcome::no_osmux, Outcome::no_osmux_circuit),
    counter("mdcx:no_remote_conn_desc", "no opposite end specified for connection.",
            Outcome::no_remote_description, Outcome::codec_negotiation),
    counter("mdcx:start_rtp_failure", "failure to start RTP processing."),
    counter("mdcx:bind_port", "port bind failure.", Outcome::no_port),
    counter("mdcx:unavailable", "endpoint unavailable.", Outcome::unavailable, Outcome::overload),
};

// The first one counts connections and is filled in from elsewhere.
constexpr std::array kDlcx = {
    counter("dlcx:success", "DLCX command processed successfully."),
    counter("dlcx:no_conn", "endpoint specified in DLCX command has no active connections.",
            Outcome::no_connection),
    counter("dlcx:callid", "CallId specified in DLCX command mismatches endpoint's CallId .",
            Outcome::wrong_call_id),
    counter("dlcx:connid", "connection ID specified in DLCX command does not exist on endpoint.",
            Outcome::bad_connection_id, Outcome::connection_not_found),
    counter("dlcx:unhandled_param", "unhandled parameter in DLCX command.",
            Outcome::unhandled_parameter),
    counter("dlcx:unavailable", "endpoint unavailable.", Outcome::unavailable, Outcome::overload),
};

/// What a visit works with.
struct Visit {
  const CallControl& control;
  const CounterGroupVisitor& visitor;

  void group(Kind kind, std::string_view prefix, std::string_view description, std::string name,
             std::size_t index, std::optional<std::size_t> trunk,
             std::span<const CounterView> counters) const {
    CounterGroupView view;
    view.kind = kind;
    view.prefix = prefix;
    view.description = description;
    view.name = std::move(name);
    view.index = static_cast<std::uint32_t>(index);
    view.trunk = trunk;
    view.counters = counters;
    visitor(view);
  }
};

std::vector<CounterView> read_outcomes(std::span<const OutcomeCounter> table,
                                       const TrunkCounters& trunk, mgcp::Verb verb) {
  std::vector<CounterView> counters;
  for (const OutcomeCounter& row : table) {
    CounterView& view = counters.emplace_back(CounterView{row.name, row.description, 0});
    for (const Outcome outcome : std::span(row.outcomes).first(row.count)) {
      view.value += trunk.value(verb, outcome);
    }
  }
  return counters;
}

void visit_connections(const Visit& visit) {
  CounterGroupView rtp;
  rtp.prefix = "conn_rtp";
  rtp.description = "rtp connection statistics";
  rtp.of_connection = true;
  CounterGroupView osmux = rtp;
  osmux.prefix = "conn_osmux";
  osmux.description = "Osmux connection statistics";
  visit.control.media().visit([&](const RegisteredLeg& leg) {
    if (leg.kind == LegKind::e1) {
      return;
    }
    const LegTotals totals = totals_of(leg.media->live);
    const std::array rtp_counters = {
        CounterView{"stream_err_tstmp:in", "Inbound rtp-stream timestamp errors.",
                    totals.timestamp_errors_in},
        CounterView{"stream_err_tstmp:out", "Outbound rtp-stream timestamp errors.",
                    totals.timestamp_errors_out},
        CounterView{"rtp:packets_rx", "Inbound rtp packets.", totals.rtp_received.packets},
        CounterView{"rtp:octets_rx", "Inbound rtp octets.", totals.rtp_received.octets},
        CounterView{"rtp:packets_tx", "Outbound rtp packets.", totals.rtp_sent.packets},
        CounterView{"rtp:octets_tx", "Outbound rtp octets.", totals.rtp_sent.octets},
        CounterView{"rtp:dropped", "dropped rtp packets.", totals.dropped},
    };
    rtp.index = leg.number;
    rtp.trunk = leg.trunk;
    rtp.counters = rtp_counters;
    visit.visitor(rtp);
    if (leg.kind != LegKind::osmux) {
      return;
    }
    const std::array osmux_counters = {
        CounterView{"osmux:chunks_rx", "Inbound Osmux chunks.", totals.osmux_chunks_received},
        CounterView{"osmux:octets_rx", "Inbound Osmux octets.", totals.osmux_octets_received},
        CounterView{"osmux:rtp_packets_tx", "Outbound rtp packets put into Osmux batches.",
                    totals.osmux_packets_encoded},
        CounterView{"osmux:rtp_packets_tx_dropped",
                    "Outbound rtp packets that could not be put into Osmux batches.",
                    totals.osmux_packets_dropped},
        CounterView{"osmux:amr_octets_tx", "Outbound AMR octets put into Osmux batches.",
                    totals.osmux_amr_octets_encoded},
    };
    osmux.index = leg.number;
    osmux.trunk = leg.trunk;
    osmux.counters = osmux_counters;
    visit.visitor(osmux);
  });
}

void visit_rtp_sums(const Visit& visit, const std::string& label, std::size_t trunk,
                    const LegTotals& sum) {
  const std::array counters = {
      CounterView{"all_rtp:err_tstmp_in", "Total inbound rtp-stream timestamp errors.",
                  sum.timestamp_errors_in},
      CounterView{"all_rtp:err_tstmp_out", "Total outbound rtp-stream timestamp errors.",
                  sum.timestamp_errors_out},
      CounterView{"all_rtp:packets_rx", "Total inbound rtp packets.", sum.rtp_received.packets},
      CounterView{"all_rtp:octets_rx", "Total inbound rtp octets.", sum.rtp_received.octets},
      CounterView{"all_rtp:packets_tx", "Total outbound rtp packets.", sum.rtp_sent.packets},
      CounterView{"all_rtp:octets_tx", "Total outbound rtp octets.", sum.rtp_sent.octets},
      CounterView{"all_rtp:dropped", "Total dropped rtp packets.", sum.dropped},
      CounterView{"all_rtp:num_closed_conns", "Total number of rtp connections closed.",
                  sum.closed},
  };
  visit.group(Kind::counters, "all_rtp_conn", "aggregated statistics for all rtp connections",
              label + ":rtp_conn", trunk, trunk, counters);
}

void visit_osmux_sums(const Visit& visit, const std::string& label, std::size_t trunk,
                      const LegTotals& sum) {
  const std::array counters = {
      CounterView{"all_osmux:chunks_rx", "Total inbound Osmux chunks.", sum.osmux_chunks_received},
      CounterView{"all_osmux:octets_rx", "Total inbound Osmux octets.", sum.osmux_octets_received},
      CounterView{"all_osmux:rtp_packets_tx", "Total rtp packets put into Osmux batches.",
                  sum.osmux_packets_encoded},
      CounterView{"all_osmux:rtp_packets_tx_dropped",
                  "Total rtp packets that could not be put into Osmux batches.",
                  sum.osmux_packets_dropped},
      CounterView{"all_osmux:amr_octets_tx", "Total AMR octets put into Osmux batches.",
                  sum.osmux_amr_octets_encoded},
      CounterView{"all_osmux:num_closed_conns", "Total number of Osmux connections closed.",
                  sum.closed},
      CounterView{"all_osmux:packets_rx", "Total inbound rtp packets made of Osmux chunks.",
                  sum.rtp_received.packets},
      CounterView{"all_osmux:packets_tx", "Total outbound rtp packets of Osmux connections.",
                  sum.rtp_sent.packets},
      CounterView{"all_osmux:dropped_packets", "Total dropped packets of Osmux connections.",
                  sum.dropped},
  };
  visit.group(Kind::counters, "all_osmux_conn", "aggregated statistics for all osmux connections",
              label + ":osmux_conn", trunk, trunk, counters);
}

void visit_trunk(const Visit& visit, std::size_t trunk, TrunkLegTotals sums) {
  const ControlCounters& all = visit.control.counters();
  const TrunkCounters& commands = all.trunks[trunk];
  const std::string label = trunk_label(all, trunk);
  // With osmo-mgw, the groups of E1 lines take their numbers from those of MDCX.
  const std::size_t mdcx_index = trunk == 0 ? 0 : 2 * trunk - 1;
  if (trunk != 0) {
    const LegTotals& lines = sums.of(LegKind::e1);
    const std::array counters = {
        CounterView{"e1:rx_fail", "Inbound I.460 TRAU failures.", lines.e1_receive_failures},
        CounterView{"e1:tx_fail", "Outbound I.460 TRAU failures.", lines.e1_send_failures},
        CounterView{"e1:i460", "Outbound I.460 MUX queue empty.", lines.e1_fillers},
    };
    visit.group(Kind::counters, "e1", "e1 statistics", label + ":e1", mdcx_index + 1, trunk,
                counters);
  }
  visit_osmux_sums(visit, label, trunk, sums.of(LegKind::osmux));
  visit_rtp_sums(visit, label, trunk, sums.of(LegKind::rtp));
  auto dlcx = read_outcomes(kDlcx, commands, mgcp::Verb::dlcx);
  dlcx.front().value = commands.connections_deleted.value();
  visit.group(Kind::counters, "dlcx", "dlcx statistics", label + ":dlcx", trunk, trunk, dlcx);
  visit.group(Kind::counters, "mdcx", "mdcx statistics", label + ":mdcx", mdcx_index, trunk,
              read_outcomes(kMdcx, commands, mgcp::Verb::mdcx));
  visit.group(Kind::counters, "crcx", "crxc statistics", label + ":crcx", trunk, trunk,
              read_outcomes(kCrcx, commands, mgcp::Verb::crcx));
}

void visit_general(const Visit& visit) {
  const ControlCounters& all = visit.control.counters();
  const std::array counters = {
      CounterView{"mgcp:rx_msgs", "total number of MGCP messages received.", all.messages.value()},
      CounterView{"mgcp:rx_msgs_retransmitted", "number of received retransmissions.",
                  all.repeated.value()},
      CounterView{"mgcp:rx_msgs_handled", "number of handled MGCP messages.", all.handled.value()},
      CounterView{"mgcp:rx_msgs_unhandled", "number of unhandled MGCP messages.",
                  all.unhandled.value()},
      CounterView{"mgcp:err_rx_msg_parse", "error parsing MGCP message.",
                  all.malformed.value() + all.garbage.value()},
      CounterView{"mgcp:err_rx_no_endpoint",
                  "can't find MGCP endpoint, probably we've used all allocated endpoints.",
                  all.no_endpoint.value()},
  };
  // Whatever the configured domain is: with osmo-mgw the name is made before that is read.
  visit.group(Kind::counters, "mgcp", "mgcp general statistics", "mgw:general", 0, std::nullopt,
              counters);
}

void visit_items(const Visit& visit, std::size_t trunk) {
  const Trunks& trunks = visit.control.trunks();
  const std::array items = {
      CounterView{"endpoints:total", "Number of endpoints that exist on the trunk",
                  trunk == 0 ? trunks.virtual_total() : kE1EndpointsPerTrunk},
      CounterView{"endpoints:used", "Number of endpoints in use",
                  trunk == 0 ? trunks.virtual_used() : trunks.e1_used(trunk - 1)},
  };
  visit.group(Kind::items, "trunk", "mgw trunk",
              trunk_label(visit.control.counters(), trunk) + ":common", trunk, trunk, items);
}

}  // namespace

std::string trunk_label(const ControlCounters& control, std::size_t position) {
  return position == 0 ? "virtual-0" : fmt::format("e1-{}", control.e1_trunks[position - 1]);
}

void visit_counter_groups(const CallControl& control, const CounterGroupVisitor& visitor) {
  const Visit visit{control, visitor};
  const std::size_t trunks = control.counters().trunks.size();
  const std::vector<TrunkLegTotals> sums = control.media().totals();
  visit_connections(visit);
  for (std::size_t trunk = trunks - 1; trunk > 0; --trunk) {
    visit_trunk(visit, trunk, sums[trunk]);
  }
  visit_general(visit);
  visit_trunk(visit, 0, sums[0]);
  for (std::size_t trunk = trunks; trunk > 0; --trunk) {
    visit_items(visit, trunk - 1);
  }
}

}  // namespace mgw
