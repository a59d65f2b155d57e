#include "tools/rtpload/media_run.h"

#include "tools/rtpload/sender_report.h"

#include <algorithm>
#include <cstdlib>

namespace rtpload {
namespace {

using namespace std::chrono_literals;

// After a pause longer than this the streams go on at their next instants, as the phones they stand
// for would, and not in one burst.
constexpr io::Duration kMissedAfter = 10ms;
// Receiving is driven by the clock, not by arrival: the kernel stamps the packets, so latency is
// measured right although they wait, and the generator does not wake up for each of them.
constexpr io::Duration kReceiveInterval = 1ms;
// Time from the decision to start to the first packet, so that the first ones are not late.
constexpr io::Duration kStartDelay = 5ms;
// Vectors taken from one socket before the others and the sending get their turn.
constexpr int kVectorsPerTurn = 4;
// In which the gateway acknowledges the initialisation of all Iu UP legs.
constexpr io::Duration kInitialisationTime = 300ms;
constexpr io::Duration kTrialSleep = 1300us;
constexpr io::Duration kDrainMinimum = 100ms;
constexpr io::Duration kDrainMaximum = 20s;  // a gateway that is seconds behind still gets its due

std::uint32_t report_rounds(const MediaOptions& options) noexcept {
  const auto length = options.interval * options.packets_per_stream;
  return static_cast<std::uint32_t>(length / std::chrono::seconds(kReportIntervalS)) + 1;
}

}  // namespace

MediaRun::MediaRun(const MediaOptions& options, MediaSockets& sockets, OsmuxTrunk* trunk,
                   MediaChecker& checker, MediaObserver& observer)
    : options_(options),
      sockets_(sockets),
      trunk_(trunk),
      checker_(checker),
      observer_(observer),
      schedule_(static_cast<std::uint32_t>(checker.legs().size()), options.packets_per_stream,
                options.interval, options.phases, options.run_seed),
      reports_(static_cast<std::uint32_t>(checker.legs().size()), report_rounds(options),
               std::chrono::seconds(kReportIntervalS), PhasePlan::even, options.run_seed),
      sent_(checker.legs().size(), 0),
      last_lateness_(checker.legs().size()) {
  schedule_.skip_later_than(kMissedAfter);
  queued_streams_.reserve(MediaSockets::kSendVectorMax);
  due_packets_.reserve(MediaSockets::kSendVectorMax);
  totals_.streams = static_cast<std::uint32_t>(checker.legs().size());
}

void MediaRun::discard_pending() noexcept {
  for (auto ready = sockets_.ready(); !ready.empty(); ready = sockets_.ready()) {
    for (const MediaSockets::Ready& from : ready) {
      static_cast<void>(sockets_.receive(from));
    }
  }
}

void MediaRun::run() {
  prepare_precise_sleep();
  initialise_legs();
  try_timers();
  const io::TimePoint start = read_clocks().monotonic + kStartDelay;
  const io::Duration length = options_.interval * options_.packets_per_stream;
  schedule_.start(start);
  reports_.start(start);
  next_receive_ = start;
  next_second_ = start + 1s;
  steady_begin_ = start + std::min<io::Duration>(1s, length / 10);
  send_all();
  totals_.sending_time = read_clocks().monotonic - start;
  totals_.missed = schedule_.missed();
  observer_.on_steady_end();
  drain();
  count_lost();
}

void MediaRun::try_timers() noexcept {
  for (std::size_t sleep = 0; sleep < 2 * WakePlan::kSleeps; ++sleep) {
    const io::TimePoint now = read_clocks().monotonic;
    rest(now + kTrialSleep, now);
  }
}

void MediaRun::initialise_legs() {
  const std::vector<MediaLeg>& legs = checker_.legs();
  bool any = false;
  for (std::uint32_t leg = 0; leg < legs.size(); ++leg) {
    const Codec& codec = options_.codecs[leg & 1U];
    if (codec.form != PayloadForm::iuup) {
      continue;
    }
    any = true;
    const std::size_t bytes =
        write_initialisation(sockets_.send_room(), codec, options_.run_seed, leg);
    sockets_.queue(MediaKind::rtp, legs[leg].socket, legs[leg].gateway, bytes);
    if (sockets_.send_vector_full()) {
      static_cast<void>(sockets_.flush());
    }
  }
  static_cast<void>(sockets_.flush());
  if (any) {
    sleep_until(read_clocks().monotonic + kInitialisationTime);
    discard_pending();
  }
}

void MediaRun::send_all() {
  while (!schedule_.finished() && !observer_.stop_requested()) {
    const ClockReading now = read_clocks();
    const bool something_was_due = send_due(now);
    if (options_.rtcp) {
      send_due_reports(now);
    }
    if (now.monotonic >= next_receive_) {
      receive_all();
      next_receive_ = now.monotonic + kReceiveInterval;
      call_observer(now.monotonic);
    } else if (!something_was_due) {
      rest(std::max(now.monotonic + options_.tick, std::min(schedule_.next_due(), next_receive_)),
           now.monotonic);
    }
  }
}

// Sleeps until the time that is wanted, or so long before it as the timers are late.
void MediaRun::rest(io::TimePoint wanted, io::TimePoint now) noexcept {
  const io::TimePoint end = wake_plan_.sleep_end(wanted, now);
  if (end > now) {
    sleep_until(end);
    wake_plan_.on_woken(now, end, read_clocks().monotonic);
  }
}

void MediaRun::call_observer(io::TimePoint now) {
  if (!steady_begun_ && now >= steady_begin_) {
    steady_begun_ = true;
    observer_.on_steady_begin();
  }
  if (now >= next_second_) {
    next_second_ += 1s;
    observer_.on_second();
  }
}

// Sends one vector of packets that are due; false if there was none.
bool MediaRun::send_due(const ClockReading& now) noexcept {
  DuePacket due;
  queued_streams_.clear();
  due_packets_.clear();
  while (due_packets_.size() < MediaSockets::kSendVectorMax &&
         schedule_.take_due(now.monotonic, due)) {
    send_one(due, now);
    lateness_ns_.add(static_cast<std::uint64_t>((now.monotonic - due.due).count()));
    due_packets_.push_back(due);
  }
  count_sent();
  if (trunk_ != nullptr) {
    trunk_->flush_due(now.monotonic);
  }
  if (due_packets_.empty()) {
    return false;
  }
  const io::TimePoint left = read_clocks().monotonic;
  for (const DuePacket& packet : due_packets_) {
    note_pacing(packet, left);
  }
  return true;
}

void MediaRun::note_pacing(const DuePacket& due, io::TimePoint now) noexcept {
  const io::Duration lateness = now - due.due;
  if (due.sequence > 0) {
    const io::Duration difference = lateness - last_lateness_[due.stream];
    pacing_ns_.add(static_cast<std::uint64_t>(std::abs(difference.count())));
  }
  last_lateness_[due.stream] = lateness;
}

void MediaRun::send_one(const DuePacket& due, const ClockReading& now) noexcept {
  const Codec& codec = options_.codecs[due.stream & 1U];
  const MediaLeg& leg = checker_.legs()[due.stream];
  const PacketIdentity identity{due.stream, due.sequence, make_stamp(now.wall_ns)};
  const std::span<std::uint8_t> room = sockets_.send_room();
  const std::size_t bytes = write_packet(room, codec, options_.run_seed, identity);
  if (codec.form == PayloadForm::osmux) {
    trunk_->push(due.stream, room.first(bytes), now.monotonic);
    ++sent_[due.stream];
    ++totals_.sent;
    return;
  }
  sockets_.queue(MediaKind::rtp, leg.socket, leg.gateway, bytes);
  queued_streams_.push_back(due.stream);
}

void MediaRun::count_sent() noexcept {
  const std::span<const bool> taken = sockets_.flush();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) {
      ++sent_[queued_streams_[i]];
      ++totals_.sent;
    } else {
      ++totals_.send_refused;
    }
  }
}

