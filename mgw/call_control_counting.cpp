// What call control counts, apart from answers.

#include "mgw/call_control.h"

namespace mgw {

void CallControl::count_command(mgcp::Verb verb, const mgcp::EndpointName* name) noexcept {
  if (verb == mgcp::Verb::unknown || verb == mgcp::Verb::ntfy) {
    counters_.unhandled.add();
    counters_.malformed.add();
    return;
  }
  // The null endpoint counts as none, even where it is answered: so it does with osmo-mgw.
  const bool is_null = name != nullptr && name->kind == mgcp::EndpointKind::null;
  if (name == nullptr || is_null) {
    counters_.no_endpoint.add();
  }
  if (name != nullptr && (!is_null || verb == mgcp::Verb::auep)) {
    counters_.handled.add();
  }
}

std::optional<std::size_t> CallControl::trunk_of(const mgcp::EndpointName& name) const noexcept {
  if (name.kind == mgcp::EndpointKind::null) {
    return std::nullopt;
  }
  return trunk_of(trunks_.resolve(name)->first);
}

std::size_t CallControl::trunk_of(std::uint32_t number) const noexcept {
  const auto e1_trunk = trunks_.e1_trunk_of(number);
  return e1_trunk ? 1 + *e1_trunk : 0;
}

void CallControl::register_installs(std::uint32_t worker, std::uint32_t number,
                                    const MediaCommand& command) {
  const Endpoint& endpoint = *trunks_.find(number);
  for (const MediaInstall& install : command.installs) {
    LegKind kind = LegKind::rtp;
    if (endpoint.line_side != nullptr && endpoint.line_side->slot == install.slot) {
      kind = LegKind::e1;
    } else if (endpoint.connections.back()->osmux) {
      kind = LegKind::osmux;
    }
    registry_.add(worker, install.slot, static_cast<std::uint32_t>(trunk_of(number)), kind,
                  *install.connection);
  }
}

void CallControl::register_done(std::uint32_t worker, const MediaCommand& command) {
  if (command.error != 0) {
    for (const MediaInstall& install : command.installs) {
      if (install.connection != nullptr) {
        registry_.forget(worker, install.slot);
      }
    }
    return;
  }
  for (const std::uint32_t slot : command.removals) {
    if (command.is_quiet) {  // it goes on elsewhere, or here again
      registry_.forget(worker, slot);
      continue;
    }
    // The worker has handed it back: `command` owns it.
    const MediaConnection* media = registry_.find(worker, slot);
    const ConnectionCounters counters = media != nullptr ? media->counters() : ConnectionCounters();
    if (parts_.recorder != nullptr) {
      parts_.recorder->leg_counted(worker, slot, counters);
    }
    if (leg_end_handler_) {
      leg_end_handler_(worker, slot, counters);
    }
    registry_.remove(worker, slot);
  }
}

void CallControl::record_removal(std::uint32_t number, const Connection& connection) {
  if (parts_.recorder != nullptr) {
    parts_.recorder->leg_removed(number, endpoint_name(number), *trunks_.find(number), connection,
                                 end_reason_);
  }
}

void CallControl::on_tick() {
  cache_.expire(parts_.clock.now());
  update_gauges();
  note_lines();
  recheck_circles();
}

void CallControl::flush() {
  parts_.media.flush();
  update_gauges();
  if (listener_ != nullptr) {
    listener_->commit();
  }
}

void CallControl::update_gauges() noexcept {
  counters_.endpoints_total.set(trunks_.virtual_total());
  counters_.endpoints_used.set(trunks_.virtual_used());
  for (std::size_t i = 0; i < counters_.e1_trunks.size(); ++i) {
    counters_.e1_endpoints_used[counters_.e1_trunks[i]].set(trunks_.e1_used(i));
  }
  counters_.ports_total.set(local_media_.ports_total());
  counters_.ports_used.set(local_media_.ports_used());
  counters_.transactions_remembered.set(cache_.size());
  counters_.taps.set(parts_.taps.active());
}

}  // namespace mgw
