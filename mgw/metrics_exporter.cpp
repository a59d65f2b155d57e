#include "mgw/metrics_exporter.h"

#include "io/kernel_path.h"
#include "io/log.h"
#include "mgw/counter_groups.h"
#include "mgw/state_recorder.h"
#include "mgw/trunks.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <bit>
#include <functional>
#include <utility>

namespace mgw {

namespace {

constexpr double kNanosecondsPerSecond = 1e9;

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  void begin(MetricType type, std::string name, std::string help) {
    MetricFamily& family = families_.emplace_back();
    family.type = type;
    family.name = std::move(name);
    family.help = std::move(help);
  }
  template <typename Number>
  void add(Number value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (families_.back().type == MetricType::Gauge) {
      metric.gauge.value = static_cast<double>(value);
    } else {
      metric.counter.value = static_cast<double>(value);
    }
    families_.back().metric.push_back(std::move(metric));
  }
  void add(ClientMetric metric) { families_.back().metric.push_back(std::move(metric)); }
  void counter(std::string name, std::string help, std::uint64_t value) {
    begin(MetricType::Counter, std::move(name), std::move(help));
    add(value);
  }
  void gauge(std::string name, std::string help, std::uint64_t value) {
    begin(MetricType::Gauge, std::move(name), std::move(help));
    add(value);
  }
  [[nodiscard]] std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

void collect_e1_lines(const ControlCounters& control, Families& out) {
  const auto each = [&](MetricType type, const char* name, const char* help, auto value) {
    out.begin(type, name, help);
    for (std::size_t i = 0; i < control.e1_trunks.size(); ++i) {
      const E1LineStatus* line = control.e1_lines[i].get();
      out.add(line == nullptr ? std::uint64_t{0} : value(*line),
              {{"trunk", std::to_string(control.e1_trunks[i])}});
    }
  };
  each(MetricType::Gauge, "mgw_e1_line_up", "Whether the trunk's line can carry calls.",
       [](const E1LineStatus& line) {
         return std::uint64_t{line.line_state() == E1LineState::up ? 1U : 0U};
       });
  each(MetricType::Counter, "mgw_e1_line_losses_total", "Times that the trunk's line went away.",
       [](const E1LineStatus& line) { return line.losses.value(); });
  each(MetricType::Gauge, "mgw_e1_timeslots_open", "Time slots of the line in use.",
       [](const E1LineStatus& line) { return line.open_timeslots.value(); });
  each(MetricType::Gauge, "mgw_e1_timeslots_refused",
       "Time slots in use that the line's driver does not give away.",
       [](const E1LineStatus& line) {
         return static_cast<std::uint64_t>(std::popcount(line.refused.value()));
       });
  each(MetricType::Counter, "mgw_e1_blocks_discarded_total",
       "Pieces of 20 ms of a time slot that the line's driver could not take in time.",
       [](const E1LineStatus& line) { return line.discarded_blocks.value(); });
}

void collect_limits(const LimitCounters& limits, Families& out) {
  out.begin(MetricType::Counter, "mgw_limit_reached_total",
            "Commands that were refused, or ignored, because a limit was reached.");
  for (std::size_t cause = 0; cause < kLimitCauses; ++cause) {
    out.add(limits.refused[cause].value(),
            {{"cause", std::string(to_string(static_cast<LimitCause>(cause)))}});
  }
  out.gauge("mgw_bandwidth_bytes_per_second",
            "What the connections need in each direction by their codecs, headers included.",
            limits.bandwidth_bps.value() / 8);
  out.counter("mgw_media_loops_total",
              "Connections that were sent nothing, as it would have come back to them.",
              limits.media_loops.value());
}

void collect_journal(const JournalCounters& journal, Families& out) {
  out.counter("mgw_journal_records_total", "Records written to the journal.",
              journal.records.value());
  out.counter("mgw_journal_octets_total", "Octets of those records.", journal.octets.value());
  out.counter("mgw_journal_rewrites_total", "Times that a new journal took the place of the old.",
              journal.rewrites.value());
  out.counter("mgw_journal_failures_total",
              "Writes to the journal that failed: newest calls would not outlive the gateway.",
              journal.failures.value());
  out.gauge("mgw_journal_octets", "Size of the journal.", journal.file_octets.value());
}

void collect_control(const ControlCounters& control, Families& out) {
  out.gauge("mgw_endpoints", "Endpoints of the virtual trunk.", control.endpoints_total.value());
  out.gauge("mgw_endpoints_used", "Endpoints with a call.", control.endpoints_used.value());
  out.begin(MetricType::Gauge, "mgw_e1_endpoints", "Endpoints of the E1 trunks.");
  for (const std::uint8_t trunk : control.e1_trunks) {
    out.add(kE1EndpointsPerTrunk, {{"trunk", std::to_string(trunk)}});
  }
  out.begin(MetricType::Gauge, "mgw_e1_endpoints_used", "E1 endpoints with a call.");
  for (const std::uint8_t trunk : control.e1_trunks) {
    out.add(control.e1_endpoints_used[trunk].value(), {{"trunk", std::to_string(trunk)}});
  }
  collect_e1_lines(control, out);
  out.gauge("mgw_connections", "Connections (legs) that exist.", control.connections.value());
  out.gauge("mgw_rtp_port_pairs",
            "RTP/RTCP port pairs in the configured range, over all local addresses.",
            control.ports_total.value());
  out.gauge("mgw_rtp_port_pairs_used", "RTP/RTCP port pairs in use.", control.ports_used.value());
  out.counter("mgw_rtp_port_pairs_exhausted_total",
              "Connections refused because no RTP port pair was free.",
              control.ports_exhausted.value());
  out.counter("mgw_restored_connections_total",
              "Connections that came from the journal or from another gateway.",
              control.restored.value());
  out.counter("mgw_unrestored_connections_total", "Connections from there that could not go on.",
              control.not_restored.value());
  out.counter("mgw_mgcp_datagrams_received_total", "Datagrams received on the MGCP socket.",
              control.datagrams.value());
  out.counter("mgw_mgcp_garbage_total", "MGCP messages that were neither command nor response.",
              control.garbage.value());
  out.counter("mgw_mgcp_responses_received_total",
              "Responses received from agents; they are never answered.",
              control.responses.value());
  out.counter("mgw_mgcp_refused_agents_total",
              "Datagrams from addresses that mgcp.allow does not name.",
              control.refused_agents.value());
  out.counter("mgw_mgcp_repeated_total",
              "Repeated commands, answered from memory or still running.",
              control.repeated.value());
  out.counter("mgw_mgcp_refused_busy_total", "Commands refused because too many were under way.",
              control.transactions_refused.value());
  out.gauge("mgw_mgcp_transactions_remembered", "Transactions whose answers are kept for repeats.",
            control.transactions_remembered.value());
  out.gauge("mgw_draining", "1 while new calls are refused and those that are up go on.",
            control.draining.value());
  out.gauge("mgw_taps", "Addresses and files that packets of connections are copied to.",
            control.taps.value());
  out.counter("mgw_log_lines_lost_total",
              "Log lines that a target could not take in time, counted for each target.",
              io::lost_log_lines());
}

std::string code_text(std::size_t index) {
  return index < TransactionCounters::kCodes.size()
             ? std::to_string(TransactionCounters::kCodes[index])
             : "other";
}

void collect_transactions(const TransactionCounters& transactions, Families& out) {
  out.begin(MetricType::Counter, "mgw_mgcp_transactions_total",
            "MGCP commands by verb and answer code.");
  for (std::size_t verb = 0; verb < TransactionCounters::kVerbs; ++verb) {
    const std::string_view text = mgcp::to_text(static_cast<mgcp::Verb>(verb));
    for (std::size_t code = 0; code <= TransactionCounters::kCodes.size(); ++code) {
      if (const auto value = transactions.answers[verb][code].value(); value != 0) {
        out.add(value, {{"verb", text.empty() ? "unknown" : std::string(text)},
                        {"code", code_text(code)}});
      }
    }
  }
  out.begin(MetricType::Histogram, "mgw_mgcp_transaction_seconds",
            "Time from a command's arrival to its answer, the worker's part included.");
  ClientMetric metric;
  std::uint64_t count = 0;
  for (std::size_t bucket = 0; bucket < transactions.latency_buckets.size(); ++bucket) {
    count += transactions.latency_buckets[bucket].value();
    const bool last = bucket == TransactionCounters::kBucketsUs.size();
    metric.histogram.bucket.push_back(
        {count, last ? std::numeric_limits<double>::infinity()
                     : TransactionCounters::kBucketsUs[bucket] * 1e-6});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = static_cast<double>(transactions.latency_sum_us.value()) * 1e-6;
  out.add(std::move(metric));
}

void collect_outcomes(const ControlCounters& control, Families& out) {
  out.begin(MetricType::Counter, "mgw_trunk_commands_total",
            "CRCX, MDCX and DLCX for endpoints that exist, by what became of them.");
  for (std::size_t trunk = 0; trunk < control.trunks.size(); ++trunk) {
    for (const mgcp::Verb verb : TrunkCounters::kVerbs) {
      for (std::size_t cause = 0; cause < kCommandOutcomes; ++cause) {
        const auto outcome = static_cast<CommandOutcome>(cause);
        if (const auto value = control.trunks[trunk].value(verb, outcome); value != 0) {
          out.add(value, {{"trunk", trunk_label(control, trunk)},
                          {"verb", std::string(mgcp::to_text(verb))},
                          {"cause", std::string(to_string(outcome))}});
        }
      }
    }
  }
  out.begin(MetricType::Counter, "mgw_trunk_connections_deleted_total",
            "Connections deleted by DLCX.");
  for (std::size_t trunk = 0; trunk < control.trunks.size(); ++trunk) {
    out.add(control.trunks[trunk].connections_deleted.value(),
            {{"trunk", trunk_label(control, trunk)}});
  }
}

/// One family with a value per worker.
void per_worker(const std::vector<WorkerView>& workers, Families& out, MetricType type,
                std::string name, std::string help,
                const std::function<double(const WorkerView&)>& read) {
  out.begin(type, std::move(name), std::move(help));
  for (std::size_t i = 0; i < workers.size(); ++i) {
    out.add(read(workers[i]), {{"worker", std::to_string(i)}});
  }
}

void collect_media(const std::vector<WorkerView>& workers, Families& out) {
  const auto counter = [&](const char* name, const char* help, io::Counter MediaCounters::*member) {
    per_worker(workers, out, MetricType::Counter, name, help, [member](const WorkerView& view) {
      return static_cast<double>((view.media->*member).value());
    });
  };
  counter("mgw_datagrams_received_total",
          "Datagrams received by the workers. received + copied + generated = sent + consumed + "
          "dropped.",
          &MediaCounters::received);
  counter("mgw_datagrams_copied_total",
          "Additional copies for connections with several targets, and for taps.",
          &MediaCounters::copied);
  counter(
      "mgw_datagrams_generated_total",
      "Datagrams made by the gateway itself: keep-alives, RTCP reports, batches of Osmux, packets "
      "out of frames from Osmux or E1, and what legs send on their own account.",
      &MediaCounters::generated);
  counter("mgw_datagrams_sent_total", "Datagrams handed to the kernel for sending.",
          &MediaCounters::sent);
  counter("mgw_datagrams_consumed_total",
          "Datagrams that went no further: keep-alives received, reports that ended here, what was "
          "for a leg itself or put into a batch or a line's buffer, and copies for capture files.",
          &MediaCounters::consumed);
  counter("mgw_datagrams_tapped_total", "Copies that went to taps.", &MediaCounters::tapped);
  counter("mgw_rtp_packets_received_total", "RTP packets accepted.",
          &MediaCounters::rtp_packets_received);
  counter("mgw_rtp_octets_received_total", "Octets of the RTP packets accepted, headers included.",
          &MediaCounters::rtp_octets_received);
  counter("mgw_rtp_packets_sent_total", "RTP packets sent.", &MediaCounters::rtp_packets_sent);
  counter("mgw_rtp_octets_sent_total", "Octets of the RTP packets sent, headers included.",
          &MediaCounters::rtp_octets_sent);
  counter("mgw_rtcp_packets_received_total", "RTCP packets accepted.",
          &MediaCounters::rtcp_packets_received);
  counter("mgw_rtcp_packets_sent_total", "RTCP packets sent.", &MediaCounters::rtcp_packets_sent);
  counter("mgw_rtcp_reports_received_total",
          "RTCP sender and receiver reports of peers that ended here (rtcp.generate).",
          &MediaCounters::rtcp_reports_received);
  counter("mgw_rtcp_reports_sent_total",
          "RTCP compounds of the gateway's own with a sender or receiver report (rtcp.generate).",
          &MediaCounters::rtcp_reports_sent);
  counter("mgw_connection_timeouts_total",
          "Connections given up because no media and no command came.",
          &MediaCounters::connection_timeouts);
  counter("mgw_leg_failures_total",
          "Initialisations of a leg (Iu UP) that its peer never acknowledged.",
          &MediaCounters::leg_failures);
  out.begin(MetricType::Counter, "mgw_datagrams_dropped_total",
            "Datagrams not forwarded, by cause.");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (std::size_t cause = 0; cause < kDropCauseCount; ++cause) {
      out.add(workers[i].media->dropped[cause].value(),
              {{"worker", std::to_string(i)},
               {"cause", std::string(to_string(static_cast<DropCause>(cause)))}});
    }
  }
}

void collect_osmux(const std::vector<WorkerView>& workers, Families& out) {
  const auto both = [&](MetricType type, const char* name, const char* help, auto read) {
    out.begin(type, name, help);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const OsmuxCounters& osmux = workers[i].media->osmux;
      out.add(read(osmux.received), {{"worker", std::to_string(i)}, {"direction", "received"}});
      out.add(read(osmux.sent), {{"worker", std::to_string(i)}, {"direction", "sent"}});
    }
  };
  const auto counter = [&](const char* name, const char* help,
                           io::Counter OsmuxDirection::*member) {
    both(MetricType::Counter, name, help,
         [member](const OsmuxDirection& direction) { return (direction.*member).value(); });
  };
  counter("mgw_osmux_datagrams_total", "Datagrams of Osmux trunks.", &OsmuxDirection::datagrams);
  counter("mgw_osmux_octets_total", "Octets of those, IP and UDP headers included.",
          &OsmuxDirection::octets);
  counter("mgw_osmux_chunks_total", "Chunks with speech, of circuits that exist.",
          &OsmuxDirection::chunks);
  counter("mgw_osmux_frames_total", "Speech frames in those chunks.", &OsmuxDirection::frames);
  counter("mgw_osmux_dummies_total", "Dummy chunks.", &OsmuxDirection::dummies);
  counter("mgw_osmux_plain_rtp_octets_total",
          "What the frames had cost as RTP, one per packet, IP and UDP headers included.",
          &OsmuxDirection::plain_rtp_octets);
  both(MetricType::Gauge, "mgw_osmux_saved_octets",
       "Octets saved on the line against plain RTP; below 0 if dummies cost more than that.",
       [](const OsmuxDirection& direction) {
         return static_cast<double>(direction.plain_rtp_octets.value()) -
                static_cast<double>(direction.octets.value());
       });
  const auto single = [&](MetricType type, const char* name, const char* help,
                          io::Counter OsmuxCounters::*member) {
    per_worker(workers, out, type, name, help, [member](const WorkerView& view) {
      return static_cast<double>((view.media->osmux.*member).value());
    });
  };
  single(MetricType::Counter, "mgw_osmux_unknown_circuit_chunks_total",
         "Chunks received for no circuit that exists.", &OsmuxCounters::unknown_circuit);
  single(MetricType::Counter, "mgw_osmux_refused_chunks_total",
         "Chunks received before their circuit was enabled, or from elsewhere than its peer.",
         &OsmuxCounters::refused_chunks);
  single(MetricType::Counter, "mgw_osmux_clones_total", "Frames sent in place of lost ones.",
         &OsmuxCounters::clones);
  single(MetricType::Gauge, "mgw_osmux_circuits", "Circuits that exist.", &OsmuxCounters::circuits);
  single(MetricType::Gauge, "mgw_osmux_peers", "Peers with circuits that are enabled.",
         &OsmuxCounters::links);
}

void collect_e1(const std::vector<WorkerView>& workers, Families& out) {
  const auto counter = [&](const char* name, const char* help, io::Counter E1Counters::*member) {
    per_worker(workers, out, MetricType::Counter, name, help, [member](const WorkerView& view) {
      return static_cast<double>((view.media->e1.*member).value());
    });
  };
  counter("mgw_e1_frames_received_total",
          "TRAU frames received on E1 lines, and 20 ms pieces of PCM and clear channels.",
          &E1Counters::received_frames);
  out.begin(MetricType::Counter, "mgw_e1_frames_failed_total",
            "Of those, frames that no packet was made of, by cause.");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (std::size_t error = 0; error < rtp::kTrauErrorCount; ++error) {
      out.add(workers[i].media->e1.receive_failures[error].value(),
              {{"worker", std::to_string(i)},
               {"cause", std::string(rtp::to_string(static_cast<rtp::TrauError>(error)))}});
    }
  }
  counter("mgw_e1_synchronisation_lost_total",
          "Times that the frames in a sub-slot were lost and searched for again.",
          &E1Counters::synchronisation_losses);
  counter("mgw_e1_frames_sent_total", "Frames sent on E1 lines that had come as packets.",
          &E1Counters::sent_frames);
  counter("mgw_e1_fillers_sent_total",
          "Frames sent on E1 lines because no packet had come in time.", &E1Counters::sent_fillers);
  counter("mgw_e1_frames_given_up_total", "Frames that came in bursts for which there was no room.",
          &E1Counters::given_up_frames);
  counter("mgw_e1_time_alignments_total",
          "Frames lengthened or shortened because a base station asked for it.",
          &E1Counters::time_alignments);
}