void MediaRun::send_due_reports(const ClockReading& now) noexcept {
  DuePacket due;
  while (!sockets_.send_vector_full() && reports_.take_due(now.monotonic, due)) {
    if (options_.codecs[due.stream & 1U].form == PayloadForm::osmux) {
      continue;  // there is no RTCP in a multiplex
    }
    const MediaLeg& leg = checker_.legs()[due.stream];
    const RtpOrigin origin = rtp_origin(options_.run_seed, due.stream);
    const std::uint32_t packets = schedule_.taken(due.stream);
    const SenderReport report{origin.ssrc, now.wall_ns,
                              origin.timestamp + packets * kSamplesPerPacket, packets,
                              packets * options_.codecs[due.stream & 1U].payload_bytes};
    const std::size_t bytes = write_sender_report(sockets_.send_room(), report);
    const auto port = static_cast<std::uint16_t>(leg.gateway.port() + 1);
    sockets_.queue(MediaKind::rtcp, leg.socket, leg.gateway.with_port(port), bytes);
  }
  const std::span<const bool> taken = sockets_.flush();
  totals_.rtcp_sent += static_cast<std::uint64_t>(std::count(taken.begin(), taken.end(), true));
}

void MediaRun::receive_all() noexcept {
  if (trunk_ != nullptr) {
    trunk_->receive(checker_);
  }
  for (const MediaSockets::Ready& from : sockets_.ready()) {
    for (int vectors = 0; vectors < kVectorsPerTurn; ++vectors) {
      const std::span<const ReceivedDatagram> received = sockets_.receive(from);
      for (const ReceivedDatagram& datagram : received) {
        if (from.kind == MediaKind::rtp) {
          checker_.on_datagram(datagram);
        } else {
          totals_.rtcp_received += is_rtcp(datagram.bytes) ? 1U : 0U;
        }
      }
      if (received.size() < MediaSockets::kReceiveVectorMax) {
        break;
      }
    }
  }
}

// Waits for what is on its way: as long as something still arrives, and always long enough for a
// late duplicate to show.
void MediaRun::drain() {
  const io::TimePoint begin = read_clocks().monotonic;
  io::TimePoint last_arrival = begin;
  std::uint64_t seen = checker_.counters().received;
  for (io::TimePoint now = begin;
       now < last_arrival + options_.drain && now < begin + kDrainMaximum;
       now = read_clocks().monotonic) {
    receive_all();
    const std::uint64_t received = checker_.counters().received;
    if (received >= totals_.sent && now >= begin + kDrainMinimum) {
      break;
    }
    last_arrival = received != seen ? now : last_arrival;
    seen = received;
    if (trunk_ != nullptr) {
      trunk_->flush_due(now);
    }
    sleep_until(now + kReceiveInterval);
  }
}

void MediaRun::count_lost() noexcept {
  const auto per_second = static_cast<std::uint32_t>(1s / options_.interval);
  for (std::uint32_t stream = 0; stream < totals_.streams; ++stream) {
    const StreamChecker& arrived = checker_.stream(stream);
    totals_.lost += sent_[stream] - std::min(sent_[stream], arrived.received());
    const bool is_silent =
        sent_[stream] > per_second && arrived.next_expected() + per_second <= sent_[stream];
    totals_.silent_streams += is_silent ? 1U : 0U;
  }
}

}  // namespace rtpload
