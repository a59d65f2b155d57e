// The views of counters: what is remembered of them, what the VTY shows, what reporters send.

#include "tests/unit/ttcn-compat/sample_counters.h"
#include "ttcn-compat/counter_history.h"
#include "ttcn-compat/counter_reporter.h"
#include "ttcn-compat/counter_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using ttcn_compat::CounterFigure;
using ttcn_compat::CounterGroupView;
using ttcn_compat::CounterHistory;
using ttcn_compat::CounterReporter;
using ttcn_compat::ZeroCounters;
using ttcn_compat_test::SampleCounters;
using namespace std::chrono_literals;

constexpr io::TimePoint kStart{io::Duration(5s)};

CounterFigure figure_of(SampleCounters& counters, CounterHistory& history, std::string_view prefix,
                        std::string_view name, std::uint32_t index = 0) {
  CounterFigure figure;
  counters.visit([&](const CounterGroupView& group) {
    for (std::size_t i = 0; i < group.counters.size(); ++i) {
      if (group.prefix == prefix && group.index == index && group.counters[i].name == name) {
        figure = history.read(group)[i];
      }
    }
  });
  return figure;
}

conf::StatsReporter statsd(std::string prefix, std::uint16_t mtu = 0) {
  conf::StatsReporter options;
  options.prefix = std::move(prefix);
  options.mtu = mtu;
  return options;
}

std::vector<std::string> report(CounterReporter& reporter, SampleCounters& counters,
                                const CounterHistory& history, CounterReporter::Extent extent) {
  std::vector<std::string> datagrams;
  reporter.report(counters.source(), history, extent,
                  [&datagrams](std::string_view datagram) { datagrams.emplace_back(datagram); });
  return datagrams;
}

constexpr auto kPeriodic = CounterReporter::Extent::periodic;
constexpr auto kEverything = CounterReporter::Extent::everything;

}  // namespace

TEST_CASE("a rate is the growth in the last full second, minute, hour and day") {
  SampleCounters counters;
  CounterHistory history;
  std::uint64_t& messages = counters.value("mgcp", "mgcp:rx_msgs");
  const auto rates = [&] { return figure_of(counters, history, "mgcp", "mgcp:rx_msgs").rates; };
  messages = 2;  // before the first tick: part of the first second
  history.tick(kStart, counters.source());
  CHECK(rates().second == 0);
  messages = 7;
  history.tick(kStart + 999ms, counters.source());
  CHECK(rates().second == 0);
  history.tick(kStart + 1s, counters.source());
  CHECK(rates().second == 7);
  history.tick(kStart + 2s, counters.source());
  CHECK(rates().second == 0);
  CHECK(rates().minute == 0);
  for (int second = 3; second <= 60; ++second) {
    messages += 2;
    history.tick(kStart + std::chrono::seconds(second), counters.source());
  }
  CHECK(rates().second == 2);
  CHECK(rates().minute == 7 + 58 * 2);
  CHECK(rates().hour == 0);
  history.tick(kStart + 3600s, counters.source());
  CHECK(rates().minute == 0);
  CHECK(rates().hour == 7 + 58 * 2);
  history.tick(kStart + 86400s, counters.source());
  CHECK(rates().hour == 0);
  CHECK(rates().day == 7 + 58 * 2);
  CHECK(figure_of(counters, history, "mgcp", "mgcp:rx_msgs").value == 123);
}

TEST_CASE("after a pause of the ticks a rate is the average of what was missed") {
  SampleCounters counters;
  CounterHistory history;
  history.tick(kStart, counters.source());
  counters.value("mgcp", "mgcp:rx_msgs") = 50;
  history.tick(kStart + 5s, counters.source());
  CHECK(figure_of(counters, history, "mgcp", "mgcp:rx_msgs").rates.second == 10);
}

