// What /proc says about a process: its files' texts, and this very process.
#include "tools/rtpload/process_sample.h"

#include <doctest/doctest.h>
#include <unistd.h>

TEST_CASE("the CPU time of a schedstat file is its first number") {
  using rtpload::parse_schedstat;
  CHECK(parse_schedstat("8731942053 120934 5567\n") == 8731942053U);
  CHECK_FALSE(parse_schedstat("").has_value());
  CHECK_FALSE(parse_schedstat("x").has_value());
}

TEST_CASE("user and system ticks are found behind any name of a thread") {
  using rtpload::parse_stat_ticks;
  CHECK(parse_stat_ticks("17 (osmo-mgw) S 1 17 17 0 -1 4194304 600 0 0 0 250 150 0 0 20 0 1 0 5") ==
        400U);
  CHECK(parse_stat_ticks("17 (a b) (c) 9) S 1 17 17 0 -1 4194304 600 0 0 0 1 2 0 0 20 0 1 0 5") ==
        3U);
  CHECK_FALSE(parse_stat_ticks("17 (osmo-mgw) S 1 17").has_value());
  CHECK_FALSE(parse_stat_ticks("17 (osmo-mgw) S 1 17 17 0 -1 4194304 600 0 0 0 250").has_value());
  CHECK_FALSE(parse_stat_ticks("").has_value());
}

TEST_CASE("a field of a status file is found by its whole name") {
  using rtpload::parse_status_field;
  constexpr auto kText =
      "Name:\tx\nVmRSS:\t   11912 "
      "kB\nnonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t42\n";
  CHECK(parse_status_field(kText, "VmRSS") == 11912U);
  CHECK(parse_status_field(kText, "voluntary_ctxt_switches") == 42U);
  CHECK_FALSE(parse_status_field(kText, "Vm").has_value());
  CHECK_FALSE(parse_status_field(kText, "Name").has_value());
  CHECK_FALSE(parse_status_field("", "VmRSS").has_value());
}

TEST_CASE("a machine's idle and stolen time are sums over its cores, without the line of all") {
  using rtpload::parse_machine_stat;
  const auto sample = parse_machine_stat(
      "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 400 50 6 7 8 0 0\ncpu1 1 2 3 100 0 6 7 1 0 0\n"
      "intr 77 1 2\nctxt 5\n");
  REQUIRE(sample.has_value());
  CHECK(sample->cores == 2);
  CHECK(sample->idle_ns == 5'500'000'000U);
  CHECK(sample->stolen_ns == 90'000'000U);
  CHECK_FALSE(parse_machine_stat("").has_value());
  CHECK_FALSE(parse_machine_stat("cpu0 1 2\n").has_value());
  CHECK(rtpload::sample_machine()->cores >= 1);
}

TEST_CASE("a running process has threads and memory, one that is not there has no sample") {
  const auto sample = rtpload::sample_process(::getpid());
  REQUIRE(sample.has_value());
  CHECK(sample->threads >= 1);
  CHECK(sample->rss_kib > 0);
  CHECK(sample->cpu_ns > 0);
  CHECK_FALSE(rtpload::sample_process(0x7ffffff0).has_value());
}
