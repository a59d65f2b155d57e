#include "tools/rtpload/load_run.h"

#include "io/socket_factory.h"
#include "tools/rtpload/gateway_session.h"
#include "tools/rtpload/media_run.h"
#include "tools/rtpload/media_sockets.h"
#include "tools/rtpload/process_sample.h"
#include "tools/rtpload/stop_signal.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace rtpload {
namespace {

double as_seconds(io::Duration duration) noexcept {
  return std::chrono::duration<double>(duration).count();
}

std::optional<Quantiles> quantiles(const Histogram& histogram) {
  if (histogram.count() == 0) {
    return std::nullopt;
  }
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; };
  return Quantiles{us(histogram.quantile(0.5)), us(histogram.quantile(0.99)),
                   us(histogram.quantile(0.999)), us(histogram.max())};
}

TransactionFigures transaction_figures(const Histogram& round_trips, io::Duration time) {
  const double rate =
      time.count() > 0 ? static_cast<double>(round_trips.count()) / as_seconds(time) : 0;
  return {round_trips.count(), rate, quantiles(round_trips)};
}

double own_cpu_seconds() noexcept {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// What the gateway's process did between two samples that are `seconds` apart.
GatewayFigures gateway_figures(const ProcessSample& begin, const ProcessSample& end,
                               double seconds) {
  GatewayFigures figures;
  const std::uint64_t cpu_ns =
      end.cpu_ns > begin.cpu_ns ? end.cpu_ns - begin.cpu_ns : 0;  // threads may end
  figures.cpu_percent = static_cast<double>(cpu_ns) / seconds / 1e7;
  figures.rss_kib = end.rss_kib;
  figures.threads = end.threads;
  figures.voluntary_switches = end.voluntary_switches > begin.voluntary_switches
                                   ? end.voluntary_switches - begin.voluntary_switches
                                   : 0;
  return figures;
}

// What the whole machine did between two samples that are `seconds` apart. What a core was not
// idle it was busy: time in interrupts is in no process's account.
MachineFigures machine_figures(const MachineSample& begin, const MachineSample& end, double seconds,
                               std::uint64_t forwarded) {
  MachineFigures figures;
  const double idle = static_cast<double>(end.idle_ns - begin.idle_ns) * 1e-9;
  const double stolen = static_cast<double>(end.stolen_ns - begin.stolen_ns) * 1e-9;
  const double busy = std::max(0.0, seconds * end.cores - idle - stolen);
  figures.busy_percent = 100 * busy / seconds;
  figures.stolen_percent = 100 * stolen / seconds;
  if (forwarded > 0) {
    figures.busy_us_per_packet = busy * 1e6 / static_cast<double>(forwarded);
  }
  return figures;
}

// Measures gateway and generator over the steady phase and shows progress.
class RunObserver final : public MediaObserver {
 public:
  RunObserver(const Options& options, const MediaChecker& checker)
      : options_(options), checker_(checker) {}

  void attach(const MediaRun& run) noexcept { run_ = &run; }
  void on_steady_begin() override { begin_ = take(); }
  void on_steady_end() override { end_ = take(); }
  void on_second() override {
    ++second_;
    if (options_.progress) {
      const MediaCounters& counters = checker_.counters();
      fmt::print(stderr,
                 "\rrtpload: {} of {:.0f} s, sent {}, received {}, reordered {}, duplicated {}, "
                 "corrupted {} ",
                 second_, options_.seconds, run_->totals().sent, counters.received,
                 counters.reordered, counters.duplicated, counters.corrupted);
      std::fflush(stderr);
    }
  }
  [[nodiscard]] bool stop_requested() const noexcept override { return stop_was_requested(); }

  /// Adds what was measured to the report.
  void fill(Report& report) const {
    if (options_.progress && second_ > 0) {
      fmt::print(stderr, "\n");
    }
    const double wall = as_seconds(end_.time - begin_.time);
    if (begin_.time == io::TimePoint() || wall <= 0) {
      return;
    }
    report.generator.emplace();
    const std::uint64_t forwarded = end_.received - begin_.received;
    if (forwarded > 0) {
      report.generator->cpu_us_per_packet =
          (end_.own_cpu - begin_.own_cpu) * 1e6 / static_cast<double>(forwarded);
    }
    report.generator->cpu_percent = 100 * (end_.own_cpu - begin_.own_cpu) / wall;
    if (begin_.machine && end_.machine) {
      report.machine = machine_figures(*begin_.machine, *end_.machine, wall, forwarded);
    }
    if (begin_.gateway && end_.gateway) {
      report.gateway = gateway_figures(*begin_.gateway, *end_.gateway, wall);
      if (forwarded > 0) {
        report.gateway->cpu_us_per_packet =
            report.gateway->cpu_percent * wall * 1e4 / static_cast<double>(forwarded);
      }
    }
  }

 private:
  struct Snapshot {
    io::TimePoint time{};
    double own_cpu = 0;
    std::uint64_t received = 0;
    std::optional<ProcessSample> gateway;
    std::optional<MachineSample> machine;
  };

  [[nodiscard]] Snapshot take() const {
    Snapshot snapshot{read_clocks().monotonic, own_cpu_seconds(), checker_.counters().received,
                      std::nullopt, sample_machine()};
    if (options_.pid != 0) {
      snapshot.gateway = sample_process(options_.pid);
    }
    return snapshot;
  }

  const Options& options_;
  const MediaChecker& checker_;
  const MediaRun* run_ = nullptr;
  Snapshot begin_;
  Snapshot end_;
  std::uint32_t second_ = 0;
};

void fill_media(Report& report, const MediaRun& run, const MediaChecker& checker) {
  const MediaTotals& totals = run.totals();
  const MediaCounters& counters = checker.counters();
  report.seconds = as_seconds(totals.sending_time);
  report.sent = totals.sent;
  report.received = counters.received;
  report.lost = totals.lost;
  report.reordered = counters.reordered;
  report.duplicated = counters.duplicated;
  report.corrupted = counters.corrupted;
  report.wrong_stream = counters.wrong_stream;
  report.unknown_source = counters.unknown_source;
  report.keep_alives = counters.keep_alives;
  report.silent_streams = totals.silent_streams;
  report.rtcp_sent = totals.rtcp_sent;
  report.rtcp_received = totals.rtcp_received;
  report.latency = quantiles(checker.latency_ns());
  if (report.generator) {
    report.generator->lateness = quantiles(run.lateness_ns());
    report.generator->pacing = quantiles(run.pacing_ns());
    report.generator->missed = totals.missed;
    report.generator->send_refused = totals.send_refused;
  }
}

void run_media(const Options& options, MediaSockets& sockets, OsmuxTrunk* trunk, LegLookup lookup,
               std::vector<MediaLeg> legs, std::uint32_t run_seed, Report& report) {
  MediaOptions media;
  media.codecs = {options.codec, options.answer_codec};
  media.run_seed = run_seed;
  media.interval = std::chrono::milliseconds(options.interval_ms);
  media.packets_per_stream = std::max(
      1U, static_cast<std::uint32_t>(std::lround(options.seconds * 1000 / options.interval_ms)));
  media.phases = options.phases;
  media.rtcp = options.rtcp;
  media.tick = std::chrono::microseconds(options.tick_us);
  media.drain = std::chrono::milliseconds(options.drain_ms);
  MediaChecker checker(media.codecs, run_seed, lookup, std::move(legs));
  RunObserver observer(options, checker);
  const auto run = std::make_unique<MediaRun>(media, sockets, trunk, checker, observer);
  observer.attach(*run);
  run->discard_pending();
  run->run();
  observer.fill(report);
  fill_media(report, *run, checker);
}

// Spreads the legs over the sockets in blocks, so that packets that are due together leave by one
// system call.
std::uint32_t socket_of(std::uint32_t leg, std::uint32_t legs, std::size_t sockets) noexcept {
  return static_cast<std::uint32_t>(std::uint64_t{leg} * sockets / legs);
}

tl::expected<Report, std::string> run_self(const Options& options) {
  const std::uint32_t legs = options.calls * 2;
  const auto host = media_host(options);
  if (!host) {
    return tl::unexpected(host.error());
  }
  const auto sockets = MediaSockets::open(*host, socket_pairs(options, legs));
  if (!sockets) {
    return tl::unexpected(sockets.error());
  }
  std::vector<MediaLeg> media_legs(legs);
  for (std::uint32_t leg = 0; leg < legs; ++leg) {
    media_legs[leg] = {socket_of(leg, legs, (*sockets)->size()),
                       (*sockets)->local(socket_of(leg ^ 1U, legs, (*sockets)->size()))};
  }
  Report report;
  report.mode = "self";
  report.calls_wanted = options.calls;
  report.calls = options.calls;
  report.connections = legs;
  run_media(options, **sockets, nullptr, LegLookup::by_payload, std::move(media_legs),
            random_seed(), report);
  return report;
}

// A run with a gateway, in steps.
class GatewayRun {
 public:
  GatewayRun(const Options& options, GatewaySession& session, MediaSockets& sockets,
             OsmuxTrunk* trunk, std::uint32_t run_seed)
      : options_(options),
        session_(session),
        sockets_(sockets),
        trunk_(trunk),
        run_seed_(run_seed) {}

  [[nodiscard]] tl::expected<Report, std::string> run() {
    const std::uint32_t legs = options_.calls * 2;
    add_calls(options_.calls, legs);
    add_calls(options_.hold, options_.hold * 2);
    report_.mode = options_.mode == RunMode::setup_only ? "setup-only" : "calls";
    if (!hold_calls()) {
      return tl::unexpected(std::string("no answer from ") + options_.mgcp->text());
    }
    options_.mode == RunMode::setup_only ? run_setup_only() : run_calls();
    if (session_.gateway_is_absent()) {
      return tl::unexpected(std::string("no answer from ") + options_.mgcp->text());
    }
    release_held();
    finish();
    return report_;
  }

 private:
  void add_calls(std::uint32_t calls, std::uint32_t legs) {
    for (std::uint32_t call = 0; call < calls; ++call) {
      static_cast<void>(session_.calls().add_call(
          sockets_.local(socket_of(2 * call, legs, sockets_.size())),
          trunk_ != nullptr ? trunk_->local()
                            : sockets_.local(socket_of(2 * call + 1, legs, sockets_.size()))));
    }
  }

  // False if nobody answers.
  [[nodiscard]] bool hold_calls() {
    if (options_.hold > 0) {
      session_.calls().set_up(options_.calls, options_.hold, io::MonotonicClock().now());
      session_.run_until_idle();
      report_.held_calls = session_.calls().counters().established;
      session_.calls().clear_round_trips();
    }
    return !session_.gateway_is_absent();
  }

  void run_setup_only() {
    const io::TimePoint now = io::MonotonicClock().now();
    const auto length = io::Duration(static_cast<std::int64_t>(options_.seconds * 1e9));
    session_.calls().churn(0, options_.calls, now, now + length);
    const auto before = options_.pid != 0 ? sample_process(options_.pid) : std::nullopt;
    const io::Duration took = session_.run_until_idle();
    const auto after = options_.pid != 0 ? sample_process(options_.pid) : std::nullopt;
    if (before && after) {
      report_.gateway = gateway_figures(*before, *after, as_seconds(took));
    }
    const CallCounters& counters = session_.calls().counters();
    report_.setup = transaction_figures(counters.create_ns, took);
    report_.teardown = transaction_figures(counters.delete_ns, took);
    report_.calls = counters.established - report_.held_calls;
    report_.seconds = as_seconds(took);
    report_.calls_per_second = static_cast<double>(report_.calls) / as_seconds(took);
    session_.calls().tear_down(0, options_.calls,
                               io::MonotonicClock().now());  // those that time ran out on
    session_.run_until_idle();
  }

  void run_calls() {
    CallControl& calls = session_.calls();
    calls.set_up(0, options_.calls, io::MonotonicClock().now());
    const io::Duration setup_time = session_.run_until_idle();
    report_.setup = transaction_figures(calls.counters().create_ns, setup_time);
    report_.calls_wanted = options_.calls;
    std::vector<MediaLeg> legs = media_legs();
    report_.calls = legs.size() / 2;
    report_.calls_per_second = static_cast<double>(report_.calls) / as_seconds(setup_time);
    if (!legs.empty() && !stop_was_requested()) {
      run_media(options_, sockets_, trunk_, LegLookup::by_source, std::move(legs), run_seed_,
                report_);
    }
    calls.tear_down(0, options_.calls, io::MonotonicClock().now());
    const io::Duration teardown_time = session_.run_until_idle();
    report_.teardown = transaction_figures(calls.counters().delete_ns, teardown_time);
    collect_gateway_counts();
  }

  // Of the calls that were set up.
  [[nodiscard]] std::vector<MediaLeg> media_legs() {
    std::vector<MediaLeg> legs;
    const std::uint32_t all_legs = options_.calls * 2;
    for (std::uint32_t index = 0; index < options_.calls; ++index) {
      const Call& call = session_.calls().calls()[index];
      if (call.state == Call::State::established) {
        if (trunk_ != nullptr) {
          const CallLeg& leg = call.legs[1];
          static_cast<void>(trunk_->add_leg(static_cast<std::uint32_t>(legs.size()) + 1,
                                            *leg.own_circuit, *leg.far_circuit, leg.gateway,
                                            io::MonotonicClock().now()));
        }
        for (std::uint32_t side = 0; side < 2; ++side) {
          legs.push_back(
              {socket_of(2 * index + side, all_legs, sockets_.size()), call.legs[side].gateway});
        }
      }
    }
    return legs;
  }

  void collect_gateway_counts() {
    GatewayCounts sums;
    for (std::uint32_t index = 0; index < options_.calls; ++index) {
      for (const CallLeg& leg : session_.calls().calls()[index].legs) {
        if (leg.statistics) {
          ++sums.connections;
          sums.packets_received += leg.statistics->packets_received;
          sums.packets_sent += leg.statistics->packets_sent;
          sums.packets_lost += leg.statistics->packets_lost;
        }
      }
    }
    if (sums.connections > 0) {
      report_.gateway_counts = sums;
    }
  }

  void release_held() {
    if (options_.hold > 0) {
      session_.calls().tear_down(options_.calls, options_.hold, io::MonotonicClock().now());
      session_.run_until_idle();
    }
  }

  void finish() {
    const CallCounters& counters = session_.calls().counters();
    report_.connections = report_.calls * 2;
    report_.failed_calls = counters.failed;
    report_.delete_failed = counters.delete_failed;
    report_.errors = counters.errors;
    report_.retransmissions = session_.transactions().retransmissions();
  }

  const Options& options_;
  GatewaySession& session_;
  MediaSockets& sockets_;
  OsmuxTrunk* trunk_;
  std::uint32_t run_seed_;
  Report report_;
};

tl::expected<Report, std::string> run_with_gateway(const Options& options) {
  const std::uint32_t run_seed = random_seed();
  const auto host = media_host(options);
  if (!host) {
    return tl::unexpected(host.error());
  }
  const std::uint32_t legs = options.calls * 2;
  const std::uint32_t pairs = options.mode == RunMode::setup_only ? std::min(legs, kSharedSockets)
                                                                  : socket_pairs(options, legs);
  const auto sockets = MediaSockets::open(*host, pairs);
  if (!sockets) {
    return tl::unexpected(sockets.error());
  }
  const auto session = GatewaySession::open(options, run_seed);
  if (!session) {
    return tl::unexpected(session.error());
  }
  std::unique_ptr<OsmuxTrunk> trunk;
  if (options.answer_codec.form == PayloadForm::osmux) {
    auto opened = OsmuxTrunk::open(*host);
    if (!opened) {
      return tl::unexpected(opened.error());
    }
    trunk = std::move(*opened);
  }
  return GatewayRun(options, **session, **sockets, trunk.get(), run_seed).run();
}

}  // namespace

tl::expected<io::SocketAddress, std::string> media_host(const Options& options) {
  if (options.local) {
    return *options.local;
  }
  if (!options.mgcp) {
    return *io::SocketAddress::parse("127.0.0.1", 0);
  }
  const auto source = io::KernelSocketFactory().route_source(*options.mgcp);
  if (!source) {
    return tl::unexpected(options.mgcp->text() + ": " + source.error().message());
  }
  return *source;
}

std::uint32_t random_seed() {
  return std::random_device()();
}

tl::expected<Report, std::string> run_load(const Options& options) {
  tl::expected<Report, std::string> report =
      options.mode == RunMode::self ? run_self(options) : run_with_gateway(options);
  if (report) {
    report->codec = std::string(options.codec.name);
    report->interrupted = stop_was_requested();
  }
  return report;
}

}  // namespace rtpload
