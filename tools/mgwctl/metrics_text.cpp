#include "tools/mgwctl/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace mgwctl {
namespace {

constexpr std::string_view kBlanks = " \t\r";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// A label's value after its opening quote, with \" \\ \n undone; false if it has no end.
bool read_quoted(std::string_view& text, std::string& value) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      value += text[i] == 'n' ? '\n' : text[i];
    } else {
      value += text[i];
    }
  }
  return false;
}

// name="value",…} after the opening brace.
bool read_labels(std::string_view& text, std::map<std::string, std::string>& labels) {
  for (std::size_t count = 0; count <= kLabelsMax; ++count) {
    skip_blanks(text);
    if (!text.empty() && text.front() == '}') {
      text.remove_prefix(1);
      return true;
    }
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos) {
      return false;
    }
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 2);
    std::string value;
    if (!read_quoted(text, value)) {
      return false;
    }
    labels.emplace(std::move(name), std::move(value));
    skip_blanks(text);
    if (!text.empty() && text.front() == ',') {
      text.remove_prefix(1);
    }
  }
  return false;
}

std::optional<double> read_value(std::string_view text) {
  skip_blanks(text);
  text = text.substr(0, text.find_first_of(kBlanks));  // a timestamp may follow
  if (text == "+Inf" || text == "-Inf") {
    return text.front() == '-' ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
  }
  if (text == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? std::optional(value)
                                                                             : std::nullopt;
}

std::optional<MetricSample> read_sample(std::string_view line) {
  skip_blanks(line);
  if (line.empty() || line.front() == '#') {
    return std::nullopt;
  }
  const std::size_t name_end = line.find_first_of("{ \t");
  if (name_end == std::string_view::npos || name_end == 0) {
    return std::nullopt;
  }
  MetricSample sample;
  sample.name = line.substr(0, name_end);
  line.remove_prefix(name_end);
  if (line.front() == '{') {
    line.remove_prefix(1);
    if (!read_labels(line, sample.labels)) {
      return std::nullopt;
    }
  }
  const auto value = read_value(line);
  if (!value) {
    return std::nullopt;
  }
  sample.value = *value;
  return sample;
}

// The labels but "worker" as text.
std::string label_text(const MetricSample& sample) {
  std::string text;
  for (const auto& [name, value] : sample.labels) {
    if (name != "worker") {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    }
  }
  return text;
}

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

// One name, summed over workers, by labels.
class Family {
 public:
  void add(const MetricSample& sample) { by_labels_[label_text(sample)] += sample.value; }
  [[nodiscard]] bool empty() const { return by_labels_.empty(); }
  [[nodiscard]] double sum() const {
    double sum = 0;
    for (const auto& [labels, value] : by_labels_) {
      sum += value;
    }
    return sum;
  }
  [[nodiscard]] const std::map<std::string, double>& by_labels() const { return by_labels_; }

 private:
  std::map<std::string, double> by_labels_;
};

using Families = std::map<std::string, Family>;

// "12 of 512" from two families; nothing without the first.
void add_used(std::vector<SummaryLine>& lines, Families& families, std::string_view title,
              const std::string& used, const std::string& total) {
  if (families[used].empty()) {
    return;
  }
  std::string value = number_text(families[used].sum());
  if (!families[total].empty()) {
    value += " of " + number_text(families[total].sum());
  }
  lines.push_back({std::string(title), std::move(value)});
}

// The values of a label text without the names, for people: "200 CRCX".
std::string label_values(std::string_view labels) {
  std::string values;
  while (!labels.empty()) {
    const std::string_view label = labels.substr(0, labels.find(','));
    labels.remove_prefix(std::min(labels.size(), label.size() + 1));
    const std::string_view value = label.substr(std::min(label.size(), label.find('=') + 1));
    if (!value.empty()) {
      values += fmt::format("{}{}", values.empty() ? "" : " ", value);
    }
  }
  return values;
}

// The sum and, if there are labels, the parts that are not 0.
void add_parts(std::vector<SummaryLine>& lines, const Family& family, std::string_view title) {
  if (family.empty()) {
    return;
  }
  std::string value = number_text(family.sum());
  std::string parts;
  for (const auto& [labels, part] : family.by_labels()) {
    if (!labels.empty() && part != 0) {
      parts += fmt::format("{}{}: {}", parts.empty() ? "" : ", ", label_values(labels),
                           number_text(part));
    }
  }
  lines.push_back(
      {std::string(title), parts.empty() ? value : fmt::format("{} ({})", value, parts)});
}

// The labels of families that are always 1 and say something by their labels, like mgw_build_info.
void add_labels(std::vector<SummaryLine>& lines, const Family& family, std::string_view title) {
  for (const auto& [labels, value] : family.by_labels()) {
    if (value != 0) {
      lines.push_back({std::string(title), label_values(labels)});
    }
  }
}

// What a family of that sort says.
std::string_view info_title(std::string_view name) {
  if (name.find("kernel_path") != std::string_view::npos) {
    return "kernel fast path";
  }
  return name.find("backend") != std::string_view::npos ? "backend" : "version";
}

}  // namespace

