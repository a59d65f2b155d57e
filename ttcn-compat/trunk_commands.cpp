#include "ttcn-compat/command_context.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/mgcp_commands.h"
#include "ttcn-compat/osmo_configuration.h"

#include <algorithm>
#include <array>

namespace ttcn_compat {

namespace {

/// The number of the trunk whose node this is.
std::uint32_t trunk_number(const std::string& key) {
  return static_cast<std::uint32_t>(parse_number(key, UINT32_MAX).value_or(0));
}

/// The options that a command of either node is about.
conf::TrunkOptions& options_of(CommandContext& context) {
  conf::Config& config = context.edit();
  return context.path().current() == Node::config_mgcp
             ? config.endpoints.options
             : e1_trunk_options(config, trunk_number(context.path().key()));
}

/// The same for writing: a trunk without an entry has the virtual one's.
const conf::TrunkOptions& options_of(const ConfigurationText& text) {
  const conf::Config& config = text.config();
  if (!text.key().empty()) {
    for (const conf::E1TrunkOptions& trunk : config.e1.trunk_options) {
      if (trunk.trunk == trunk_number(text.key())) {
        return trunk.options;
      }
    }
  }
  return config.endpoints.options;
}

CommandResult set_keep_alive_interval(CommandContext& context) {
  options_of(context).keep_alive = {conf::KeepAlive::Mode::interval,
                                    std::chrono::seconds(context.number(0))};
  return CommandResult::done;
}

CommandResult set_keep_alive_once(CommandContext& context) {
  options_of(context).keep_alive = {conf::KeepAlive::Mode::once, std::chrono::seconds(0)};
  return CommandResult::done;
}

CommandResult set_keep_alive_off(CommandContext& context) {
  options_of(context).keep_alive = {conf::KeepAlive::Mode::off, std::chrono::seconds(0)};
  return CommandResult::done;
}

CommandResult set_omit_rtcp(CommandContext& context) {
  options_of(context).omit_rtcp = !context.negated();
  return CommandResult::done;
}

bool& patch_option(conf::PatchOptions& patch, std::string_view name) {
  return name == "ssrc" ? patch.ssrc : name == "timestamp" ? patch.timestamp : patch.rfc5993hr;
}

CommandResult set_patch(CommandContext& context) {
  conf::PatchOptions& patch = options_of(context).patch;
  if (context.negated()) {
    patch = {};
    return CommandResult::done;
  }
  patch_option(patch, context.argument(0)) = true;
  return CommandResult::done;
}

CommandResult unset_patch(CommandContext& context) {
  patch_option(options_of(context).patch, context.argument(0)) = false;
  return CommandResult::done;
}

CommandResult set_accept_all(CommandContext& context) {
  options_of(context).source =
      context.argument(0) == "1" ? conf::SourceCheck::any : conf::SourceCheck::strict;
  return CommandResult::done;
}

CommandResult set_force_realloc(CommandContext& context) {
  options_of(context).force_realloc = context.argument(0) == "1";
  return CommandResult::done;
}

CommandResult set_send_ptime(CommandContext& context) {
  options_of(context).sdp.send_ptime = !context.negated();
  return CommandResult::done;
}

CommandResult set_send_name(CommandContext& context) {
  options_of(context).sdp.send_name = !context.negated();
  return CommandResult::done;
}

CommandResult set_line(CommandContext& context) {
  const std::uint32_t number = trunk_number(context.path().key());
  conf::Config& config = context.edit();
  static_cast<void>(e1_trunk_options(config, number));
  const auto trunk = std::ranges::find(config.e1.trunks, number);
  const auto position = static_cast<std::size_t>(trunk - config.e1.trunks.begin());
  while (config.e1.lines.size() < config.e1.trunks.size()) {
    config.e1.lines.push_back(static_cast<std::uint32_t>(config.e1.lines.size()));
  }
  config.e1.lines[position] = static_cast<std::uint32_t>(context.number(0));
  return CommandResult::done;
}

void write_line(ConfigurationText& text) {
  for (const conf::E1Trunk& trunk : text.config().e1.all_trunks()) {
    if (trunk.trunk == trunk_number(text.key())) {
      text.line("line {}", trunk.line);
    }
  }
}

void write_keep_alive(ConfigurationText& text) {
  const conf::KeepAlive& keep_alive = options_of(text).keep_alive;
  switch (keep_alive.mode) {
    case conf::KeepAlive::Mode::off:
      return text.line("no rtp keep-alive");
    case conf::KeepAlive::Mode::once:
      return text.line("rtp keep-alive once");
    case conf::KeepAlive::Mode::interval:
      return text.line("rtp keep-alive {}", keep_alive.interval.count());
  }
}

void write_omit_rtcp(ConfigurationText& text) {
  text.line("{}rtcp-omit", options_of(text).omit_rtcp ? "" : "no ");
}

void write_send_ptime(ConfigurationText& text) {
  text.line("{}sdp audio-payload send-ptime", options_of(text).sdp.send_ptime ? "" : "no ");
}

void write_send_name(ConfigurationText& text) {
  text.line("{}sdp audio-payload send-name", options_of(text).sdp.send_name ? "" : "no ");
}

void write_patches(ConfigurationText& text, const conf::PatchOptions& patch) {
  if (patch == conf::PatchOptions{}) {
    text.line("no rtp-patch");
    return;
  }
  const bool is_e1 = !text.key().empty();
  const auto write = [&](bool option, std::string_view name) {
    if (option || is_e1) {
      text.line("{}rtp-patch {}", option ? "" : "no ", name);
    }
  };
  write(patch.ssrc, "ssrc");
  write(patch.timestamp, "timestamp");
  write(patch.rfc5993hr, "rfc5993hr");
}

/// osmo-mgw leaves these two out for the virtual trunk; here they are written where they differ
/// from the default, so that nothing gets lost.
void write_virtual_access(ConfigurationText& text) {
  const conf::TrunkOptions& options = options_of(text);
  if (options.force_realloc) {
    text.line("force-realloc 1");
  }
  if (options.source == conf::SourceCheck::any) {
    text.line("rtp-accept-all 1");
  }
}

void write_e1_trunk(ConfigurationText& text) {
  const conf::TrunkOptions& options = options_of(text);
  write_send_ptime(text);
  write_send_name(text);
  write_keep_alive(text);
  text.line("force-realloc {}", options.force_realloc ? 1 : 0);
  text.line("rtp-accept-all {}", options.source == conf::SourceCheck::any ? 1 : 0);
  write_omit_rtcp(text);
  write_patches(text, options.patch);
}

constexpr std::array kTrunkCommands{
    Command{"line <0-255>", "The E1 line that the trunk is on\nIts number", set_line, kNoFlags,
            [](ConfigurationText& text) {
              write_line(text);
              write_e1_trunk(text);
            }},
};

constexpr std::array kSharedCommands{
    Command{"rtp keep-alive <1-120>",
            "Packets that keep the way to a peer open\nSeconds between them",
            set_keep_alive_interval},
    Command{"rtp keep-alive once",
            "Packets that keep the way to a peer open\nOne, for each new peer",
            set_keep_alive_once},
    Command{"no rtp keep-alive", "Undo or switch off\nMedia\nNone are sent", set_keep_alive_off},
    Command{"rtcp-omit", "Do not relay RTCP", set_omit_rtcp, kHasNoForm},
    Command{"rtp-patch (ssrc|timestamp|rfc5993hr)",
            "Make RTP consistent\nOne SSRC and one sequence for each connection\n"
            "Timestamps in whole packet durations\nGSM half rate in the receiver's format",
            set_patch, kHasNoForm},
    Command{"no rtp-patch (ssrc|timestamp|rfc5993hr)",
            "Undo or switch off\nMake RTP consistent\nOne SSRC and one sequence\n"
            "Timestamps in whole packet durations\nGSM half rate in the receiver's format",
            unset_patch},
    Command{"rtp-accept-all (0|1)",
            "From where media is accepted\nFrom the peer of the SDP only\nFrom everywhere",
            set_accept_all},
    Command{"force-realloc (0|1)", "A new call on a busy endpoint\nIs refused\nFrees the old one",
            set_force_realloc},
    Command{"sdp audio-payload send-ptime", "Answers name the packet duration", set_send_ptime,
            kHasNoForm},
    Command{"sdp audio-payload send-name", "Answers name the codec", set_send_name, kHasNoForm},
    Command{"allow-transcoding", "Without effect", deprecated_directive, kDeprecated | kHasNoForm},
    Command{"loop (0|1)", "Without effect\nOff\nOn", deprecated_directive, kDeprecated},
    Command{"sdp audio payload number <0-255>", "Audio\nThe codec\nWithout effect\nA number",
            deprecated_directive, kDeprecated},
    Command{"sdp audio-payload number <0-255>", "Without effect\nA number", deprecated_directive,
            kDeprecated},
    Command{"sdp audio payload name NAME", "Audio\nThe codec\nWithout effect\nA name",
            deprecated_directive, kDeprecated},
    Command{"sdp audio-payload name NAME", "Without effect\nA name", deprecated_directive,
            kDeprecated},
    Command{"sdp audio fmtp-extra .NAME", "Audio\nWithout effect\nA text", deprecated_directive,
            kDeprecated},
};

constexpr std::array kTables{
    CommandTable{Node::config_mgcp_trunk, kTrunkCommands},
    CommandTable{NodeSet{Node::config_mgcp, Node::config_mgcp_trunk}, kSharedCommands},
};

}  // namespace

std::span<const CommandTable> trunk_command_tables() noexcept {
  return kTables;
}

CommandResult deprecated_directive(CommandContext& context) {
  context.output().print("% Deprecated '{}' config no longer has any effect\n", context.keywords());
  return CommandResult::done;
}

void write_virtual_trunk(ConfigurationText& text) {
  write_keep_alive(text);
  write_omit_rtcp(text);
  write_virtual_access(text);
  write_patches(text, options_of(text).patch);
  write_send_ptime(text);
  write_send_name(text);
}

}  // namespace ttcn_compat
