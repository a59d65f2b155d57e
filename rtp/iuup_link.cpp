#include "rtp/iuup_link.h"

#include <algorithm>
#include <bit>

namespace rtp {
namespace {

/// The highest mode version that `versions`, not 0, has a bit for.
std::uint8_t highest_version(std::uint16_t versions) noexcept {
  return static_cast<std::uint8_t>(std::bit_width(versions) - 1);
}

}  // namespace

std::string_view to_string(IuupState state) noexcept {
  switch (state) {
    case IuupState::idle:
      return "idle";
    case IuupState::initialising:
      return "initialising";
    case IuupState::ready:
      return "ready";
    case IuupState::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view to_string(IuupEvent event) noexcept {
  switch (event) {
    case IuupEvent::data:
      return "data";
    case IuupEvent::data_not_ready:
      return "data_not_ready";
    case IuupEvent::malformed:
      return "malformed";
    case IuupEvent::initialised:
      return "initialised";
    case IuupEvent::initialisation_repeated:
      return "initialisation_repeated";
    case IuupEvent::initialisation_refused:
      return "initialisation_refused";
    case IuupEvent::initialisation_acknowledged:
      return "initialisation_acknowledged";
    case IuupEvent::initialisation_nacked:
      return "initialisation_nacked";
    case IuupEvent::initialisation_failed:
      return "initialisation_failed";
    case IuupEvent::rates_changed:
      return "rates_changed";
    case IuupEvent::rates_refused:
      return "rates_refused";
    case IuupEvent::rates_acknowledged:
      return "rates_acknowledged";
    case IuupEvent::rates_nacked:
      return "rates_nacked";
    case IuupEvent::time_alignment:
      return "time_alignment";
    case IuupEvent::error_event:
      return "error_event";
    case IuupEvent::unknown_control:
      return "unknown_control";
    case IuupEvent::unexpected_answer:
      return "unexpected_answer";
  }
  return "unknown";
}

void IuupReply::answer(const IuupControl& request, IuupAcknowledgement acknowledgement,
                       std::uint8_t mode_version, std::span<const std::byte> payload) noexcept {
  IuupControl answer;
  answer.acknowledgement = acknowledgement;
  answer.frame_number = request.frame_number;
  answer.mode_version = mode_version;
  answer.procedure = request.procedure;
  answer.payload = payload;
  size_ = static_cast<std::uint8_t>(write_iuup_control(answer, bytes_));
}

void IuupLink::start_initialisation(const IuupConfiguration& wanted, io::TimePoint now,
                                    std::uint16_t versions) noexcept {
  const bool same = configuration_.same_set(wanted);
  const bool alive = state_ == IuupState::ready || state_ == IuupState::initialising;
  if (wanted.rfci_count == 0 || (same && alive)) {
    return;
  }
  configuration_ = wanted;
  configuration_.versions = versions;
  state_ = IuupState::initialising;
  begin(Request::initialisation, now);
}

void IuupLink::initialise_again(io::TimePoint now) noexcept {
  if (configuration_.rfci_count == 0) {
    return;
  }
  configuration_.versions = kIuupVersions;
  state_ = IuupState::initialising;
  begin(Request::initialisation, now);
}

void IuupLink::request_rates(std::uint64_t barred, io::TimePoint now) noexcept {
  if (state_ != IuupState::ready) {
    return;
  }
  wished_barred_ = barred;
  if (request_ == Request::none && wished_barred_ != requested_barred_) {
    begin(Request::rate_control, now);
  }
}

void IuupLink::restored(bool is_ready, std::uint8_t mode_version,
                        std::uint8_t next_number) noexcept {
  constexpr std::uint8_t kModeVersionMax = 15;
  constexpr std::uint8_t kRequestNumbers = 4;
  constexpr std::uint8_t kIntervalMax = 15;
  constexpr std::uint8_t kRatesMax = kIuupRfcisMax;
  if (!is_ready || configuration_.rfci_count == 0) {
    reset();
    return;
  }
  state_ = IuupState::ready;
  mode_version_ = std::min(mode_version, kModeVersionMax);
  next_number_ = next_number % kRequestNumbers;
  for (IuupRfci& rfci : configuration_.rfcis) {
    rfci.id %= kIuupRfcisMax;
    rfci.interval = std::min(rfci.interval, kIntervalMax);
  }
  if (peer_rates_) {
    peer_rates_->count = std::clamp<std::uint8_t>(peer_rates_->count, 1, kRatesMax);
  }
}

IuupReceived IuupLink::on_pdu(std::span<const std::byte> pdu, io::TimePoint now) noexcept {
  IuupReceived received;
  const auto parsed = parse_iuup(pdu);
  if (!parsed) {
    received.malformed = parsed.error();
    return received;
  }
  if (const auto* data = std::get_if<IuupData>(&*parsed)) {
    received.data = *data;
    received.event = state_ == IuupState::ready ? IuupEvent::data : IuupEvent::data_not_ready;
    return received;
  }
  const auto* control = std::get_if<IuupControl>(&*parsed);
  return control->acknowledgement == IuupAcknowledgement::procedure ? on_control(*control)
                                                                    : on_answer(*control, now);
}

IuupReceived IuupLink::on_control(const IuupControl& control) noexcept {
  IuupReceived received;
  switch (control.procedure) {
    case IuupProcedure::initialisation:
      on_initialisation(control, received);
      return received;
    case IuupProcedure::rate_control:
      on_rate_control(control, received);
      return received;
    case IuupProcedure::time_alignment: {
      // Clause 6.5.4.2: after this cause the peer asks no more.
      received.event = IuupEvent::time_alignment;
      const auto steps = parse_iuup_time_alignment(control.payload);
      refuse(control, steps ? IuupCause::time_alignment_not_supported : steps.error(), received);
      return received;
    }
    case IuupProcedure::error_event: {
      // Clause 6.5.5: local actions only, also if it can't be read; an answer could echo for ever.
      const auto error = parse_iuup_error_event(control.payload);
      received.event = IuupEvent::error_event;
      received.cause = error ? error->cause : error.error();
      return received;
    }
  }
  received.event = IuupEvent::unknown_control;
  refuse(control, IuupCause::unknown_procedure, received);
  return received;
}

void IuupLink::on_initialisation(const IuupControl& control, IuupReceived& received) noexcept {
  received.event = IuupEvent::initialisation_refused;
  const auto offered = parse_iuup_initialisation(control.payload);
  if (!offered) {
    refuse(control, offered.error(), received);
    return;
  }
  const auto common = static_cast<std::uint16_t>(offered->versions & kIuupVersions);
  if (common == 0) {
    refuse(control, IuupCause::unexpected_value, received);
    return;
  }
  if (state_ == IuupState::ready && *offered == configuration_) {
    // Our acknowledgement was lost; limits that were agreed on since then stay.
    received.event = IuupEvent::initialisation_repeated;
  } else {
    received.event = IuupEvent::initialised;
    const bool crossing =
        request_ == Request::initialisation && sent_ > 0 && !configuration_.same_set(*offered);
    const bool first = crossing && comes_after(*offered);
    configuration_ = *offered;
    become_ready(highest_version(common));
    crossed_ = crossing ? std::optional(request_number_) : std::nullopt;
    crossed_first_ = first;
  }
  received.reply.answer(control, IuupAcknowledgement::ack, mode_version_, {});
}

void IuupLink::on_rate_control(const IuupControl& control, IuupReceived& received) noexcept {
  received.event = IuupEvent::rates_refused;
  if (state_ != IuupState::ready) {
    refuse(control, IuupCause::unexpected_procedure, received);
    return;
  }
  const auto rates = parse_iuup_rates(control.payload, configuration_.rfci_count);
  if (!rates) {
    refuse(control, rates.error(), received);
    return;
  }
  received.event = IuupEvent::rates_changed;
  peer_rates_ = *rates;
  // The acknowledgement repeats the indicators that are in force now.
  std::array<std::byte, kIuupAcknowledgementBytesMax> indicators;
  const std::size_t size = write_iuup_rates(*rates, indicators);
  received.reply.answer(control, IuupAcknowledgement::ack, mode_version_,
                        std::span(indicators).first(size));
}

IuupReceived IuupLink::on_answer(const IuupControl& control, io::TimePoint now) noexcept {
  IuupReceived received;
  const bool nack = control.acknowledgement == IuupAcknowledgement::nack;
  if (nack) {
    received.cause = parse_iuup_nack(control.payload);
  }
  const bool expected = control.frame_number == request_number_ && sent_ > 0;
  if (expected && request_ == Request::initialisation &&
      control.procedure == IuupProcedure::initialisation) {
    received.event = nack ? nacked(IuupEvent::initialisation_nacked, now) : acknowledged(control);
  } else if (expected && request_ == Request::rate_control &&
             control.procedure == IuupProcedure::rate_control) {
    received.event = nack ? nacked(IuupEvent::rates_nacked, now) : IuupEvent::rates_acknowledged;
    if (!nack) {
      end_rate_control(now);
    }
  } else {
    received.event = IuupEvent::unexpected_answer;
    if (crossed_ == control.frame_number && !nack &&
        control.procedure == IuupProcedure::initialisation) {
      crossed_.reset();
      configuration_.versions = kIuupVersions;
      begin(Request::initialisation, crossed_first_ ? now : now + kIuupInitialisationTimeout);
    }
  }
  return received;
}

bool IuupLink::comes_after(const IuupConfiguration& offered) const noexcept {
  std::array<std::byte, kIuupInitialisationBytesMax> own;
  std::array<std::byte, kIuupInitialisationBytesMax> other;
  // From behind the header, which says nothing of the set.
  const auto set_of = [](const IuupConfiguration& set, std::span<std::byte> out) {
    return out.first(write_iuup_initialisation(set, 0, out)).subspan(kIuupHeaderBytesMax);
  };
  return std::ranges::lexicographical_compare(set_of(offered, other), set_of(configuration_, own));
}

IuupEvent IuupLink::acknowledged(const IuupControl& control) noexcept {
  const bool offered = (unsigned{configuration_.versions} >> control.mode_version & 1U) != 0;
  const auto known = static_cast<std::uint16_t>(configuration_.versions & kIuupVersions);
  become_ready(offered || known == 0 ? control.mode_version : highest_version(known));
  return IuupEvent::initialisation_acknowledged;
}

IuupEvent IuupLink::nacked(IuupEvent event, io::TimePoint now) noexcept {
  if (budget_left()) {
    due_ = now;
    return event;
  }
  const bool initialisation = request_ == Request::initialisation;
  give_up(now);
  return initialisation ? IuupEvent::initialisation_failed : event;
}

std::size_t IuupLink::on_timer(io::TimePoint now, std::span<std::byte> out) noexcept {
  if (now < due_) {
    return 0;
  }
  if (!budget_left()) {
    give_up(now);
  }
  std::size_t size = 0;
  if (request_ == Request::initialisation) {
    state_ = IuupState::initialising;
    size = write_iuup_initialisation(configuration_, request_number_, out);
    due_ = now + kIuupInitialisationTimeout;
  } else if (request_ == Request::rate_control) {
    std::array<std::byte, kIuupAcknowledgementBytesMax> indicators;
    const IuupRates rates{requested_barred_, configuration_.rfci_count};
    IuupControl control;
    control.frame_number = request_number_;
    control.mode_version = mode_version_;
    control.procedure = IuupProcedure::rate_control;
    control.payload = std::span(indicators).first(write_iuup_rates(rates, indicators));
    size = write_iuup_control(control, out);
    due_ = now + kIuupRateControlTimeout;
  } else {
    return 0;
  }
  repeats_ += sent_ > 0 ? 1U : 0U;
  ++sent_;
  return size;
}

tl::expected<std::size_t, IuupSendError> IuupLink::write_data(const IuupData& data,
                                                              const IuupPosition& position,
                                                              io::TimePoint now,
                                                              std::span<std::byte> out) noexcept {
  if (state_ != IuupState::ready) {
    return tl::unexpected(IuupSendError::not_ready);
  }
  if (data.payload.size() > kIuupPayloadBytesMax ||
      out.size() < kIuupHeaderBytesMax + data.payload.size()) {
    return tl::unexpected(IuupSendError::no_room);
  }
  const IuupNumbering numbering =
      configuration_.has_intervals ? IuupNumbering::by_time : IuupNumbering::by_pdu;
  IuupData numbered = data;
  numbered.frame_number = frame_number_.next(position, numbering, now);
  return write_iuup_data(configuration_.data_type, numbered, out);
}

void IuupLink::begin(Request request, io::TimePoint now) noexcept {
  request_ = request;
  request_number_ = next_number_;
  next_number_ = static_cast<std::uint8_t>((next_number_ + 1U) & 0x03U);
  requested_barred_ = wished_barred_;
  sent_ = 0;
  due_ = now;
}

void IuupLink::become_ready(std::uint8_t mode_version) noexcept {
  crossed_.reset();
  state_ = IuupState::ready;
  mode_version_ = mode_version;
  request_ = Request::none;
  due_ = io::kNever;
  // A new set begins with everything allowed on both sides.
  peer_rates_.reset();
  wished_barred_ = 0;
  requested_barred_ = 0;
}

void IuupLink::end_rate_control(io::TimePoint now) noexcept {
  request_ = Request::none;
  due_ = io::kNever;
  if (wished_barred_ != requested_barred_) {
    begin(Request::rate_control, now);
  }
}

void IuupLink::give_up(io::TimePoint now) noexcept {
  if (request_ == Request::rate_control) {
    ++rate_control_failures_;
    end_rate_control(now);
    return;
  }
  ++initialisation_failures_;
  state_ = IuupState::failed;
  request_ = Request::none;
  due_ = io::kNever;
}

bool IuupLink::budget_left() const noexcept {
  const int repeats =
      request_ == Request::initialisation ? kIuupInitialisationRepeats : kIuupRateControlRepeats;
  return sent_ <= repeats;
}

void IuupLink::refuse(const IuupControl& control, IuupCause cause,
                      IuupReceived& received) const noexcept {
  received.cause = cause;
  const std::byte payload{static_cast<unsigned char>(static_cast<unsigned>(cause) << 2U)};
  received.reply.answer(control, IuupAcknowledgement::nack, mode_version_, std::span(&payload, 1));
}

}  // namespace rtp