void collect_coalescing(const std::vector<WorkerView>& workers, Families& out) {
  per_worker(workers, out, MetricType::Counter, "mgw_io_coalescing_waits_total",
             "Times that a worker waited for more packets before it forwarded (io.coalesce-us).",
             [](const WorkerView& view) {
               return static_cast<double>(view.backend->coalescing_waits.value());
             });
  per_worker(workers, out, MetricType::Counter, "mgw_io_coalescing_wait_seconds_total",
             "Time of those waits, each of which is the most that it delayed a packet.",
             [](const WorkerView& view) {
               return static_cast<double>(view.backend->coalescing_ns.value()) /
                      kNanosecondsPerSecond;
             });
  per_worker(workers, out, MetricType::Gauge, "mgw_io_coalescing_window_seconds",
             "The longest wait at the present rate of packets: what a packet may be delayed.",
             [](const WorkerView& view) {
               return static_cast<double>(view.backend->coalescing_window_ns.value()) /
                      kNanosecondsPerSecond;
             });
}

void collect_cpu(const std::vector<WorkerView>& workers, Families& out) {
  out.begin(MetricType::Counter, "mgw_worker_cpu_seconds_total", "CPU time of the worker threads.");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    out.add(std::chrono::duration<double>(cpu_time(workers[i])).count(),
            {{"worker", std::to_string(i)}});
  }
}

