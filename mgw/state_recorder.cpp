#include "mgw/state_recorder.h"

#include "io/log.h"

#include <algorithm>
#include <span>

namespace mgw {

namespace {

/// Records of a whole state are about that long.
constexpr std::size_t kRecordBytes = std::size_t{64} * 1024;
/// A file is written anew when it has grown by that much, and to more than twice its first size.
constexpr std::uint64_t kGrowthBytes = std::uint64_t{6} * 1024 * 1024;

/// Appends records of a whole state, none of them long.
class StateAppender {
 public:
  StateAppender(std::string& out, io::TimePoint now) : out_(out), now_(now) {}
  /// The record that the next part goes into.
  StateRecordWriter& record() {
    if (record_ && record_->size() >= kRecordBytes) {
      record_->finish();
      record_.reset();
    }
    if (!record_) {
      record_.emplace(out_, now_);
    }
    return *record_;
  }
  /// Ends the last record.
  void finish() {
    record().finish();
    record_.reset();
  }

 private:
  std::string& out_;
  io::TimePoint now_;
  std::optional<StateRecordWriter> record_;
};

void append_endpoints(StateAppender& appender, const CallControl& control) {
  const Trunks& trunks = control.trunks();
  for (auto number = trunks.next_used(1); number; number = trunks.next_used(*number + 1)) {
    const Endpoint& endpoint = *trunks.find(*number);
    if (std::ranges::any_of(endpoint.connections, [](const auto& one) { return one->answered; })) {
      appender.record().add_endpoint(trunks.key_of(*number), endpoint);
    }
  }
}

void append_answers(StateAppender& appender, const CallControl& control) {
  control.visit_answers(
      [&appender](const mgcp::TransactionKey& key, std::string_view text, io::TimePoint at) {
        appender.record().add_answer(key, at, text);
      });
}

std::uint64_t packets_of(const MediaConnection& media) noexcept {
  return media.live.rtp_received.value().packets + media.live.rtp_sent.value().packets;
}

}  // namespace

void append_state(std::string& out, const CallControl& control, io::TimePoint now) {
  StateAppender appender(out, now);
  append_endpoints(appender, control);
  append_answers(appender, control);
  appender.finish();
}

void append_taken_media(std::string& out, const CallControl& control, io::TimePoint now) {
  StateAppender appender(out, now);
  control.visit_taken([&](std::uint32_t number, std::uint32_t id, const MediaConnection& media) {
    appender.record().add_media(control.trunks().key_of(number), id, save_media(media));
  });
  appender.record().mark_exact();
  appender.finish();
}

void StateRecorder::start(CallControl& control, const SavedState& before) {
  control_ = &control;
  to_save_.resize(control.media_workers());
  const Trunks& trunks = control.trunks();
  for (auto number = trunks.next_used(1); number; number = trunks.next_used(*number + 1)) {
    note_endpoint(*number);
    const auto saved = before.endpoints.find(trunks.key_of(*number));
    if (saved == before.endpoints.end()) {
      continue;
    }
    for (const SavedConnection& one : saved->second.connections) {
      auto& connections = noted_[*number];
      const auto noted = std::ranges::find(connections, one.connection.id, &Noted::id);
      if (noted != connections.end()) {
        noted->media = one.media;
      }
    }
  }
  rewrite();
}

StateRecordWriter& StateRecorder::record() {
  if (!record_) {
    bytes_.clear();
    record_.emplace(bytes_, clock_.now());
  }
  return *record_;
}

void StateRecorder::endpoint_settled(std::uint32_t number) {
  if (settled_.empty() || settled_.back() != number) {
    settled_.push_back(number);
  }
}

void StateRecorder::answered(const mgcp::TransactionKey& key, std::string_view text,
                             io::TimePoint at) {
  if (is_on()) {
    record().add_answer(key, at, text);
  }
}

void StateRecorder::media_saved(std::uint32_t number, std::uint32_t connection_id,
                                std::string&& media) {
  const auto found = noted_.find(number);
  if (!is_on() || found == noted_.end()) {
    return;
  }
  const auto noted = std::ranges::find(found->second, connection_id, &Noted::id);
  if (noted != found->second.end()) {
    record().add_media(control_->trunks().key_of(number), connection_id, media);
    noted->media = std::move(media);
  }
}

void StateRecorder::note_endpoint(std::uint32_t number) {
  const Endpoint& endpoint = *control_->trunks().find(number);
  std::vector<Noted> now;
  for (const auto& connection : endpoint.connections) {
    if (!connection->answered) {
      continue;
    }
    Noted& noted = now.emplace_back();
    noted.id = connection->id;
    noted.local = connection->osmux ? io::SocketAddress() : connection->local;
  }
  auto& before = noted_[number];
  for (Noted& former : before) {
    const auto same = std::ranges::find(now, former.id, &Noted::id);
    if (same != now.end()) {
      same->media = std::move(former.media);
      same->packets = former.packets;
    }
    const bool stays =
        std::ranges::any_of(now, [&former](const Noted& one) { return one.local == former.local; });
    if (store_ != nullptr && !stays && former.local.port() != 0) {
      store_->let_go(former.local);
    }
  }
  for (const Noted& noted : now) {
    const bool is_new = std::ranges::none_of(
        before, [&noted](const Noted& one) { return one.local == noted.local; });
    if (store_ != nullptr && is_new && noted.local.port() != 0) {
      store_->keep(noted.local);
    }
  }
  before = std::move(now);
  if (before.empty()) {
    noted_.erase(number);
  }
}

void StateRecorder::commit() {
  if (!is_on()) {
    return;
  }
  std::ranges::sort(settled_);
  settled_.erase(std::unique(settled_.begin(), settled_.end()), settled_.end());
  for (const std::uint32_t number : settled_) {
    note_endpoint(number);
    const EndpointKey key = control_->trunks().key_of(number);
    if (noted_.contains(number)) {
      record().add_endpoint(key, *control_->trunks().find(number));
    } else {
      record().add_free(key);
    }
  }
  settled_.clear();
  if (record_) {
    record_->finish();
    record_.reset();
    if (journal_.append(bytes_)) {
      counters_.records.add();
      counters_.octets.add(bytes_.size());
      counters_.file_octets.set(journal_.size());
    } else {
      write_failed();
    }
  }
  for (const HeldAnswer& answer : std::span(held_).first(std::exchange(held_count_, 0))) {
    agents_.send(answer.agent, answer.datagram);
  }
}

void StateRecorder::send(const io::SocketAddress& agent, std::string_view datagram) noexcept {
  if (!is_on()) {
    agents_.send(agent, datagram);
    return;
  }
  if (held_count_ == held_.size()) {
    held_.emplace_back();
  }
  HeldAnswer& held = held_[held_count_++];
  held.agent = agent;
  held.datagram.assign(datagram);
}

void StateRecorder::write_failed() {
  counters_.failures.add();
  if (!std::exchange(failing_, true)) {
    io::log(io::LogLevel::error, io::LogCategory::lglobal,
            "{}: calls go on, but the newest would not outlive the gateway", journal_.failure());
  }
}

void StateRecorder::rewrite() {
  std::string state;
  append_state(state, *control_, clock_.now());
  StateAppender media(state, clock_.now());
  for (const auto& [number, connections] : noted_) {
    for (const Noted& noted : connections) {
      if (!noted.media.empty()) {
        media.record().add_media(control_->trunks().key_of(number), noted.id, noted.media);
      }
    }
  }
  media.finish();
  if (!journal_.replace(state)) {
    write_failed();
    return;
  }
  if (std::exchange(failing_, false)) {
    io::log(io::LogLevel::notice, io::LogCategory::lglobal, "the journal is whole again");
  }
  counters_.rewrites.add();
  size_after_rewrite_ = journal_.size();
  counters_.file_octets.set(journal_.size());
}

void StateRecorder::save_media() {
  const Trunks& trunks = control_->trunks();
  for (auto& [number, connections] : noted_) {
    const Endpoint& endpoint = *trunks.find(number);
    for (Noted& noted : connections) {
      const auto connection = std::ranges::find_if(
          endpoint.connections,
          [&noted](const auto& candidate) { return candidate->id == noted.id; });
      const MediaConnection* media =
          connection == endpoint.connections.end()
              ? nullptr
              : control_->media().find(endpoint.worker, (*connection)->slot);
      const std::uint64_t packets = media == nullptr ? noted.packets : packets_of(*media);
      if (packets != std::exchange(noted.packets, packets)) {
        to_save_[endpoint.worker].slots.push_back((*connection)->slot);
      }
    }
  }
}

void StateRecorder::saved(std::uint32_t worker) {
  if (is_on()) {
    to_save_[worker].is_saving = false;
    save_next(worker);
  }
}

void StateRecorder::save_next(std::uint32_t worker) {
  auto& [slots, is_saving] = to_save_[worker];
  if (is_saving || slots.empty()) {
    return;
  }
  const std::size_t left = slots.size() - std::min(slots.size(), kSavedPerPass);
  is_saving = control_->save_media(
      worker, {slots.begin() + static_cast<std::ptrdiff_t>(left), slots.end()});
  slots.resize(left);
}

void StateRecorder::on_tick() {
  if (!is_on()) {
    return;
  }
  const std::uint64_t size = journal_.size();
  if (!journal_.is_whole() ||
      (size > size_after_rewrite_ + kGrowthBytes && size > 2 * size_after_rewrite_)) {
    commit();
    rewrite();
  }
  if (std::ranges::all_of(to_save_, [](const Saving& one) { return one.slots.empty(); })) {
    save_media();
  }
  for (std::uint32_t worker = 0; worker < to_save_.size(); ++worker) {
    save_next(worker);
  }
  if (!noted_.empty()) {
    static_cast<void>(record());  // its time tells how old the calls are
  }
  control_->flush();
}

void StateRecorder::end() {
  if (!is_on()) {
    return;
  }
  commit();
  std::string state;
  append_state(state, *control_, clock_.now());
  append_taken_media(state, *control_, clock_.now());
  if (!journal_.replace(state)) {
    write_failed();
  }
  control_->listen_with(nullptr);
  control_ = nullptr;
}

void StateRecorder::discard() {
  if (!is_on()) {
    return;
  }
  commit();
  for (const auto& [number, connections] : noted_) {
    for (const Noted& noted : connections) {
      if (store_ != nullptr && noted.local.port() != 0) {
        store_->let_go(noted.local);
      }
    }
  }
  if (!journal_.replace({})) {
    write_failed();
  }
  control_->listen_with(nullptr);
  control_ = nullptr;
}

void StateRecorder::abandon() noexcept {
  if (is_on()) {
    control_->listen_with(nullptr);
    control_ = nullptr;
  }
  journal_.leave();
}

}  // namespace mgw
