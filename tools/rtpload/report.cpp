#include "tools/rtpload/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace rtpload {
namespace {

using Json = nlohmann::ordered_json;

// What the distances of a stream's packets may differ from 20 ms at p99.9.
constexpr double kPacingUs = 500;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json quantiles_json(const std::optional<Quantiles>& quantiles) {
  const Json null = nullptr;
  if (!quantiles) {
    return {{"p50", null}, {"p99", null}, {"p999", null}, {"max", null}};
  }
  return {{"p50", quantiles->p50_us},
          {"p99", quantiles->p99_us},
          {"p999", quantiles->p999_us},
          {"max", quantiles->max_us}};
}

Json transactions_json(const std::optional<TransactionFigures>& figures) {
  Json json{{"transactions", nullptr},
            {"per_second", nullptr},
            {"p50_us", nullptr},
            {"p99_us", nullptr},
            {"max_us", nullptr}};
  if (figures) {
    json["transactions"] = figures->transactions;
    json["per_second"] = figures->per_second;
  }
  if (figures && figures->round_trip) {
    json["p50_us"] = figures->round_trip->p50_us;
    json["p99_us"] = figures->round_trip->p99_us;
    json["max_us"] = figures->round_trip->max_us;
  }
  return json;
}

Json gateway_json(const std::optional<GatewayFigures>& gateway) {
  if (!gateway) {
    const Json null = nullptr;
    return {{"cpu_percent", null},
            {"cpu_us_per_packet", null},
            {"rss_kib", null},
            {"threads", null},
            {"voluntary_switches", null}};
  }
  return {{"cpu_percent", gateway->cpu_percent},
          {"cpu_us_per_packet", or_null(gateway->cpu_us_per_packet)},
          {"rss_kib", gateway->rss_kib},
          {"threads", gateway->threads},
          {"voluntary_switches", gateway->voluntary_switches}};
}

Json counts_json(const std::optional<GatewayCounts>& counts) {
  if (!counts) {
    return nullptr;
  }
  return {{"connections", counts->connections},
          {"packets_received", counts->packets_received},
          {"packets_sent", counts->packets_sent},
          {"packets_lost", counts->packets_lost}};
}

Json generator_json(const std::optional<GeneratorFigures>& generator) {
  if (!generator) {
    return nullptr;
  }
  return {{"cpu_percent", generator->cpu_percent},
          {"cpu_us_per_packet", or_null(generator->cpu_us_per_packet)},
          {"lateness_us", quantiles_json(generator->lateness)},
          {"pacing_us", quantiles_json(generator->pacing)},
          {"missed", generator->missed},
          {"send_refused", generator->send_refused}};
}

Json machine_json(const std::optional<MachineFigures>& machine) {
  if (!machine) {
    return nullptr;
  }
  return {{"busy_percent", machine->busy_percent},
          {"stolen_percent", machine->stolen_percent},
          {"busy_us_per_packet", or_null(machine->busy_us_per_packet)}};
}

void append_transactions(std::string& out, std::string_view name,
                         const std::optional<TransactionFigures>& figures) {
  if (!figures || figures->transactions == 0) {
    return;
  }
  fmt::format_to(std::back_inserter(out), "  {:<12} {} transactions, {:.0f} per second", name,
                 figures->transactions, figures->per_second);
  if (figures->round_trip) {
    fmt::format_to(std::back_inserter(out), ", p50 {:.0f} us, p99 {:.0f} us, max {:.0f} us",
                   figures->round_trip->p50_us, figures->round_trip->p99_us,
                   figures->round_trip->max_us);
  }
  out += '\n';
}

void append_quantiles(std::string& out, std::string_view name,
                      const std::optional<Quantiles>& quantiles) {
  if (quantiles) {
    fmt::format_to(std::back_inserter(out),
                   "  {:<12} p50 {:.1f} us, p99 {:.1f} us, p99.9 {:.1f} us, max {:.1f} us\n", name,
                   quantiles->p50_us, quantiles->p99_us, quantiles->p999_us, quantiles->max_us);
  }
}

void append_media(std::string& out, const Report& report) {
  const double loss = report.sent == 0 ? 0
                                       : 100.0 * static_cast<double>(report.lost) /
                                             static_cast<double>(report.sent);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "  {:<12} sent {}, received {}, lost {} ({:.4f} %)\n", "packets", report.sent,
                 report.received, report.lost, loss);
  fmt::format_to(to, "  {:<12} reordered {}, duplicated {}, corrupted {}, wrong stream {}\n", "",
                 report.reordered, report.duplicated, report.corrupted, report.wrong_stream);
  if (report.silent_streams > 0) {
    fmt::format_to(to, "  {:<12} nothing arrived in the last second of {} streams\n", "",
                   report.silent_streams);
  }
  if (report.rtcp_sent > 0) {
    fmt::format_to(to, "  {:<12} sent {}, received {}\n", "RTCP", report.rtcp_sent,
                   report.rtcp_received);
  }
  append_quantiles(out, "latency", report.latency);
}

