#include "tools/rtpload/process_sample.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace rtpload {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::optional<std::uint64_t> leading_number(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// CPU time of one thread: exact where the kernel offers it, in ticks of 10 ms elsewhere.
std::uint64_t thread_cpu_ns(const std::filesystem::path& thread) {
  if (const auto exact = parse_schedstat(read_file(thread / "schedstat"))) {
    return *exact;
  }
  const auto ticks = parse_stat_ticks(read_file(thread / "stat")).value_or(0);
  return ticks * (1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::optional<std::uint64_t> parse_schedstat(std::string_view text) noexcept {
  return leading_number(text);
}

std::optional<std::uint64_t> parse_stat_ticks(std::string_view text) noexcept {
  // The second field, the name in parentheses, may itself hold blanks and parentheses.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(name_end + 1);
  constexpr int kFieldsBeforeUserTime = 11;
  for (int field = 0; field < kFieldsBeforeUserTime; ++field) {
    const std::size_t begin = text.find_first_not_of(' ');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find(' ', begin);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    text.remove_prefix(end);
  }
  const auto user = leading_number(text);
  const std::size_t second = text.find(' ', text.find_first_not_of(' '));
  if (!user || second == std::string_view::npos) {
    return std::nullopt;
  }
  const auto system = leading_number(text.substr(second));
  return system ? std::optional(*user + *system) : std::nullopt;
}

std::optional<std::uint64_t> parse_status_field(std::string_view text,
                                                std::string_view name) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > name.size() && line.substr(0, name.size()) == name &&
        line[name.size()] == ':') {
      return leading_number(line.substr(name.size() + 1));
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::optional<MachineSample> parse_machine_stat(std::string_view text) {
  const std::uint64_t tick_ns = 1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  MachineSample sample;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    fields >> name;
    for (std::uint64_t& value : ticks) {
      fields >> value;
    }
    if (name.size() > 3 && name.compare(0, 3, "cpu") == 0 && fields) {
      ++sample.cores;
      sample.idle_ns += (ticks[3] + ticks[4]) * tick_ns;
      sample.stolen_ns += ticks[7] * tick_ns;
    }
  }
  return sample.cores > 0 ? std::optional(sample) : std::nullopt;
}

std::optional<MachineSample> sample_machine() {
  return parse_machine_stat(read_file("/proc/stat"));
}

std::optional<ProcessSample> sample_process(pid_t pid) {
  const std::filesystem::path root = fmt::format("/proc/{}", pid);
  const auto rss = parse_status_field(read_file(root / "status"), "VmRSS");
  std::error_code error;
  std::filesystem::directory_iterator threads(root / "task", error);
  if (!rss || error) {
    return std::nullopt;
  }
  ProcessSample sample;
  sample.rss_kib = *rss;
  for (; threads != std::filesystem::directory_iterator(); threads.increment(error)) {
    if (error) {
      break;
    }
    const std::filesystem::path& thread = threads->path();
    sample.cpu_ns += thread_cpu_ns(thread);
    sample.voluntary_switches +=
        parse_status_field(read_file(thread / "status"), "voluntary_ctxt_switches").value_or(0);
    ++sample.threads;
  }
  return sample;
}

}  // namespace rtpload