TEST_CASE("a reset sets views to zero, not the counters, and leaves items as they are") {
  SampleCounters counters;
  CounterHistory history;
  counters.value("crcx", "crcx:success") = 40;
  counters.value("conn_rtp", "rtp:packets_rx") = 4;
  counters.value("trunk", "endpoints:used") = 3;
  history.tick(kStart, counters.source());
  history.tick(kStart + 1s, counters.source());
  REQUIRE(figure_of(counters, history, "crcx", "crcx:success").rates.second == 40);
  history.reset(counters.source());
  CHECK(figure_of(counters, history, "crcx", "crcx:success").value == 0);
  CHECK(figure_of(counters, history, "crcx", "crcx:success").rates.second == 0);
  CHECK(figure_of(counters, history, "conn_rtp", "rtp:packets_rx").value == 0);
  CHECK(figure_of(counters, history, "trunk", "endpoints:used").value == 3);
  CHECK(counters.value("crcx", "crcx:success") == 40);
  counters.value("crcx", "crcx:success") = 42;
  counters.value("conn_rtp", "rtp:packets_rx") = 5;
  history.tick(kStart + 2s, counters.source());
  CHECK(figure_of(counters, history, "crcx", "crcx:success").value == 2);
  CHECK(figure_of(counters, history, "crcx", "crcx:success").rates.second == 2);
  CHECK(figure_of(counters, history, "conn_rtp", "rtp:packets_rx").value == 1);
}

TEST_CASE("a connection is sampled from the first look on, and forgotten with its group") {
  SampleCounters counters;
  CounterHistory history;
  counters.add_connection(1);
  std::uint64_t packets = 100;
  counters.value("conn_rtp", "rtp:packets_rx", 1) = packets;
  history.tick(kStart, counters.source());
  const std::size_t without_connections = history.groups();
  history.tick(kStart + 1s, counters.source());
  CHECK(history.groups() == without_connections);
  const auto look = [&] { return figure_of(counters, history, "conn_rtp", "rtp:packets_rx", 1); };
  CHECK(look().value == 100);
  CHECK(look().rates.second == 0);  // what came before the look is of no known second
  CHECK(history.groups() == without_connections + 1);
  counters.value("conn_rtp", "rtp:packets_rx", 1) = packets + 50;
  history.tick(kStart + 2s, counters.source());
  CHECK(look().rates.second == 50);
  SUBCASE("when the connection goes") {
    counters.remove_connection(1);
    history.tick(kStart + 3s, counters.source());
    CHECK(history.groups() == without_connections);
  }
  SUBCASE("when nobody looks for long") {
    history.tick(kStart + 2s + CounterHistory::kConnectionWatchTime, counters.source());
    CHECK(history.groups() == without_connections + 1);
    history.tick(kStart + 4s + CounterHistory::kConnectionWatchTime, counters.source());
    CHECK(history.groups() == without_connections);
  }
  SUBCASE("but a reset is remembered as long as the connection") {
    history.reset(counters.source());
    history.tick(kStart + 4s + 3 * CounterHistory::kConnectionWatchTime, counters.source());
    CHECK(look().value == 0);
  }
}

TEST_CASE("show stats names counters by description, then items, with their groups") {
  SampleCounters counters;
  CounterHistory history;
  counters.value("mgcp", "mgcp:rx_msgs") = 28;
  counters.value("trunk", "endpoints:total") = 5;
  counters.value("trunk", "endpoints:total", 1) = 465;
  history.tick(kStart, counters.source());
  history.tick(kStart + 60s, counters.source());
  history.tick(kStart + 61s, counters.source());
  const auto source = counters.source();
  CHECK(show_stats(source, history, conf::StatsLevel::subscriber, ZeroCounters::skipped) ==
        "Ungrouped counters:\n"
        "mgcp general statistics (0)('mgw:general'):\n"
        " total number of MGCP messages received.:       28 (0/s 28/m 0/h 0/d)\n"
        "aggregated statistics for all rtp connections (0)('virtual-0:rtp_conn'):\n"
        "crxc statistics (0)('virtual-0:crcx'):\n"
        "mdcx statistics (0)('virtual-0:mdcx'):\n"
        "rtp connection statistics (0):\n"
        "mgw trunk (0)('virtual-0:common'):\n"
        " Number of endpoints that exist on the trunk:        5 \n"
        "mgw trunk (1)('e1-1:common'):\n"
        " Number of endpoints that exist on the trunk:      465 \n");
  const std::string all =
      show_stats(source, history, conf::StatsLevel::global, ZeroCounters::shown);
  CHECK(all.find("rtp connection statistics (0):\n"
                 " Inbound rtp packets.:        0 (0/s 0/m 0/h 0/d)\n"
                 "mgw trunk") != std::string::npos);
}