void append_processes(std::string& out, const Report& report) {
  auto to = std::back_inserter(out);
  if (report.gateway) {
    const GatewayFigures& gateway = *report.gateway;
    fmt::format_to(to, "  {:<12} CPU {:.1f} % of a core", "gateway", gateway.cpu_percent);
    if (gateway.cpu_us_per_packet) {
      fmt::format_to(to, ", {:.2f} us per packet", *gateway.cpu_us_per_packet);
    }
    fmt::format_to(to, ", {} KiB, {} threads, {} voluntary switches\n", gateway.rss_kib,
                   gateway.threads, gateway.voluntary_switches);
  }
  if (report.gateway_counts) {
    const GatewayCounts& counts = *report.gateway_counts;
    fmt::format_to(to, "  {:<12} received {}, sent {}, lost {} by the P: lines of {} connections\n",
                   "its counts", counts.packets_received, counts.packets_sent, counts.packets_lost,
                   counts.connections);
  }
  if (report.generator) {
    const GeneratorFigures& generator = *report.generator;
    fmt::format_to(to, "  {:<12} CPU {:.1f} % of a core", "generator", generator.cpu_percent);
    if (generator.cpu_us_per_packet) {
      fmt::format_to(to, ", {:.2f} us per packet", *generator.cpu_us_per_packet);
    }
    fmt::format_to(to, ", packets refused by the kernel {}\n", generator.send_refused);
    append_quantiles(out, "  lateness", report.generator->lateness);
    append_quantiles(out, "  pacing +-", report.generator->pacing);
    if (generator.missed > 0) {
      fmt::format_to(to, "  {:<12} {} instants were over before it could send\n", "  missed",
                     generator.missed);
    }
  }
}

}  // namespace

std::vector<std::string> faults(const Report& report, double max_loss) {
  std::vector<std::string> found;
  const auto demand_none = [&found](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      found.push_back(fmt::format("{} {}", count, what));
    }
  };
  demand_none(report.failed_calls, "calls could not be set up");
  if (report.calls < report.calls_wanted && report.failed_calls == 0) {
    found.push_back(
        fmt::format("only {} of {} calls were set up", report.calls, report.calls_wanted));
  }
  if (static_cast<double>(report.lost) > max_loss * static_cast<double>(report.sent)) {
    found.push_back(fmt::format("{} of {} packets lost", report.lost, report.sent));
  }
  demand_none(report.reordered, "packets reordered");
  demand_none(report.duplicated, "packets duplicated");
  demand_none(report.corrupted, "packets corrupted");
  demand_none(report.wrong_stream, "packets at the wrong leg");
  return found;
}

std::vector<std::string> warnings(const Report& report) {
  std::vector<std::string> found;
  if (report.generator && report.generator->missed > 0) {
    found.push_back(
        fmt::format("{} packets were not sent: the generator did not run at their instants",
                    report.generator->missed));
  }
  if (report.generator && report.generator->pacing &&
      report.generator->pacing->p999_us > kPacingUs) {
    found.push_back(fmt::format(
        "the generator's own distances were wrong by {:.2f} ms at p99.9, more than 0.5 ms",
        report.generator->pacing->p999_us / 1000));
  }
  if (report.generator && report.generator->send_refused > 0) {
    found.push_back(
        fmt::format("the kernel refused to send {} packets", report.generator->send_refused));
  }
  return found;
}

std::string to_json(const Report& report, double max_loss) {
  Json json{{"mode", report.mode},
            {"calls", report.calls},
            {"connections", report.connections},
            {"codec", report.codec},
            {"seconds", report.seconds},
            {"setup", transactions_json(report.setup)},
            {"sent", report.sent},
            {"received", report.received},
            {"lost", report.lost},
            {"reordered", report.reordered},
            {"duplicated", report.duplicated},
            {"corrupted", report.corrupted},
            {"wrong_stream", report.wrong_stream},
            {"latency_us", quantiles_json(report.latency)},
            {"gateway", gateway_json(report.gateway)},
            {"failed_calls", report.failed_calls},
            {"held_calls", report.held_calls},
            {"calls_per_second", report.calls_per_second},
            {"teardown", transactions_json(report.teardown)},
            {"teardown_failed", report.delete_failed},
            {"mgcp_retransmissions", report.retransmissions},
            {"unknown_source", report.unknown_source},
            {"keep_alives", report.keep_alives},
            {"silent_streams", report.silent_streams},
            {"rtcp", {{"sent", report.rtcp_sent}, {"received", report.rtcp_received}}},
            {"gateway_counts", counts_json(report.gateway_counts)},
            {"generator", generator_json(report.generator)},
            {"machine", machine_json(report.machine)},
            {"errors", report.errors},
            {"interrupted", report.interrupted},
            {"warnings", warnings(report)},
            {"faults", faults(report, max_loss)}};
  return json.dump(2) + "\n";
}

std::string to_text(const Report& report, double max_loss) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "rtpload: {} calls ({} connections) of {}, {:.1f} s{}\n", report.calls,
                 report.connections, report.codec, report.seconds,
                 report.interrupted ? ", interrupted" : "");
  append_transactions(out, "set-up", report.setup);
  append_transactions(out, "take-down", report.teardown);
  if (report.retransmissions > 0) {
    fmt::format_to(to, "  {:<12} {} requests sent again\n", "MGCP", report.retransmissions);
  }
  if (report.mode == "setup-only") {
    fmt::format_to(to, "  {:<12} {:.0f} calls per second, {} held meanwhile\n", "rate",
                   report.calls_per_second, report.held_calls);
  } else {
    append_media(out, report);
  }
  append_processes(out, report);
  for (const auto& [text, count] : report.errors) {
    fmt::format_to(to, "  {:<12} {} times: {}\n", "error", count, text);
  }
  for (const std::string& warning : warnings(report)) {
    fmt::format_to(to, "  {:<12} {}\n", "warning", warning);
  }
  const std::vector<std::string> found = faults(report, max_loss);
  for (const std::string& fault : found) {
    fmt::format_to(to, "  {:<12} {}\n", "FAULT", fault);
  }
  out += found.empty() ? "  good\n" : "";
  return out;
}

}  // namespace rtpload
