#pragma once
// Metrics in the Prometheus text format: read generically, and summed up for people. Pure
// functions.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mgwctl {

/// Limits: a gateway offers some hundred samples.
inline constexpr std::size_t kSamplesMax = 10'000;
inline constexpr std::size_t kLabelsMax = 32;

/// One line: name{label="value",…} value.
struct MetricSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

/// All samples of a text; lines that are none are skipped, as are samples beyond kSamplesMax.
[[nodiscard]] std::vector<MetricSample> parse_metrics(std::string_view text);

/// One line of the summary.
struct SummaryLine {
  std::string title;
  std::string value;
};

/// What an operator asks first: endpoints, connections, ports, packets in and out, drops by cause,
/// commands by answer, backend. Only what the metrics have. Samples of several workers are added
/// up.
[[nodiscard]] std::vector<SummaryLine> summarise(const std::vector<MetricSample>& samples);

/// The sums of all samples of each mgw_ family by its labels without "worker", histograms' buckets
/// left out: for JSON.
[[nodiscard]] std::map<std::string, double> totals(const std::vector<MetricSample>& samples);

}  // namespace mgwctl