TEST_CASE("show stats leaves out groups above the level") {
  SampleCounters counters;
  CounterHistory history;
  const auto of_subscribers = [&counters](const ttcn_compat::CounterGroupVisitor& visitor) {
    counters.visit([&visitor](const CounterGroupView& group) {
      CounterGroupView changed = group;
      changed.level = group.of_connection ? conf::StatsLevel::subscriber : conf::StatsLevel::peer;
      visitor(changed);
    });
  };
  const auto text = [&](conf::StatsLevel level) {
    return show_stats(of_subscribers, history, level, ZeroCounters::shown);
  };
  CHECK(text(conf::StatsLevel::global) == "Ungrouped counters:\n");
  CHECK(text(conf::StatsLevel::peer).find("crxc statistics") != std::string::npos);
  CHECK(text(conf::StatsLevel::peer).find("rtp connection statistics") == std::string::npos);
  CHECK(text(conf::StatsLevel::subscriber).find("rtp connection statistics") != std::string::npos);
}

TEST_CASE("show rate-counters names counters by name, right-aligned to 25, without items") {
  SampleCounters counters;
  CounterHistory history;
  counters.value("mgcp", "mgcp:rx_msgs") = 28;
  const auto source = counters.source();
  CHECK(show_rate_counters(source, history, ZeroCounters::shown) ==
        "mgcp general statistics 0 (mgw:general):\n"
        "             mgcp:rx_msgs:         28 (0/s 0/m 0/h 0/d) total number of MGCP messages "
        "received.\n"
        "mgcp:rx_msgs_retransmitted:          0 (0/s 0/m 0/h 0/d) number of received "
        "retransmissions.\n"
        "aggregated statistics for all rtp connections 0 (virtual-0:rtp_conn):\n"
        "       all_rtp:packets_tx:          0 (0/s 0/m 0/h 0/d) Total outbound rtp packets.\n"
        "crxc statistics 0 (virtual-0:crcx):\n"
        "             crcx:success:          0 (0/s 0/m 0/h 0/d) CRCX command processed "
        "successfully.\n"
        "          crcx:bad_action:          0 (0/s 0/m 0/h 0/d) bad action in CRCX command.\n"
        "mdcx statistics 0 (virtual-0:mdcx):\n"
        "     crcx:unhandled_param:          0 (0/s 0/m 0/h 0/d) unhandled parameter in MDCX "
        "command.\n"
        "rtp connection statistics 0:\n"
        "           rtp:packets_rx:          0 (0/s 0/m 0/h 0/d) Inbound rtp packets.\n");
  CHECK(show_rate_counters(source, history, ZeroCounters::skipped).find("crcx:success") ==
        std::string::npos);
}

TEST_CASE("show mgcp stats has a trunk's groups in the order of its commands, then the rest") {
  SampleCounters counters;
  CounterHistory history;
  CHECK(trunk_rate_counters(counters.source(), history, 0) ==
        "Rate counters (trunk):\n"
        "   crxc statistics:\n"
        "                crcx:success:          0 (0/s 0/m 0/h 0/d) CRCX command processed "
        "successfully.\n"
        "             crcx:bad_action:          0 (0/s 0/m 0/h 0/d) bad action in CRCX command.\n"
        "   mdcx statistics:\n"
        "        crcx:unhandled_param:          0 (0/s 0/m 0/h 0/d) unhandled parameter in MDCX "
        "command.\n"
        "   aggregated statistics for all rtp connections:\n"
        "          all_rtp:packets_tx:          0 (0/s 0/m 0/h 0/d) Total outbound rtp "
        "packets.\n");
  CHECK(trunk_rate_counters(counters.source(), history, 1) == "Rate counters (trunk):\n");
  CHECK(global_rate_counters(counters.source(), history) ==
        "Rate counters (global):\n"
        "   mgcp general statistics:\n"
        "                mgcp:rx_msgs:          0 (0/s 0/m 0/h 0/d) total number of MGCP messages "
        "received.\n"
        "   mgcp:rx_msgs_retransmitted:          0 (0/s 0/m 0/h 0/d) number of received "
        "retransmissions.\n");
}

