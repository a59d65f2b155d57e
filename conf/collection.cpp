#include "conf/collection.h"

#include "conf/setting_table.h"

#include <algorithm>

namespace conf {

namespace {

// Names of the entries' keys stay in one table with what they mean, as in config_keys.cpp.
using namespace table;

using Reporter = Entries<&Config::stats, &StatsOptions::reporters>;
using Target = Entries<&Config::log, &LogOptions::targets>;
using Line = Entries<&Config::e1, &E1Options::line_options>;
using Trunk = Entries<&Config::e1, &E1Options::trunk_options>;

constexpr TextForm kLogDestination = {is_path, "a file name, an address or a facility"};

constexpr Setting kReporterSettings[] = {
    Reporter::choice<&StatsReporter::kind>(
        "stats.reporters.type", kStatsReporters,
        "statsd sends datagrams to a statsd server, log writes lines to the log."),
    Reporter::text<&StatsReporter::name>("stats.reporters.name", kLabel,
                                         "Tells several of one type apart."),
    Reporter::toggle<&StatsReporter::enabled>("stats.reporters.enabled", "Whether it reports."),
    Reporter::text<&StatsReporter::remote_address>("stats.reporters.remote-address", kAddress,
                                                   "Address of the statsd server."),
    Reporter::number<&StatsReporter::remote_port>("stats.reporters.remote-port", "", 1, 65535,
                                                  "UDP port of the statsd server."),
    Reporter::text<&StatsReporter::local_address>(
        "stats.reporters.local-address", kOptionalAddress,
        "Address from which datagrams are sent; \"\" leaves it to the system."),
    Reporter::number<&StatsReporter::mtu>("stats.reporters.mtu", "bytes", 100, 65535,
                                          "Longest IP packet; off keeps datagrams to 256 bytes.",
                                          kOff),
    Reporter::text<&StatsReporter::prefix>("stats.reporters.prefix", kLabel,
                                           "What stands before each name, followed by a dot."),
    Reporter::choice<&StatsReporter::level>(
        "stats.reporters.level", kStatsLevels,
        "Which counters are sent: those of the whole gateway, or more."),
    Reporter::number<&StatsReporter::flush_period>(
        "stats.reporters.flush-period", "", 1, 65535,
        "Every so many reports all values are sent; with changes only those that have changed, "
        "after the first report.",
        kChanges),
};

constexpr Setting kTargetSettings[] = {
    Target::choice<&LogTarget::kind>("log.targets.type", kLogTargets, "Where lines go."),
    Target::text<&LogTarget::destination>(
        "log.targets.destination", kLogDestination,
        "Of a file its name, of syslog the facility (daemon, local0, ...), of gsmtap the address."),
    Target::toggle<&LogTarget::raw>(
        "log.targets.raw", "Without time, category and place, as the journal has fields for them."),
    Target::number<&LogTarget::alarms>("log.targets.alarms", "", 2, 32700,
                                       "Lines that the type alarms keeps for the VTY."),
    Target::choice<&LogTarget::level>("log.targets.level", kLogLevels,
                                      "From which severity on a line is logged."),
    Target::choice<&LogTarget::levels>(
        "log.targets.levels", kLogLevels,
        "Categories with another level, such as [lmgcp=info, osmux=debug]."),
    Target::choice<&LogTarget::force_all>(
        "log.targets.force-level", kForcedLogLevels,
        "One level for all categories, whatever the other two keys say; off is none."),
    Target::toggle<&LogTarget::filter_all>("log.targets.enabled",
                                           "Whether anything is logged here."),
    Target::toggle<&LogTarget::json>("log.targets.json", "One JSON object a line."),
    Target::toggle<&LogTarget::colour>("log.targets.colour", "Colours, on a terminal."),
    Target::toggle<&LogTarget::timestamp>("log.targets.timestamp", "Lines start with the time."),
    Target::toggle<&LogTarget::extended_timestamp>("log.targets.extended-timestamp",
                                                   "The time has date and milliseconds."),
    Target::toggle<&LogTarget::thread_id>("log.targets.thread-id", "Lines name the thread."),
    Target::toggle<&LogTarget::category>("log.targets.category", "Lines name the category."),
    Target::toggle<&LogTarget::category_hex>(
        "log.targets.category-number", "Lines have the number of the category, in hexadecimal."),
    Target::toggle<&LogTarget::show_level>("log.targets.show-level", "Lines name the level."),
    Target::choice<&LogTarget::file>("log.targets.source-file", kLogPrintFiles,
                                     "How lines name the place in the source."),
    Target::toggle<&LogTarget::file_last>("log.targets.source-file-last",
                                          "That place stands at the end of the line."),
};

constexpr Setting kLineSettings[] = {
    Line::number<&E1LineOptions::line>("e1.line-options.line", "", 0, 255, "Number of the line."),
    Line::choice<&E1LineOptions::driver>("e1.line-options.driver", kE1DriverWords,
                                         "What drives it: virtual is a line in memory, e1d is "
                                         "osmo-e1d; lines of all others carry nothing."),
    Line::number<&E1LineOptions::port>(
        "e1.line-options.port", "", 0, 255,
        "Which line of the driver; of osmo-e1d interface * 16 + line."),
    Line::text<&E1LineOptions::name>("e1.line-options.name", kLabel, "For people."),
    Line::text<&E1LineOptions::socket>("e1.line-options.socket", kOptionalPath,
                                       "Socket of the driver; \"\" is its usual one."),
    Line::text<&E1LineOptions::pcap>(
        "e1.line-options.pcap", kOptionalPath,
        "Capture file in an osmo-mgw configuration; kept, but nothing is written."),
};

constexpr auto kOptions = &E1TrunkOptions::options;

constexpr Setting kTrunkSettings[] = {
    Trunk::number<&E1TrunkOptions::trunk>("e1.trunk-options.trunk", "", 0, 64,
                                          "Number of the trunk."),
    Trunk::number<kOptions, &TrunkOptions::keep_alive>("e1.trunk-options.keep-alive", "s", 1, 120,
                                                       "As rtp.keep-alive.", kKeepAlives),
    Trunk::choice<kOptions, &TrunkOptions::source>("e1.trunk-options.source", kSources,
                                                   "As rtp.source."),
    Trunk::choice<kOptions, &TrunkOptions::unknown_payload_types>(
        "e1.trunk-options.unknown-payload-types", kUnknownPayloadTypes,
        "As rtp.unknown-payload-types."),
    Trunk::choice<kOptions, &TrunkOptions::force_ptime>("e1.trunk-options.force-ptime-ms", kPtimes,
                                                        "As rtp.force-ptime-ms.", "ms"),
    Trunk::toggle<kOptions, &TrunkOptions::patch, &PatchOptions::ssrc>(
        "e1.trunk-options.patch-ssrc", "As rtp.patch.ssrc."),
    Trunk::toggle<kOptions, &TrunkOptions::patch, &PatchOptions::timestamp>(
        "e1.trunk-options.patch-timestamp", "As rtp.patch.timestamp."),
    Trunk::toggle<kOptions, &TrunkOptions::patch, &PatchOptions::rfc5993hr>(
        "e1.trunk-options.patch-rfc5993hr", "As rtp.patch.rfc5993hr."),
    Trunk::toggle<kOptions, &TrunkOptions::omit_rtcp>("e1.trunk-options.omit-rtcp",
                                                      "As rtcp.omit."),
    Trunk::toggle<kOptions, &TrunkOptions::generate_rtcp>("e1.trunk-options.generate-rtcp",
                                                          "As rtcp.generate."),
    Trunk::toggle<kOptions, &TrunkOptions::sdp, &SdpOptions::single_codec>(
        "e1.trunk-options.single-codec", "As sdp.single-codec."),
    Trunk::toggle<kOptions, &TrunkOptions::sdp, &SdpOptions::send_ptime>(
        "e1.trunk-options.send-ptime", "As sdp.send-ptime."),
    Trunk::toggle<kOptions, &TrunkOptions::sdp, &SdpOptions::send_name>(
        "e1.trunk-options.send-name", "As sdp.send-name."),
    Trunk::number<kOptions, &TrunkOptions::packets_per_second>(
        "e1.trunk-options.packets-per-second", "", 0, 1000000, "As limits.packets-per-second."),
    Trunk::number<kOptions, &TrunkOptions::connection_timeout>(
        "e1.trunk-options.connection-timeout-s", "s", 0, 65534,
        "As endpoints.connection-timeout-s."),
    Trunk::toggle<kOptions, &TrunkOptions::force_realloc>("e1.trunk-options.force-realloc",
                                                          "As endpoints.force-realloc."),
};

constexpr Collection kCollections[] = {
    {"e1.line-options", "The lines, in whatever differs from the defaults.", kE1LinesMax,
     Line::size, Line::resize, kLineSettings},
    {"e1.trunk-options", "Trunks that have options of their own.", kE1TrunksMax, Trunk::size,
     Trunk::resize, kTrunkSettings},
    {"stats.reporters", "Where counters are reported to.", kStatsReportersMax, Reporter::size,
     Reporter::resize, kReporterSettings},
    {"log.targets",
     "Where lines go, if to more than one place; log.level, log.file and log.json then mean "
     "nothing.",
     kLogTargetsMax, Target::size, Target::resize, kTargetSettings},
};

}  // namespace

std::span<const Collection> all_collections() noexcept {
  return kCollections;
}

const Collection* find_collection(std::string_view path) noexcept {
  const auto found = std::ranges::find(kCollections, path, &Collection::path);
  return found == std::end(kCollections) ? nullptr : &*found;
}

const Setting* find_entry_setting(std::string_view path) noexcept {
  for (const Collection& collection : kCollections) {
    const auto found = std::ranges::find(collection.settings, path, &Setting::path);
    if (found != collection.settings.end()) {
      return &*found;
    }
  }
  return nullptr;
}

}  // namespace conf
