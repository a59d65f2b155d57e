#include "mgw/status_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <utility>

namespace mgw {

namespace {

using io::JsonWriter;

constexpr std::size_t kFilterBytesMax = 200;

double milliseconds(io::Duration duration) noexcept {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double seconds(io::Duration duration) noexcept {
  return std::chrono::duration<double>(duration).count();
}

std::optional<double> milliseconds(std::optional<io::Duration> duration) noexcept {
  return duration ? std::optional(milliseconds(*duration)) : std::nullopt;
}

std::optional<double> age_seconds(io::TimePoint created, io::TimePoint now) noexcept {
  return created == io::TimePoint{} ? std::nullopt : std::optional(seconds(now - created));
}

std::optional<std::string> address_text(const io::SocketAddress& address) {
  return address.kernel_size() == 0 ? std::nullopt : std::optional(address.text());
}

/// Those that are not 0, the largest first.
template <typename Counts>
void write_drops(JsonWriter& json, const Counts& counts) {
  std::vector<std::pair<std::uint64_t, std::size_t>> drops;
  for (std::size_t cause = 0; cause < counts.size(); ++cause) {
    if (counts[cause] != 0) {
      drops.emplace_back(counts[cause], cause);
    }
  }
  std::ranges::stable_sort(
      drops, [](const auto& left, const auto& right) { return left.first > right.first; });
  json.begin_array();
  for (const auto& [count, cause] : drops) {
    json.begin_object()
        .member("cause", to_string(static_cast<DropCause>(cause)))
        .member("count", count)
        .end_object();
  }
  json.end_array();
}

void write_point(JsonWriter& json, const HistoryPoint& point, io::TimePoint now) {
  json.begin_object()
      .member("age_s", seconds(now - point.at))
      .member("calls", point.calls)
      .member("packets_in_per_s", point.packets_in)
      .member("packets_out_per_s", point.packets_out)
      .member("octets_in_per_s", point.octets_in)
      .member("octets_out_per_s", point.octets_out)
      .member("drops_per_s", point.drops)
      .member("commands_per_s", point.commands)
      .member("loss", point.loss)
      .member("jitter_ms", point.jitter_ms)
      .member("mos", point.mos)
      .member("cpu_ns_per_packet", point.cpu_ns_per_packet)
      .member("cpu_cores", point.cpu_cores)
      .end_object();
}

void write_share(JsonWriter& json, std::string_view name, std::uint64_t used, std::uint64_t total) {
  json.key(name).begin_object().member("used", used).member("total", total).end_object();
}

void write_leg(JsonWriter& json, const LegSnapshot& leg, io::TimePoint now,
               std::string_view age_name) {
  const ConnectionCounters& counters = leg.counters;
  json.begin_object()
      .member("connection", leg.id == 0 ? std::string() : fmt::format("{:08X}", leg.id))
      .member("kind", to_string(leg.kind))
      .member("mode", leg.mode)
      .member("codec", leg.codec)
      .member("local", address_text(leg.local))
      .member("remote", address_text(leg.remote))
      .member(age_name, age_seconds(leg.created, now))
      .member("packets_in", counters.rtp_received.packets)
      .member("octets_in", counters.rtp_received.octets)
      .member("packets_out", counters.rtp_sent.packets)
      .member("octets_out", counters.rtp_sent.octets)
      .member("lost", counters.totals.lost())
      .member("loss", leg.loss())
      .member("jitter_ms", milliseconds(leg.jitter()))
      .member("round_trip_ms", milliseconds(leg.round_trip_time()))
      .member("mos", leg.mos())
      .member("drops", counters.dropped);
}

void write_leg_details(JsonWriter& json, const LegSnapshot& leg) {
  const ConnectionCounters& counters = leg.counters;
  json.member("duplicates", counters.totals.duplicates)
      .member("reordered", counters.totals.reordered)
      .member("restarts", counters.totals.restarts)
      .member("timestamp_errors_in", counters.timestamp_errors_in)
      .member("timestamp_errors_out", counters.timestamp_errors_out)
      .member("rtcp_in", counters.rtcp_received.packets)
      .member("rtcp_out", counters.rtcp_sent.packets);
  json.key("peer_reports");
  if (counters.remote.reports == 0) {
    json.value(std::optional<bool>());
  } else {
    const double rate_hz = counters.clock_rate_hz == 0 ? 8000 : counters.clock_rate_hz;
    json.begin_object()
        .member("reports", counters.remote.reports)
        .member("lost", counters.remote.cumulative_lost)
        .member("loss", counters.remote.fraction_lost / 256.0)
        .member("jitter_ms", counters.remote.jitter_ticks * 1000.0 / rate_hz)
        .end_object();
  }
  json.key("drops_by_cause");
  write_drops(json, counters.drops);
}

void write_call(JsonWriter& json, const CallSnapshot& call, io::TimePoint now, bool with_details) {
  json.begin_object()
      .member("endpoint", call.endpoint)
      .member("call_id", call.call_id)
      .member("age_s", age_seconds(call.created(), now))
      .member("packets", call.packets())
      .member("loss", call.worst_loss())
      .member("jitter_ms", milliseconds(call.worst_jitter()))
      .member("round_trip_ms", milliseconds(call.worst_round_trip_time()))
      .member("mos", call.worst_mos())
      .member("drops", call.drops());
  json.key("legs").begin_array();
  for (const LegSnapshot& leg : call.legs) {
    write_leg(json, leg, now, "age_s");
    if (with_details) {
      write_leg_details(json, leg);
    }
    json.end_object();
  }
  json.end_array().end_object();
}

char lower(char character) noexcept {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
}

/// `part` is in lower case.
bool contains(std::string_view text, std::string_view part) noexcept {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char left, char right) { return lower(left) == right; }) != text.end();
}

bool matches(const CallSnapshot& call, std::string_view filter) {
  return filter.empty() || contains(call.endpoint, filter) || contains(call.call_id, filter) ||
         std::ranges::any_of(call.legs, [filter](const LegSnapshot& leg) {
           return contains(leg.codec, filter) || contains(leg.mode, filter) ||
                  contains(leg.local.text(), filter) || contains(leg.remote.text(), filter);
         });
}

/// The number by which calls are sorted; what is not known comes before all else.
double key_of(const CallSnapshot& call, CallOrder order, io::TimePoint now) {
  switch (order) {
    case CallOrder::age:
      return age_seconds(call.created(), now).value_or(-1);
    case CallOrder::packets:
      return static_cast<double>(call.packets());
    case CallOrder::loss:
      return call.worst_loss();
    case CallOrder::jitter:
      return milliseconds(call.worst_jitter());
    case CallOrder::round_trip:
      return milliseconds(call.worst_round_trip_time()).value_or(-1);
    case CallOrder::mos:
      // Unrated calls are of no interest to who looks for bad ones: they come last then.
      return call.worst_mos().value_or(5);
    case CallOrder::drops:
      return static_cast<double>(call.drops());
    case CallOrder::endpoint:
    case CallOrder::call_id:
      break;
  }
  return 0;
}

/// Calls of the snapshot with what they are sorted by.
struct Ranked {
  double key = 0;
  std::size_t position = 0;
};

std::vector<Ranked> ranked(const std::vector<CallSnapshot>& calls, const CallQuery& query,
                           io::TimePoint now) {
  std::vector<Ranked> found;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (matches(calls[i], query.filter)) {
      found.push_back({key_of(calls[i], query.order, now), i});
    }
  }
  // Calls are in the order of their endpoints.
  std::ranges::stable_sort(found, [&](const Ranked& left, const Ranked& right) {
    const Ranked& first = query.descending ? right : left;
    const Ranked& second = query.descending ? left : right;
    if (query.order == CallOrder::call_id) {
      return calls[first.position].call_id < calls[second.position].call_id;
    }
    if (query.order == CallOrder::endpoint) {
      return first.position < second.position;
    }
    return first.key < second.key;
  });
  return found;
}