void collect_backends(const std::vector<WorkerView>& workers, Families& out) {
  const auto counter = [&](const char* name, const char* help,
                           io::Counter io::BackendCounters::*member) {
    per_worker(workers, out, MetricType::Counter, name, help, [member](const WorkerView& view) {
      return static_cast<double>((view.backend->*member).value());
    });
  };
  counter("mgw_io_passes_total",
          "Passes of the workers' loops; datagrams per pass = received / passes.",
          &io::BackendCounters::passes);
  counter("mgw_io_system_calls_total", "System calls made by passes.",
          &io::BackendCounters::system_calls);
  counter("mgw_io_received_joined_total", "Datagrams that came joined with others (UDP GRO).",
          &io::BackendCounters::received_joined);
  counter("mgw_io_sent_joined_total", "Datagrams that left joined with others (UDP GSO).",
          &io::BackendCounters::sent_joined);
  counter("mgw_io_joined_sends_total", "Sends with which several datagrams left at once.",
          &io::BackendCounters::joined_sends);
  counter("mgw_io_joining_refused_total",
          "Joined sends that the device or the path could not do: their datagrams left singly.",
          &io::BackendCounters::joining_refused);
  counter("mgw_io_received_oversize_total", "Datagrams longer than a buffer: dropped.",
          &io::BackendCounters::received_oversize);
  counter("mgw_io_receive_paused_total",
          "Times that receiving paused because all buffers were in use.",
          &io::BackendCounters::received_no_buffer);
  counter("mgw_io_receive_errors_total", "Errors reported on sockets while receiving (ICMP).",
          &io::BackendCounters::receive_errors);
  per_worker(
      workers, out, MetricType::Gauge, "mgw_io_sockets", "Sockets of the worker, open or closing.",
      [](const WorkerView& view) { return static_cast<double>(view.backend->sockets.value()); });
  per_worker(workers, out, MetricType::Gauge, "mgw_buffers", "Packet buffers of the worker.",
             [](const WorkerView& view) { return static_cast<double>(view.buffers); });
  per_worker(workers, out, MetricType::Gauge, "mgw_buffers_free",
             "Packet buffers neither held nor lent to the kernel.",
             [](const WorkerView& view) { return view.buffers_free->value(); });
  out.begin(MetricType::Counter, "mgw_io_send_dropped_total",
            "Datagrams that the kernel did not take, by cause.");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const auto add = [&](const io::Counter& value, const char* cause) {
      out.add(value.value(), {{"worker", std::to_string(i)}, {"cause", cause}});
    };
    add(workers[i].backend->send_would_block, "would_block");
    add(workers[i].backend->send_unreachable, "unreachable");
    add(workers[i].backend->send_closed, "closed");
    add(workers[i].backend->send_failed, "other");
  }
}

