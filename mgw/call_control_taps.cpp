// Taps of connections (X-Mgw-Tap).

#include "io/log.h"
#include "mgw/call_control.h"

#include <fmt/format.h>

#include <span>

namespace mgw {

CallControl::Error CallControl::apply_tap(const mgcp::Request& request, Connection& connection) {
  TapSet taps = TapRegistry::within_family(connection.taps, connection.local);
  if (request.tap.state != mgcp::TapParameter::State::absent) {
    auto applied = parts_.taps.apply(request.tap, taps, connection.local);
    if (!applied) {
      return applied.error();
    }
    taps = std::move(*applied);
  }
  if (taps != connection.taps) {
    io::log(io::LogLevel::notice, io::LogCategory::rtp,
            {{"endpoint", subject_.endpoint},
             {"conn", connection.id_text()},
             {"call", subject_.call},
             {"trans", request.transaction_id},
             {"to", fmt::format("{}", fmt::join(tap_texts(taps), ", "))}},
            "tapped");
  }
  connection.taps = std::move(taps);
  return std::nullopt;
}

void CallControl::append_tap_texts(const mgcp::Request& request,
                                   const std::vector<std::string>& taps, mgcp::Response& response) {
  const bool asked = request.tap.state != mgcp::TapParameter::State::absent;
  for (const std::string& text : asked ? std::span(taps) : std::span<const std::string>()) {
    response.parameters.push_back({"X-Mgw-Tap", text});
  }
}

void CallControl::append_tap(std::uint32_t worker, const Connection& before, const Connection& now,
                             MediaCommand& command) {
  if (now.taps == before.taps && (now.taps.empty() || now.local == before.local)) {
    return;
  }
  command.taps.push_back({now.slot, parts_.taps.make_tap(now.taps, worker, now.local)});
}

void CallControl::mark_commanded(MediaCommand& command, const mgcp::Request& request,
                                 const Connection& connection, const conf::TrunkOptions& options) {
  using State = mgcp::TapParameter::State;
  const bool only_tap = request.tap.state != State::absent && !request.sdp &&
                        !request.local_options &&
                        request.mode.state == mgcp::ModeParameter::State::absent;
  if (only_tap) {
    return;
  }
  for (MediaUpdate& update : command.updates) {
    if (update.slot == connection.slot) {
      update.entry.commanded = true;
      update.entry.new_description = request.sdp.has_value();
      update.entry.keep_alive_now = keeps_alive(connection, options);
    }
  }
}

}  // namespace mgw