std::vector<MetricSample> parse_metrics(std::string_view text) {
  std::vector<MetricSample> samples;
  while (!text.empty() && samples.size() < kSamplesMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (auto sample = read_sample(line)) {
      samples.push_back(std::move(*sample));
    }
  }
  return samples;
}

std::vector<SummaryLine> summarise(const std::vector<MetricSample>& samples) {
  Families families;
  for (const MetricSample& sample : samples) {
    families[sample.name].add(sample);
  }
  std::vector<SummaryLine> lines;
  for (const auto& [name, family] : families) {
    if (name.rfind("mgw_", 0) == 0 &&
        (name.find("_info") != std::string::npos || name.find("backend") != std::string::npos)) {
      add_labels(lines, family, info_title(name));
    }
  }
  add_used(lines, families, "endpoints", "mgw_endpoints_used", "mgw_endpoints");
  add_used(lines, families, "connections", "mgw_connections", "mgw_connections_max");
  add_used(lines, families, "port pairs", "mgw_rtp_port_pairs_used", "mgw_rtp_port_pairs");
  add_used(lines, families, "buffers free", "mgw_buffers_free", "mgw_buffers");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kParts{
      {{"mgw_rtp_packets_received_total", "RTP in"},
       {"mgw_rtp_packets_sent_total", "RTP out"},
       {"mgw_rtcp_packets_received_total", "RTCP in"},
       {"mgw_rtcp_packets_sent_total", "RTCP out"},
       {"mgw_datagrams_received_total", "datagrams in"},
       {"mgw_datagrams_sent_total", "datagrams out"},
       {"mgw_datagrams_dropped_total", "dropped"},
       {"mgw_leg_failures_total", "legs failed"},
       {"mgw_mgcp_transactions_total", "MGCP"},
       {"mgw_mgcp_repeated_total", "MGCP repeats"},
       {"mgw_rtp_port_pairs_exhausted_total", "out of ports"}}};
  for (const auto& [name, title] : kParts) {
    add_parts(lines, families[std::string(name)], title);
  }
  return lines;
}

std::map<std::string, double> totals(const std::vector<MetricSample>& samples) {
  std::map<std::string, double> sums;
  for (const MetricSample& sample : samples) {
    const bool is_bucket = sample.labels.count("le") != 0;
    if (sample.name.rfind("mgw_", 0) == 0 && !is_bucket && !std::isnan(sample.value)) {
      const std::string labels = label_text(sample);
      sums[labels.empty() ? sample.name : fmt::format("{}{{{}}}", sample.name, labels)] +=
          sample.value;
    }
  }
  return sums;
}

}  // namespace mgwctl
