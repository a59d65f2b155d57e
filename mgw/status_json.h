#pragma once
// Snapshots as JSON, and how parts of them are asked for. Pure functions; the members are described
// in docs/monitoring.md.

#include "io/json_text.h"
#include "io/time.h"
#include "mgw/gateway_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgw {

/// Calls of one answer at most: some 300 KB of it.
inline constexpr std::size_t kCallsPerAnswerMax = 500;

/// What calls are sorted by.
enum class CallOrder : std::uint8_t {
  endpoint,
  call_id,
  age,
  packets,
  loss,
  jitter,
  round_trip,
  mos,
  drops,
};

/// Which calls are wanted, in which order.
struct CallQuery {
  CallOrder order = CallOrder::endpoint;
  bool descending = false;
  std::string
      filter;  ///< a part of name, call id, codec, mode or address, case ignored; empty: all
  std::size_t limit = 50;
  std::size_t offset = 0;
};

/// Text of a URL (RFC 3986 section 2.1); what is no encoding stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text);

/// Reads "sort=loss&order=desc&filter=text&limit=50&offset=0", in any order and each with a
/// default; what is not known is ignored. None if a value is not what it has to be.
[[nodiscard]] std::optional<CallQuery> parse_call_query(std::string_view query);

/// A leg as an object with all that is known of it. `age_name` is what the time from its beginning
/// to `now` is called.
void write_leg_json(io::JsonWriter& json, const LegSnapshot& leg, io::TimePoint now,
                    std::string_view age_name);
/// The whole gateway, without its calls.
[[nodiscard]] std::string overview_json(const GatewaySnapshot& snapshot, io::TimePoint now);
/// The calls that are wanted; those that are alike in `order` by endpoint.
[[nodiscard]] std::string calls_json(const GatewaySnapshot& snapshot, const CallQuery& query);
/// One call with all that is known of it; none if the endpoint has none. The domain may be left
/// out.
[[nodiscard]] std::optional<std::string> call_json(const GatewaySnapshot& snapshot,
                                                   std::string_view endpoint);

}  // namespace mgw
