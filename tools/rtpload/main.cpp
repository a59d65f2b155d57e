// rtpload: sets up calls at an MGCP gateway, plays both sides of each, checks every packet that
// comes out.

#include "tools/rtpload/load_run.h"
#include "tools/rtpload/options.h"
#include "tools/rtpload/play_run.h"
#include "tools/rtpload/stop_signal.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <variant>

namespace {

// Two sockets per leg at most: more than the usual soft limit.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

bool pin_to(int cpu) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

// False if the file can't be written.
bool write_json(const std::string& file, const std::string& json) {
  if (file == "-") {
    std::cout << json << std::flush;
    return std::cout.good();
  }
  std::ofstream out(file, std::ios::trunc);
  out << json;
  out.close();
  return out.good();
}

int load(const rtpload::Options& options) {
  const auto report = rtpload::run_load(options);
  if (!report) {
    std::cerr << "rtpload: " << report.error() << '\n';
    return rtpload::kExitUsage;
  }
  if (options.json_file != "-") {
    std::cout << rtpload::to_text(*report, options.max_loss) << std::flush;
  }
  if (!options.json_file.empty() &&
      !write_json(options.json_file, to_json(*report, options.max_loss))) {
    std::cerr << "rtpload: can't write " << options.json_file << '\n';
    return rtpload::kExitUsage;
  }
  return rtpload::faults(*report, options.max_loss).empty() ? rtpload::kExitGood
                                                            : rtpload::kExitFaults;
}

}  // namespace

int main(int count, char** arguments) {
  const auto parsed = rtpload::parse_command_line(count, arguments);
  if (const int* status = std::get_if<int>(&parsed)) {
    return *status;
  }
  const auto& options = std::get<rtpload::Options>(parsed);
  raise_descriptor_limit();
  if (options.cpu >= 0 && !pin_to(options.cpu)) {
    std::cerr << "rtpload: --cpu " << options.cpu << ": not possible\n";
    return rtpload::kExitUsage;
  }
  rtpload::catch_stop_signals();
  return options.mode == rtpload::RunMode::play ? rtpload::run_play(options) : load(options);
}