TEST_CASE("statsd lines have the names and datagrams that dashboards know") {
  SampleCounters counters;
  CounterHistory history;
  CounterReporter reporter(statsd("TTCN3"));
  counters.value("crcx", "crcx:success") = 2;
  counters.value("trunk", "endpoints:used") = 1;
  const auto datagrams = report(reporter, counters, history, kPeriodic);
  CHECK(datagrams ==
        std::vector<std::string>{"TTCN3.mgcp.mgw.general.mgcp.rx_msgs:0|c\n"
                                 "TTCN3.mgcp.mgw.general.mgcp.rx_msgs_retransmitted:0|c\n"
                                 "TTCN3.all_rtp_conn.virtual-0.rtp_conn.all_rtp.packets_tx:0|c\n"
                                 "TTCN3.crcx.virtual-0.crcx.crcx.success:2|c\n"
                                 "TTCN3.crcx.virtual-0.crcx.crcx.bad_action:0|c",
                                 "TTCN3.mdcx.virtual-0.mdcx.crcx.unhandled_param:0|c\n"
                                 "TTCN3.conn_rtp.0.rtp.packets_rx:0|c\n"
                                 "TTCN3.trunk.virtual-0.common.endpoints.total:0|g\n"
                                 "TTCN3.trunk.virtual-0.common.endpoints.used:1|g\n"
                                 "TTCN3.trunk.e1-1.common.endpoints.total:0|g",
                                 "TTCN3.trunk.e1-1.common.endpoints.used:0|g"});
  CounterReporter without_prefix(statsd(""));
  CHECK(report(without_prefix, counters, history, kPeriodic)[0].starts_with(
      "mgcp.mgw.general.mgcp.rx_msgs:0|c\n"));
}

TEST_CASE("a statsd datagram is filled up to the MTU less the headers, never beyond") {
  SampleCounters counters;
  const CounterHistory history;
  for (std::uint16_t mtu = 100; mtu < 700; ++mtu) {
    CAPTURE(mtu);
    CounterReporter reporter(statsd("TTCN3", mtu));
    const auto datagrams = report(reporter, counters, history, kPeriodic);
    std::string all;
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
      CHECK(datagrams[i].size() <= mtu - 28U);
      CHECK(datagrams[i].back() != '\n');
      const std::size_t next_line = i + 1 < datagrams.size() ? datagrams[i + 1].find('\n') : 0;
      if (i + 1 < datagrams.size()) {
        const std::size_t line =
            next_line == std::string::npos ? datagrams[i + 1].size() : next_line;
        CHECK(datagrams[i].size() + 1 + line > mtu - 28U);
      }
      all += datagrams[i] + '\n';
    }
    CHECK(std::count(all.begin(), all.end(), '\n') == 11);
  }
}

TEST_CASE("a line longer than a datagram may be is one by itself") {
  SampleCounters counters;
  const CounterHistory history;
  CounterReporter reporter(statsd(std::string(300, 'p')));
  CHECK(report(reporter, counters, history, kPeriodic).size() == 11);
}

TEST_CASE("after the first report only changes are sent, as deltas; items as they are") {
  SampleCounters counters;
  CounterHistory history;
  CounterReporter reporter(statsd("T"));
  counters.value("mgcp", "mgcp:rx_msgs") = 28;
  REQUIRE(report(reporter, counters, history, kPeriodic).size() > 1);
  CHECK(report(reporter, counters, history, kPeriodic).empty());
  counters.value("mgcp", "mgcp:rx_msgs") = 30;
  counters.value("trunk", "endpoints:used") = 3;
  CHECK(report(reporter, counters, history, kPeriodic) ==
        std::vector<std::string>{"T.mgcp.mgw.general.mgcp.rx_msgs:2|c\n"
                                 "T.trunk.virtual-0.common.endpoints.used:3|g"});
  counters.value("trunk", "endpoints:used") = 0;
  CHECK(report(reporter, counters, history, kPeriodic) ==
        std::vector<std::string>{"T.trunk.virtual-0.common.endpoints.used:0|g"});
}