void collect_samples(const SampleCounters& samples, Families& out) {
  out.counter("mgw_rtp_packets_expected_total",
              "RTP packets that the legs' sequence numbers tell of, as sampled every 5 s and when "
              "they end.",
              samples.packets_expected.value());
  out.counter("mgw_rtp_packets_lost_total", "Of those, packets that never came.",
              samples.packets_lost.value());
  out.begin(
      MetricType::Gauge, "mgw_legs",
      "Legs by the speech quality that is estimated for what their peers send (MOS: good 4.0 "
      "and better, fair 3.6, poor 3.1, bad; unknown: no packets or a codec without a rating).");
  for (std::size_t i = 0; i < kQualityClasses; ++i) {
    out.add(samples.legs[i].value(),
            {{"quality", std::string(to_string(static_cast<QualityClass>(i)))}});
  }
  out.begin(MetricType::Gauge, "mgw_rtp_jitter_mean_seconds",
            "Interarrival jitter, mean over the legs that receive.");
  out.add(static_cast<double>(samples.jitter_mean_us.value()) * 1e-6);
  out.begin(MetricType::Gauge, "mgw_rtp_jitter_max_seconds", "The largest of a leg.");
  out.add(static_cast<double>(samples.jitter_max_us.value()) * 1e-6);
  const io::Duration age = io::MonotonicClock().now() - samples.finished_at.value();
  out.begin(
      MetricType::Gauge, "mgw_sample_age_seconds",
      "Time since all workers answered when they were asked for their counters, which happens "
      "every 5 s: more than some seconds mean that a thread stands still.");
  out.add(std::chrono::duration<double>(age).count());
}