bool read_number(std::string_view text, std::size_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

bool read_order(std::string_view text, CallOrder& order) {
  constexpr std::array<std::string_view, 9> kWords = {
      "endpoint", "call_id", "age", "packets", "loss", "jitter", "round_trip", "mos", "drops"};
  const auto word = std::ranges::find(kWords, text);
  order = static_cast<CallOrder>(word - kWords.begin());
  return word != kWords.end();
}

/// False if the value is none for that name.
bool read_member(std::string_view name, const std::string& value, CallQuery& query) {
  if (name == "sort") {
    return read_order(value, query.order);
  }
  if (name == "order") {
    query.descending = value == "desc";
    return value == "asc" || value == "desc";
  }
  if (name == "filter") {
    std::ranges::transform(value, std::back_inserter(query.filter), lower);
    return value.size() <= kFilterBytesMax;
  }
  if (name == "limit") {
    return read_number(value, query.limit) && query.limit <= kCallsPerAnswerMax;
  }
  return name != "offset" || read_number(value, query.offset);
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::optional<CallQuery> parse_call_query(std::string_view query) {
  CallQuery wanted;
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    const std::size_t equals = std::min(member.find('='), member.size());
    const std::string value = percent_decoded(member.substr(std::min(equals + 1, member.size())));
    if (!read_member(member.substr(0, equals), value, wanted)) {
      return std::nullopt;
    }
  }
  return wanted;
}

void write_leg_json(JsonWriter& json, const LegSnapshot& leg, io::TimePoint now,
                    std::string_view age_name) {
  write_leg(json, leg, now, age_name);
  write_leg_details(json, leg);
  json.end_object();
}

std::string overview_json(const GatewaySnapshot& snapshot, io::TimePoint now) {
  JsonWriter json;
  json.begin_object()
      .member("version", snapshot.facts.version)
      .member("backend", snapshot.facts.backend)
      .member("fallback_reason", snapshot.facts.fallback_reason)
      .member("workers", snapshot.facts.workers)
      .member("uptime_s", seconds(now - snapshot.started))
      .member("sample_age_s", seconds(now - snapshot.at))
      .member("draining", snapshot.draining)
      .member("connections", snapshot.connections);
  json.key("states").begin_array();
  for (const StateLine& line : snapshot.states) {
    json.begin_object().member("name", line.name).member("value", line.value).end_object();
  }
  json.end_array();
  write_share(json, "endpoints", snapshot.endpoints_used, snapshot.endpoints_total);
  write_share(json, "port_pairs", snapshot.ports_used, snapshot.ports_total);
  write_share(json, "buffers", snapshot.buffers - std::min(snapshot.buffers, snapshot.buffers_free),
              snapshot.buffers);
  json.key("legs_by_quality").begin_object();
  for (std::size_t i = 0; i < kQualityClasses; ++i) {
    json.member(to_string(static_cast<QualityClass>(i)), snapshot.qualities[i]);
  }
  json.end_object().key("drops_by_cause");
  write_drops(json, snapshot.drops);
  json.key("now");
  write_point(json, snapshot.now, now);
  json.key("history").begin_array();
  for (const HistoryPoint& point : snapshot.history) {
    write_point(json, point, now);
  }
  return json.end_array().end_object().take();
}

std::string calls_json(const GatewaySnapshot& snapshot, const CallQuery& query) {
  static const std::vector<CallSnapshot> kNone;
  const std::vector<CallSnapshot>& calls = snapshot.calls ? *snapshot.calls : kNone;
  const std::vector<Ranked> found = ranked(calls, query, snapshot.at);
  const std::size_t first = std::min(query.offset, found.size());
  const std::size_t count = std::min(query.limit, found.size() - first);
  JsonWriter json;
  json.begin_object()
      .member("total", calls.size())
      .member("matching", found.size())
      .member("offset", first);
  json.key("calls").begin_array();
  for (const Ranked& one : std::span(found).subspan(first, count)) {
    write_call(json, calls[one.position], snapshot.at, false);
  }
  return json.end_array().end_object().take();
}

std::optional<std::string> call_json(const GatewaySnapshot& snapshot, std::string_view endpoint) {
  if (!snapshot.calls) {
    return std::nullopt;
  }
  const auto call = std::ranges::find_if(*snapshot.calls, [endpoint](const CallSnapshot& one) {
    return one.endpoint == endpoint || one.endpoint.substr(0, one.endpoint.find('@')) == endpoint;
  });
  if (call == snapshot.calls->end()) {
    return std::nullopt;
  }
  JsonWriter json;
  write_call(json, *call, snapshot.at, true);
  return json.take();
}

}  // namespace mgw
