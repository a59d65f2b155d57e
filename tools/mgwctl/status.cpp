#include "tools/mgwctl/status.h"

#include "tools/mgwctl/metrics_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace mgwctl {
namespace {

double microseconds(io::Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

std::string status_text(const Status& status) {
  std::string out;
  auto to = std::back_inserter(out);
  if (status.mgcp_answer) {
    fmt::format_to(to, "{:<14} {} answers in {:.0f} us: {}\n", "gateway", status.gateway,
                   microseconds(status.round_trip), *status.mgcp_answer);
  } else {
    fmt::format_to(to, "{:<14} {}\n", "gateway", status.mgcp_error);
  }
  if (!status.metrics_text) {
    fmt::format_to(to, "{:<14} not available: {}\n", "metrics", status.metrics_error);
    return out;
  }
  for (const SummaryLine& line : summarise(parse_metrics(*status.metrics_text))) {
    fmt::format_to(to, "{:<14} {}\n", line.title, line.value);
  }
  return out;
}

std::string status_json(const Status& status) {
  nlohmann::ordered_json json{{"gateway", status.gateway},
                              {"answers", status.mgcp_answer.has_value()}};
  if (status.mgcp_answer) {
    json["answer"] = *status.mgcp_answer;
    json["round_trip_us"] = microseconds(status.round_trip);
  } else {
    json["error"] = status.mgcp_error;
  }
  json["metrics"] = nullptr;
  if (status.metrics_text) {
    json["metrics"] = totals(parse_metrics(*status.metrics_text));
  } else {
    json["metrics_error"] = status.metrics_error;
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mgwctl