void collect_kernel_path(const MetricsSources& sources, Families& out) {
  const io::KernelPath* const path = sources.kernel_path;
  out.begin(MetricType::Gauge, "mgw_kernel_path_info",
            "Where in the kernel plain RTP is forwarded (off, tc or xdp), and why it is not.");
  out.add(1, {{"path", path != nullptr ? std::string(path->name()) : "off"},
              {"devices", path != nullptr ? path->devices() : ""},
              {"reason", sources.kernel_path_refusal}});
  if (path == nullptr) {
    return;
  }
  const auto add = [&](MetricType type, const char* name, const char* help,
                       io::Counter KernelPathCounters::*member) {
    per_worker(sources.workers, out, type, name, help,
               [member](const WorkerView& view) { return (view.media->kernel.*member).value(); });
  };
  add(MetricType::Counter, "mgw_kernel_path_packets_total",
      "RTP packets that the kernel forwarded by itself; they are in all other counters too.",
      &KernelPathCounters::packets);
  add(MetricType::Counter, "mgw_kernel_path_octets_total", "Octets of those.",
      &KernelPathCounters::octets);
  add(MetricType::Gauge, "mgw_kernel_path_flows",
      "Legs whose received RTP the kernel forwards by itself.", &KernelPathCounters::flows);
  add(MetricType::Counter, "mgw_kernel_path_activations_total",
      "Times that a leg's RTP was given to the kernel.", &KernelPathCounters::activations);
  add(MetricType::Counter, "mgw_kernel_path_interruptions_total",
      "Times that it came back because of an unusual packet.", &KernelPathCounters::interruptions);
  out.begin(MetricType::Counter, "mgw_kernel_path_refusals_total",
            "Times that a leg's RTP could not be given to the kernel, by reason.");
  for (std::size_t i = 0; i < sources.workers.size(); ++i) {
    for (std::size_t reason = 0; reason < kKernelRefusalCount; ++reason) {
      out.add(sources.workers[i].media->kernel.refusals[reason].value(),
              {{"worker", std::to_string(i)},
               {"reason", std::string(to_string(static_cast<KernelRefusal>(reason)))}});
    }
  }
  out.begin(MetricType::Counter, "mgw_kernel_path_misses_total",
            "Packets of such legs that the kernel left to the sockets, by reason.");
  for (int miss = 0; miss < io::kKernelMissCount; ++miss) {
    const auto reason = static_cast<io::KernelMiss>(miss);
    out.add(path->misses(reason), {{"reason", std::string(io::to_string(reason))}});
  }
}

}  // namespace

