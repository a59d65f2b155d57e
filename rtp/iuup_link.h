#pragma once
// One leg that speaks the Iu user plane in support mode (3GPP TS 25.415): initialisation in both
// roles, rate control in both directions, the answers to time alignment and error events, and the
// data between them. Bytes and the time come in, bytes go out; the state belongs to one connection,
// on its worker's thread. About 1.2 KiB, copyable; nothing in it grows.

#include "io/time.h"
#include "rtp/iuup_frame_number.h"
#include "rtp/iuup_pdu.h"

#include <tl/expected.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace rtp {

/// How long an initialisation waits for its answer (T_INIT), and how often it is repeated (N_INIT).
inline constexpr io::Duration kIuupInitialisationTimeout = std::chrono::seconds(1);
inline constexpr int kIuupInitialisationRepeats = 3;
/// The same for rate control (T_RC, N_RC).
inline constexpr io::Duration kIuupRateControlTimeout = std::chrono::milliseconds(500);
inline constexpr int kIuupRateControlRepeats = 1;
/// The mode versions that we speak: 1 and 2.
inline constexpr std::uint16_t kIuupVersions = 0x0003;

/// What a link can do.
enum class IuupState : std::uint8_t {
  idle,          ///< No initialisation yet; data is refused.
  initialising,  ///< Ours was sent or is due, the answer is missing; data is refused.
  ready,         ///< Data may pass.
  failed,        ///< Nobody acknowledged ours. The peer's, or a new one of ours, helps.
};

/// The state as in logs, for example "ready".
[[nodiscard]] std::string_view to_string(IuupState state) noexcept;

/// What a received PDU was.
enum class IuupEvent : std::uint8_t {
  data,                     ///< IuupReceived::data is to be forwarded.
  data_not_ready,           ///< Data before the initialisation, or while one runs: drop it.
  malformed,                ///< IuupReceived::malformed says why.
  initialised,              ///< The peer's initialisation was accepted; configuration() is new.
  initialisation_repeated,  ///< The peer sent the same once more; nothing has changed.
  initialisation_refused,   ///< The peer's is unusable: IuupReceived::cause; nothing has changed.
  initialisation_acknowledged,  ///< Ours was accepted.
  initialisation_nacked,        ///< Ours was refused: IuupReceived::cause. A repeat is due now.
  initialisation_failed,        ///< Ours was refused for the last time.
  rates_changed,                ///< The peer limits what we may send: peer_rates().
  rates_refused,                ///< The peer's rate control is unusable: IuupReceived::cause.
  rates_acknowledged,           ///< Our rate control was accepted.
  rates_nacked,     ///< Our rate control was refused: IuupReceived::cause. A repeat may be due now.
  time_alignment,   ///< Refused, as a relay can't move its frames in time.
  error_event,      ///< IuupReceived::cause is what the peer saw.
  unknown_control,  ///< A procedure that nobody knows; refused.
  unexpected_answer,  ///< To nothing that we have asked.
};

/// Number of enumerators of IuupEvent, for counters by event.
inline constexpr std::size_t kIuupEventCount = 17;

/// The event as in metrics and logs, for example "rates_changed".
[[nodiscard]] std::string_view to_string(IuupEvent event) noexcept;

/// An answer that is to be sent back to where the PDU came from, at once.
class IuupReply {
 public:
  /// The PDU; empty if there is nothing to send.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return std::span(bytes_).first(size_);
  }
  /// Makes it an answer to `request`.
  void answer(const IuupControl& request, IuupAcknowledgement acknowledgement,
              std::uint8_t mode_version, std::span<const std::byte> payload) noexcept;

 private:
  std::array<std::byte, kIuupAcknowledgementBytesMax> bytes_{};
  std::uint8_t size_ = 0;
};

/// What on_pdu() has to say.
struct IuupReceived {
  IuupEvent event = IuupEvent::malformed;
  IuupMalformed malformed = IuupMalformed::too_short;  ///< Of event malformed.
  IuupCause cause = IuupCause::header_crc_error;       ///< Of refusals, NACKs and error events.
  IuupData data;                                       ///< Of event data; a view into the PDU.
  IuupReply reply;
};

