#include "tools/rtpload/options.h"

#include "rtp/osmux_chunk.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace rtpload {
namespace {

// Bounds of the numbers, so that no product of them overflows.
constexpr std::uint32_t kCallsMax = 100'000;
constexpr double kSecondsMax = 1'000'000;

// What the command line gives as text and parse_command_line() turns into values.
struct Texts {
  std::string mgcp;
  std::string codec = "GSM-EFR";
  std::string answer_codec;
  int answer_payload_type = -1;
  std::string local;
  std::string phases = "even";
  bool self = false;
  bool setup_only = false;
};

void add_call_options(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--mgcp", texts.mgcp, "MGCP address of the gateway, HOST:PORT");
  app.add_option("--calls", options.calls,
                 "Two-legged calls (default 1; with --setup-only how many at one time, default "
                 "--in-flight)")
      ->check(CLI::Range(1U, kCallsMax));
  app.add_option("--seconds", options.seconds, "Length of the media phase, or of --setup-only")
      ->check(CLI::Range(0.02, kSecondsMax));
  app.add_option(
      "--codec", texts.codec,
      fmt::format("One of: {} (OSMUX only as --answer-codec)", fmt::join(codec_names(), ", ")));
  app.add_option("--answer-codec", texts.answer_codec,
                 "Codec of the second leg (default: the same): the same frames in another form, "
                 "AMR-12.2 as AMR-12.2-BE, IUUP or OSMUX-12.2, AMR-5.90 as AMR-5.90-BE or "
                 "OSMUX-5.90");
  app.add_option("--answer-payload-type", texts.answer_payload_type,
                 "Payload type of the second leg (default: the same)")
      ->check(CLI::Range(0, 127));
  app.add_option("--rate", options.rate,
                 "Calls begun per second (default: as fast as they are answered)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--in-flight", options.in_flight,
                 "MGCP transactions waiting for an answer at one time")
      ->check(CLI::Range(1U, 10'000U));
  app.add_option("--hold", options.hold, "Further calls that exist during the run, without media")
      ->check(CLI::Range(0U, kCallsMax));
  app.add_option("--endpoint-prefix", options.endpoint_prefix,
                 "What stands before the wildcard in endpoint names");
  app.add_option("--domain", options.domain, "What stands after the @ in endpoint names");
  app.add_option("--mgcp-timeout", options.mgcp_timeout_s,
                 "Seconds after which a request without answer is given up")
      ->check(CLI::Range(1U, 120U));
}

void add_media_options(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--local", texts.local,
                 "Local address for media (default: the one that reaches the gateway)");
  app.add_option("--sockets", options.sockets,
                 "Pairs of local sockets (default: one per leg up to 1024, else 64)")
      ->check(CLI::Range(1U, 10'000U));
  app.add_option("--phases", texts.phases, "How streams are spread over 20 ms")
      ->check(CLI::IsMember({"even", "random", "bursts"}));
  app.add_option(
         "--tick-us", options.tick_us,
         "Send together what comes due within so long (default 0: each packet at its instant)")
      ->check(CLI::Range(0U, 10'000U));
  app.add_option("--interval-ms", options.interval_ms,
                 "Time between two packets of a stream (default 20); a longer one keeps many calls "
                 "alive at little cost")
      ->check(CLI::Range(5U, 60'000U));
  app.add_flag("--rtcp", options.rtcp, "Also send RTCP sender reports every 5 s");
  app.add_option("--drain-ms", options.drain_ms,
                 "How long nothing must arrive until missing packets are given up")
      ->check(CLI::Range(0U, 60'000U));
  app.add_option("--cpu", options.cpu, "Run on this core only")->check(CLI::Range(0, 4095));
  app.add_option("--max-loss", options.max_loss, "Fraction of the packets that may be lost")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--pid", options.pid, "Process of the gateway, to measure what it costs")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json_file,
                 "Write the result to this file; - for standard output alone");
  app.add_flag("--progress", options.progress,
               "Show progress even if standard error is no terminal");
  app.add_flag("--self", texts.self,
               "Without a gateway: from socket to socket, to see what the generator itself adds");
  app.add_flag("--setup-only", texts.setup_only,
               "Set calls up and take them down again, without media");
  app.add_option("--play", options.play_file,
                 "Play a recording (WAV, 8000 Hz, mono, 16 bit) over one call and compare")
      ->check(CLI::ExistingFile);
  app.add_option("--record", options.record_file,
                 "With --play: write what came out to this WAV file");
}

// Turns texts into values; an error text if one can't be.
std::string interpret(const Texts& texts, Options& options) {
  const int modes =
      (texts.self ? 1 : 0) + (texts.setup_only ? 1 : 0) + (options.play_file.empty() ? 0 : 1);
  if (modes > 1) {
    return "--self, --setup-only and --play exclude each other";
  }
  options.mode = texts.self                  ? RunMode::self
                 : texts.setup_only          ? RunMode::setup_only
                 : options.play_file.empty() ? RunMode::calls
                                             : RunMode::play;
  if (options.mode != RunMode::self) {
    options.mgcp = io::SocketAddress::parse_with_port(texts.mgcp);
    if (!options.mgcp) {
      return texts.mgcp.empty() ? "--mgcp HOST:PORT is needed" : "--mgcp: not a numeric HOST:PORT";
    }
  }
  const auto codec = find_codec(texts.codec);
  if (!codec) {
    return fmt::format("--codec: one of {}", fmt::join(codec_names(), ", "));
  }
  options.codec = *codec;
  const auto answer = texts.answer_codec.empty() ? codec : find_codec(texts.answer_codec);
  if (!answer || !same_frames(*codec, *answer)) {
    return "--answer-codec: not another form of the frames of --codec";
  }
  options.answer_codec = *answer;
  if (texts.answer_payload_type >= 0) {
    options.answer_codec.payload_type = static_cast<std::uint8_t>(texts.answer_payload_type);
  }
  if (options.codec.form == PayloadForm::osmux) {
    return "--codec: Osmux is for the second leg, --answer-codec";
  }
  if (options.answer_codec.form == PayloadForm::osmux &&
      options.calls + options.hold > rtp::kOsmuxCircuits) {
    return "--calls: a trunk of Osmux has 256 circuits";
  }
  const bool differs = !texts.answer_codec.empty() || texts.answer_payload_type >= 0;
  if (differs && (texts.self || !options.play_file.empty())) {
    return "--answer-codec and --answer-payload-type need calls through a gateway";
  }
  if (!texts.local.empty()) {
    options.local = io::SocketAddress::parse(texts.local, 0);
    if (!options.local) {
      return "--local: not a numeric address";
    }
  }
  if (options.calls == 0) {
    options.calls = options.mode == RunMode::setup_only ? options.in_flight : 1;
  }
  options.phases = find_phase_plan(texts.phases).value_or(PhasePlan::even);
  if (options.mode == RunMode::play && options.codec.payload_bytes != kSamplesPerPacket) {
    return "--play needs --codec PCMA or PCMU";
  }
  return {};
}

}  // namespace

std::variant<Options, int> parse_command_line(int count, const char* const* arguments) {
  CLI::App app(
      "Load generator: sets up calls at an MGCP gateway, plays both sides, measures what comes "
      "out.",
      "rtpload");
  Options options;
  Texts texts;
  add_call_options(app, options, texts);
  add_media_options(app, options, texts);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitGood : kExitUsage;
  }
  const std::string error = interpret(texts, options);
  if (!error.empty()) {
    std::cerr << "rtpload: " << error << '\n';
    return kExitUsage;
  }
  options.progress = options.progress || ::isatty(STDERR_FILENO) != 0;
  return options;
}

std::uint32_t socket_pairs(const Options& options, std::uint32_t legs) noexcept {
  const std::uint32_t wanted = options.sockets != 0        ? options.sockets
                               : legs <= kSocketsPerLegMax ? legs
                                                           : kSharedSockets;
  return std::clamp(wanted, 1U, std::max(1U, legs));
}

}  // namespace rtpload