std::string metrics_text(const MetricsSources& sources) {
  Families out;
  out.begin(MetricType::Gauge, "mgw_io_backend_info",
            "The I/O backend in use, and why it is not another one.");
  out.add(1, {{"backend", sources.backend}, {"fallback_reason", sources.fallback_reason}});
  collect_control(*sources.control, out);
  collect_limits(sources.control->limits, out);
  if (sources.journal != nullptr) {
    collect_journal(*sources.journal, out);
  }
  collect_transactions(sources.control->transactions, out);
  collect_outcomes(*sources.control, out);
  collect_cpu(sources.workers, out);
  collect_media(sources.workers, out);
  collect_osmux(sources.workers, out);
  if (!sources.control->e1_trunks.empty()) {
    collect_e1(sources.workers, out);
  }
  collect_backends(sources.workers, out);
  collect_coalescing(sources.workers, out);
  collect_samples(*sources.samples, out);
  const RecordWriter* records = sources.records;
  out.counter("mgw_call_records_total", "Records of calls that were written.",
              records == nullptr ? 0 : records->written());
  out.counter("mgw_call_records_lost_total",
              "Records of calls that found no room or could not be written.",
              records == nullptr ? 0 : records->lost());
  collect_kernel_path(sources, out);
  return prometheus::TextSerializer().Serialize(out.take());
}

}  // namespace mgw