/// Why data can't be sent.
enum class IuupSendError : std::uint8_t {
  not_ready,  ///< The link is not initialised.
  no_room,    ///< The payload is over kIuupPayloadBytesMax or the buffer too small.
};

/// The state of one leg.
///
/// Where both sides ask at the same time for different sets, the peer's is taken. If the peer then
/// acknowledges ours too, it may work with that one, so its own is asked for once more: of two
/// links that do so the one whose set comes later in order does it at once, the other one after the
/// time of an initialisation unless it was asked meanwhile.
///
/// Whoever owns it calls on_pdu() for each RTP payload received and sends the reply, if any, to
/// where that packet came from (the peer's address may not be known yet). After each call that can
/// start something (on_pdu, start_initialisation, request_rates), and when next_due() has come, it
/// calls on_timer() until that gives 0, and sends what it gives to the peer.
class IuupLink {
 public:
  [[nodiscard]] IuupState state() const noexcept { return state_; }
  /// What was agreed on, or in state initialising what we have asked for. Empty in state idle.
  [[nodiscard]] const IuupConfiguration& configuration() const noexcept { return configuration_; }
  /// The mode version in use: 0 is version 1, 1 is version 2.
  [[nodiscard]] std::uint8_t mode_version() const noexcept { return mode_version_; }
  /// Which RFCIs the peer wants us not to send; none as long as it has never said so.
  [[nodiscard]] const std::optional<IuupRates>& peer_rates() const noexcept { return peer_rates_; }
  /// Our initialisations that nobody acknowledged, since the link was made.
  [[nodiscard]] std::uint32_t initialisation_failures() const noexcept {
    return initialisation_failures_;
  }
  /// Our rate controls that nobody acknowledged, since the link was made.
  [[nodiscard]] std::uint32_t rate_control_failures() const noexcept {
    return rate_control_failures_;
  }
  /// PDUs that were sent once more, since the link was made.
  [[nodiscard]] std::uint32_t repeats() const noexcept { return repeats_; }

  /// Takes the active role: asks the peer to work with the RFCIs, intervals and data PDU type of
  /// `wanted` (the other leg's), offering `versions`. The PDU comes from on_timer(). Does nothing
  /// if the link works with that set already or is just asking for it, so that it may be called
  /// whenever the other leg has been initialised. An empty set does nothing.
  void start_initialisation(const IuupConfiguration& wanted, io::TimePoint now,
                            std::uint16_t versions = kIuupVersions) noexcept;
  /// Asks once more for the set in use, for another peer has taken the place of the one that agreed
  /// to it. Does nothing without a set.
  void initialise_again(io::TimePoint now) noexcept;
  /// Tells the peer which RFCIs it must no longer send (clause 6.5.3), bit n for the n-th declared
  /// one; 0 allows all. The PDU comes from on_timer(). Does nothing unless the link is ready and
  /// `barred` differs from what was said last. At most one request is under way; the last wish
  /// follows it. A wish that nobody acknowledges is not repeated for ever: a different one is.
  void request_rates(std::uint64_t barred, io::TimePoint now) noexcept;

  /// Takes what one RTP packet carried. Constant work for data, linear in the PDU otherwise.
  [[nodiscard]] IuupReceived on_pdu(std::span<const std::byte> pdu, io::TimePoint now) noexcept;
  /// When on_timer() wants to be called; kNever if nothing is under way.
  [[nodiscard]] io::TimePoint next_due() const noexcept { return due_; }
  /// Writes the PDU that is due into `out`, which must hold kIuupInitialisationBytesMax, and
  /// returns its octets; 0 if none is (state() then tells whether an initialisation has just
  /// failed).
  [[nodiscard]] std::size_t on_timer(io::TimePoint now, std::span<std::byte> out) noexcept;

  /// Writes one frame as a data PDU and returns its octets. The frame number is made here, out of
  /// `position`; that of `data` is ignored. The payload may lie in `out`.
  [[nodiscard]] tl::expected<std::size_t, IuupSendError> write_data(
      const IuupData& data, const IuupPosition& position, io::TimePoint now,
      std::span<std::byte> out) noexcept;
  /// The next frame comes from another source (SSRC or leg) than the last.
  void source_changed() noexcept { frame_number_.source_changed(); }