TEST_CASE("a report that is asked for has everything, whatever changed") {
  SampleCounters counters;
  CounterHistory history;
  CounterReporter reporter(statsd("T"));
  const auto first = report(reporter, counters, history, kPeriodic);
  CHECK(report(reporter, counters, history, kEverything) == first);
  CHECK(report(reporter, counters, history, kEverything) == first);
  CHECK(report(reporter, counters, history, kPeriodic).empty());
}

TEST_CASE("with a flush period all values come in each so many reports") {
  SampleCounters counters;
  CounterHistory history;
  conf::StatsReporter options = statsd("T");
  options.flush_period = 3;
  CounterReporter reporter(options);
  std::string pattern;
  for (int i = 0; i < 7; ++i) {
    pattern += report(reporter, counters, history, kPeriodic).empty() ? '.' : 'x';
  }
  CHECK(pattern == "x..x..x");
  options.flush_period = 1;
  reporter.set_options(options);
  CHECK_FALSE(report(reporter, counters, history, kPeriodic).empty());
  CHECK_FALSE(report(reporter, counters, history, kPeriodic).empty());
}

TEST_CASE("two reporters have their own deltas, and a reset counts for both") {
  SampleCounters counters;
  CounterHistory history;
  CounterReporter one(statsd("1"));
  CounterReporter other(statsd("2"));
  std::uint64_t& created = counters.value("crcx", "crcx:success");
  report(one, counters, history, kPeriodic);
  report(other, counters, history, kPeriodic);
  created = 5;
  CHECK(report(one, counters, history, kPeriodic)[0] == "1.crcx.virtual-0.crcx.crcx.success:5|c");
  created = 8;
  history.reset(counters.source());
  CHECK(report(one, counters, history, kPeriodic).empty());
  created = 9;
  CHECK(report(one, counters, history, kPeriodic)[0] == "1.crcx.virtual-0.crcx.crcx.success:1|c");
  CHECK(report(other, counters, history, kPeriodic)[0] == "2.crcx.virtual-0.crcx.crcx.success:1|c");
}

TEST_CASE("a connection that comes is reported whole, one that went is forgotten") {
  SampleCounters counters;
  CounterHistory history;
  CounterReporter reporter(statsd("T"));
  report(reporter, counters, history, kPeriodic);
  const std::size_t known = reporter.groups();
  counters.add_connection(17);
  counters.value("conn_rtp", "rtp:packets_rx", 17) = 4;
  CHECK(report(reporter, counters, history, kPeriodic)[0] == "T.conn_rtp.17.rtp.packets_rx:4|c");
  CHECK(reporter.groups() == known + 1);
  counters.remove_connection(17);
  CHECK(report(reporter, counters, history, kPeriodic).empty());
  CHECK(reporter.groups() == known);
}

TEST_CASE("the log reporter writes the same values, one line each") {
  SampleCounters counters;
  CounterHistory history;
  conf::StatsReporter options = statsd("LOGP");
  options.kind = conf::StatsReporter::Kind::log;
  CounterReporter reporter(options);
  counters.value("crcx", "crcx:success") = 2;
  counters.value("trunk", "endpoints:total", 1) = 465;
  const auto lines = report(reporter, counters, history, kPeriodic);
  REQUIRE(lines.size() == 11);
  CHECK(lines[3] == "stats t=c p=LOGP g=crcx i=0 n=crcx:success v=2 u=");
  CHECK(lines[9] == "stats t=i p=LOGP g=trunk i=1 n=endpoints:total v=465 u=");
  counters.value("crcx", "crcx:success") = 3;
  CHECK(report(reporter, counters, history, kPeriodic) ==
        std::vector<std::string>{"stats t=c p=LOGP g=crcx i=0 n=crcx:success v=1 u="});
}
