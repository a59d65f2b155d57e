#pragma once
// The status of a gateway: does it answer, and what do its metrics say.

#include "io/time.h"

#include <optional>
#include <string>
#include <string_view>

namespace mgwctl {

/// What was found out; texts are errors where the value is missing.
struct Status {
  std::string gateway;                     ///< MGCP address
  std::optional<std::string> mgcp_answer;  ///< first line of the answer to AUEP null
  io::Duration round_trip{};
  std::string mgcp_error;
  std::optional<std::string> metrics_text;  ///< Prometheus text
  std::string metrics_error;
};

/// Aligned lines.
[[nodiscard]] std::string status_text(const Status& status);
/// One JSON object and a line end.
[[nodiscard]] std::string status_json(const Status& status);

}  // namespace mgwctl