  /// Forgets everything, counters included.
  void reset() noexcept { *this = IuupLink{}; }
  /// Names what an initialised link is to `archive` (mgw/state_codec.h). A procedure that is under
  /// way is not in it: restored, the link asks anew where it has to.
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    bool is_ready = self.state_ == IuupState::ready;
    std::uint8_t numbers = self.next_number_;
    std::uint8_t mode_version = self.mode_version_;
    archive(is_ready);
    visit_configuration(self.configuration_, archive);
    archive(self.frame_number_, self.wished_barred_, self.requested_barred_, self.peer_rates_,
            self.initialisation_failures_, self.rate_control_failures_, self.repeats_, mode_version,
            numbers);
    self.restored(is_ready, mode_version, numbers);
  }

 private:
  template <typename Self, typename Archive>
  static void visit_configuration(Self& configuration, Archive& archive) {
    archive(configuration.versions, configuration.rfci_count, configuration.subflow_count,
            configuration.has_intervals);
    bool has_crc = configuration.data_type == IuupPduType::data_with_crc;
    archive(has_crc);
    if constexpr (!std::is_const_v<Self>) {
      configuration.data_type =
          has_crc ? IuupPduType::data_with_crc : IuupPduType::data_without_crc;
      configuration.rfci_count = std::min<std::uint8_t>(configuration.rfci_count, kIuupRfcisMax);
      configuration.subflow_count =
          std::min<std::uint8_t>(configuration.subflow_count, kIuupSubflowsMax);
    }
    for (std::size_t i = 0; i < configuration.rfci_count; ++i) {
      archive(configuration.rfcis[i]);
    }
  }
  void restored(bool is_ready, std::uint8_t mode_version, std::uint8_t next_number) noexcept;
  void restored(bool /*is_ready*/, std::uint8_t /*mode_version*/,
                std::uint8_t /*next_number*/) const noexcept {}

  /// What we have asked the peer; one thing at a time.
  enum class Request : std::uint8_t { none, initialisation, rate_control };

  [[nodiscard]] IuupReceived on_control(const IuupControl& control) noexcept;
  void on_initialisation(const IuupControl& control, IuupReceived& received) noexcept;
  void on_rate_control(const IuupControl& control, IuupReceived& received) noexcept;
  [[nodiscard]] IuupReceived on_answer(const IuupControl& control, io::TimePoint now) noexcept;
  [[nodiscard]] IuupEvent acknowledged(const IuupControl& control) noexcept;
  [[nodiscard]] IuupEvent nacked(IuupEvent event, io::TimePoint now) noexcept;
  void begin(Request request, io::TimePoint now) noexcept;
  /// Whether the initialisation in the making is ordered behind `offered`.
  [[nodiscard]] bool comes_after(const IuupConfiguration& offered) const noexcept;
  void become_ready(std::uint8_t mode_version) noexcept;
  void end_rate_control(io::TimePoint now) noexcept;
  void give_up(io::TimePoint now) noexcept;
  /// Whether the current request may be sent once more.
  [[nodiscard]] bool budget_left() const noexcept;
  void refuse(const IuupControl& control, IuupCause cause, IuupReceived& received) const noexcept;

  IuupConfiguration configuration_;
  IuupFrameNumber frame_number_;
  io::TimePoint due_ = io::kNever;
  std::uint64_t wished_barred_ = 0;     ///< What request_rates() was last asked for.
  std::uint64_t requested_barred_ = 0;  ///< What the peer was last told.
  std::optional<IuupRates> peer_rates_;
  std::uint32_t initialisation_failures_ = 0;
  std::uint32_t rate_control_failures_ = 0;
  std::uint32_t repeats_ = 0;
  std::uint8_t mode_version_ = 0;
  std::uint8_t next_number_ = 0;     ///< Frame number of the next request, 0..3.
  std::uint8_t request_number_ = 0;  ///< That of the current one; a repeat has it too.
  /// Frame number of our initialisation, during which the peer's was taken.
  std::optional<std::uint8_t> crossed_;
  bool crossed_first_ = false;  ///< It is we who end the doubt at once.
  std::uint8_t sent_ = 0;       ///< How often the current request was sent.
  IuupState state_ = IuupState::idle;
  Request request_ = Request::none;
};

}  // namespace rtp
