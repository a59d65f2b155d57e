#include "tools/rtpload/play_run.h"

#include "tools/rtpload/gateway_session.h"
#include "tools/rtpload/load_run.h"
#include "tools/rtpload/media_sockets.h"
#include "tools/rtpload/pacing.h"
#include "tools/rtpload/playback.h"
#include "tools/rtpload/report.h"
#include "tools/rtpload/stop_signal.h"
#include "tools/rtpload/wav.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace rtpload {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kStreams = 2;

int fail(const std::string& text) {
  std::cerr << "rtpload: " << text << '\n';
  return kExitUsage;
}

std::vector<std::uint8_t> read_bytes(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Hands what has come to the checkers: socket n hears stream 1 - n.
void receive(MediaSockets& sockets, std::array<PlaybackChecker, kStreams>& checkers) {
  for (const MediaSockets::Ready& from : sockets.ready()) {
    for (const ReceivedDatagram& datagram : sockets.receive(from)) {
      if (from.kind == MediaKind::rtp) {
        checkers[1 - from.socket].on_packet(datagram.bytes);
      }
    }
  }
}

// Plays the whole recording both ways. Returns how many packets were sent.
std::uint64_t play(const Recording& recording, const Call& call, MediaSockets& sockets,
                   std::uint32_t run_seed, std::array<PlaybackChecker, kStreams>& checkers) {
  PacingSchedule schedule(kStreams, recording.frames(), 20ms, PhasePlan::even, 0);
  schedule.start(read_clocks().monotonic + 5ms);
  std::uint64_t sent = 0;
  DuePacket due;
  while (!schedule.finished() && !stop_was_requested()) {
    sleep_until(schedule.next_due());
    while (!sockets.send_vector_full() && schedule.take_due(read_clocks().monotonic, due)) {
      const std::size_t bytes =
          recording.write_packet(sockets.send_room(), run_seed, due.stream, due.sequence);
      sockets.queue(MediaKind::rtp, due.stream, call.legs[due.stream].gateway, bytes);
    }
    for (const bool taken : sockets.flush()) {
      sent += taken ? 1U : 0U;
    }
    receive(sockets, checkers);
  }
  const io::TimePoint end = read_clocks().monotonic + 300ms;
  for (io::TimePoint now = read_clocks().monotonic; now < end; now = read_clocks().monotonic) {
    receive(sockets, checkers);
    sleep_until(now + 10ms);
  }
  return sent;
}

void fill(Report& report, const std::array<PlaybackChecker, kStreams>& checkers,
          std::uint64_t sent) {
  report.sent = sent;
  for (const PlaybackChecker& checker : checkers) {
    report.received += checker.counters().received;
    report.reordered += checker.counters().reordered;
    report.duplicated += checker.counters().duplicated;
    report.corrupted += checker.counters().corrupted;
  }
  report.lost = sent - std::min(sent, report.received);
}

bool write_file(const std::string& name, const void* data, std::size_t size) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  return file.good();
}

int print(const Options& options, const Report& report, const PlaybackChecker& first_stream) {
  const std::string json = to_json(report, options.max_loss);
  std::cout << (options.json_file == "-" ? json : to_text(report, options.max_loss)) << std::flush;
  if (!options.json_file.empty() && options.json_file != "-" &&
      !write_file(options.json_file, json.data(), json.size())) {
    return fail("can't write " + options.json_file);
  }
  if (!options.record_file.empty()) {
    const std::vector<std::uint8_t> file = make_wav(first_stream.samples());
    if (!write_file(options.record_file, file.data(), file.size())) {
      return fail("can't write " + options.record_file);
    }
  }
  return faults(report, options.max_loss).empty() ? kExitGood : kExitFaults;
}

}  // namespace

int run_play(const Options& options) {
  const auto samples = parse_wav(read_bytes(options.play_file));
  if (!samples) {
    return fail(options.play_file + ": " + samples.error());
  }
  const std::uint32_t run_seed = random_seed();
  const auto host = media_host(options);
  if (!host) {
    return fail(host.error());
  }
  const auto sockets = MediaSockets::open(*host, kStreams);
  if (!sockets) {
    return fail(sockets.error());
  }
  const auto session = GatewaySession::open(options, run_seed);
  if (!session) {
    return fail(session.error());
  }
  CallControl& calls = (*session)->calls();
  const std::size_t index = calls.add_call((*sockets)->local(0), (*sockets)->local(1));
  calls.set_up(index, 1, io::MonotonicClock().now());
  (*session)->run_until_idle();
  if ((*session)->gateway_is_absent()) {
    return fail("no answer from " + options.mgcp->text());
  }
  const Recording recording(options.codec, *samples);
  std::array<PlaybackChecker, kStreams> checkers{
      PlaybackChecker(options.codec, recording, run_seed, 0),
      PlaybackChecker(options.codec, recording, run_seed, 1)};
  Report report;
  report.mode = "play";
  report.codec = std::string(options.codec.name);
  report.calls_wanted = 1;
  if (calls.calls()[index].state == Call::State::established) {
    report.calls = 1;
    report.connections = 2;
    report.seconds = recording.frames() * 0.02;
    const std::uint64_t sent = play(recording, calls.calls()[index], **sockets, run_seed, checkers);
    fill(report, checkers, sent);
    calls.tear_down(index, 1, io::MonotonicClock().now());
    (*session)->run_until_idle();
  }
  report.failed_calls = calls.counters().failed;
  report.errors = calls.counters().errors;
  report.interrupted = stop_was_requested();
  return print(options, report, checkers[0]);
}

}  // namespace rtpload
