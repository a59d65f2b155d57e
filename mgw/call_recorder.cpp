#include "mgw/call_recorder.h"

#include "io/json_text.h"
#include "mgw/status_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace mgw {

namespace {

/// UTC with milliseconds (RFC 3339).
std::string utc_text(io::Duration since_1970) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(since_1970);
  const auto rest = std::chrono::floor<std::chrono::milliseconds>(since_1970 - whole);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(whole.count())), rest.count());
}

}  // namespace

std::string_view to_string(EndReason reason) noexcept {
  constexpr std::array<std::string_view, 7> kWords = {
      "deleted", "restarted", "replaced", "timed_out", "by_operator", "drain_deadline", "shutdown"};
  return kWords[static_cast<std::size_t>(reason)];
}

void CallRecorder::leg_removed(std::uint32_t number, std::string_view name,
                               const Endpoint& endpoint, const Connection& leg, EndReason reason) {
  auto& record = open_[number];
  if (record == nullptr) {
    record = std::make_shared<OpenRecord>();
    record->call.endpoint = name;
    record->call.call_id = endpoint.call_id;
  }
  record->reason = reason;
  const io::TimePoint created = leg.created;
  if (created != io::TimePoint{} &&
      (record->started == io::TimePoint{} || created < record->started)) {
    record->started = created;
  }
  if (record->call.legs.size() == kLegsMax) {
    ++record->omitted;
    return;
  }
  ++record->uncounted;
  waiting_[{endpoint.worker, leg.slot}] = {record, record->call.legs.size()};
  record->call.legs.push_back(leg_snapshot(leg, {}));
  record->ended.push_back(clock_.now());
}

void CallRecorder::leg_counted(std::uint32_t worker, std::uint32_t slot,
                               const ConnectionCounters& counters) {
  const auto found = waiting_.find({worker, slot});
  if (found == waiting_.end()) {
    return;
  }
  const auto [record, leg] = std::move(found->second);
  waiting_.erase(found);
  record->call.legs[leg].counters = counters;
  --record->uncounted;
  write_if_whole(*record);
}

void CallRecorder::call_ended(std::uint32_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) {
    return;
  }
  const std::shared_ptr<OpenRecord> record = std::move(found->second);
  open_.erase(found);
  record->is_over = true;
  write_if_whole(*record);
}

void CallRecorder::record_as_is(const CallSnapshot& call, EndReason reason) {
  OpenRecord record;
  record.call = call;
  record.ended.assign(call.legs.size(), clock_.now());
  record.started = call.created();
  record.reason = reason;
  write(record);
}

void CallRecorder::write_if_whole(const OpenRecord& record) {
  if (record.is_over && record.uncounted == 0) {
    write(record);
  }
}

void CallRecorder::write(const OpenRecord& record) {
  const io::Duration offset = clock_.wall_clock_offset();
  const io::TimePoint end =
      record.ended.empty() ? clock_.now() : *std::ranges::max_element(record.ended);
  io::JsonWriter json;
  json.begin_object()
      .member("time", utc_text(end.time_since_epoch() + offset))
      .member("endpoint", record.call.endpoint)
      .member("call_id", record.call.call_id)
      .member("ended_by", to_string(record.reason));
  if (record.started == io::TimePoint{}) {
    json.member("started", std::optional<bool>()).member("duration_s", std::optional<bool>());
  } else {
    json.member("started", utc_text(record.started.time_since_epoch() + offset))
        .member("duration_s", std::chrono::duration<double>(end - record.started).count());
  }
  json.member("loss", record.call.worst_loss()).member("mos", record.call.worst_mos());
  json.key("legs").begin_array();
  for (std::size_t i = 0; i < record.call.legs.size(); ++i) {
    write_leg_json(json, record.call.legs[i], record.ended[i], "duration_s");
  }
  json.end_array().member("legs_omitted", record.omitted).end_object();
  sink_.take(json.take());
}

}  // namespace mgw
