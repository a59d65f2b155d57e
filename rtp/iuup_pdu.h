#pragma once
// The PDUs of the Iu user plane in support mode (3GPP TS 25.415 clause 6.6): data with and without
// a payload CRC, and control procedures with their acknowledgements. One PDU is the payload of one
// RTP packet (TS 25.414). Pure functions over bytes, any thread; a payload is at most
// kIuupPayloadBytesMax octets, an initialisation names at most kIuupRfcisMax RFCIs.

#include <tl/expected.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace rtp {

/// An RFCI is a number of 6 bits.
inline constexpr std::size_t kIuupRfcisMax = 64;
/// The number of sub-flows is a field of 3 bits.
inline constexpr std::size_t kIuupSubflowsMax = 7;
/// Octets of payload that a payload CRC protects at most; longer ones are refused.
inline constexpr std::size_t kIuupPayloadBytesMax = 1500;
/// Octets of the longer header: data with a payload CRC (type 0) and control (type 14).
inline constexpr std::size_t kIuupHeaderBytesMax = 4;
/// Octets of the largest initialisation: flags, 64 RFCIs with 7 sub-flows of 2 octets, 64 intervals
/// of 4 bits, versions, data PDU type.
inline constexpr std::size_t kIuupInitialisationBytesMax =
    kIuupHeaderBytesMax + 1 + kIuupRfcisMax * (1 + 2 * kIuupSubflowsMax) + kIuupRfcisMax / 2 + 3;
/// Octets of the largest acknowledgement: rate control's, with its number of indicators and the
/// indicators of 64 RFCIs.
inline constexpr std::size_t kIuupAcknowledgementBytesMax =
    kIuupHeaderBytesMax + 1 + kIuupRfcisMax / 8;

/// The PDU types of the support mode (clause 6.6.2).
enum class IuupPduType : std::uint8_t { data_with_crc = 0, data_without_crc = 1, control = 14 };

/// Frame quality classification, FQC (clause 6.4): everything but good is a damaged frame.
enum class IuupFrameQuality : std::uint8_t { good = 0, bad = 1, bad_due_to_radio = 2, spare = 3 };

/// What a control PDU is: a procedure of its own, or the answer to one.
enum class IuupAcknowledgement : std::uint8_t { procedure = 0, ack = 1, nack = 2 };

/// The control procedures (clause 6.5).
enum class IuupProcedure : std::uint8_t {
  initialisation = 0,
  rate_control = 1,
  time_alignment = 2,
  error_event = 3,
};

/// The error causes of NACKs and error events (clause 6.6.3). Values of 6 bits; others may come
/// from a peer and are kept as they are.
enum class IuupCause : std::uint8_t {
  header_crc_error = 0,
  payload_crc_error = 1,
  unexpected_frame_number = 2,
  frame_loss = 3,
  unknown_pdu_type = 4,
  unknown_procedure = 5,
  unknown_reserved_value = 6,
  unknown_field = 7,
  frame_too_short = 8,
  missing_fields = 9,
  unexpected_pdu_type = 16,
  unexpected_procedure = 18,
  unexpected_rfci = 19,
  unexpected_value = 20,
  initialisation_failure = 42,
  initialisation_timeout = 43,
  initialisation_repeatedly_refused = 44,
  rate_control_failure = 45,
  error_event_failure = 46,
  time_alignment_not_supported = 47,
  time_alignment_not_possible = 48,
  mode_version_not_supported = 49,
};

/// The cause as in metrics and logs, for example "frame_too_short"; "unknown" for spare values.
[[nodiscard]] std::string_view to_string(IuupCause cause) noexcept;

/// Why the payload of an RTP packet is no PDU; it is dropped and never answered.
enum class IuupMalformed : std::uint8_t {
  too_short,         ///< Less than the header of its PDU type.
  too_long,          ///< More than kIuupPayloadBytesMax octets of payload.
  unknown_pdu_type,  ///< Neither 0, 1 nor 14.
  bad_header_crc,
  bad_payload_crc,           ///< Of data of type 0 or of a control procedure.
  reserved_acknowledgement,  ///< A control PDU that is neither procedure, ACK nor NACK.
};

/// Number of enumerators of IuupMalformed, for counters by cause.
inline constexpr std::size_t kIuupMalformedCount = 6;

/// The cause as in metrics and logs, for example "bad_header_crc".
[[nodiscard]] std::string_view to_string(IuupMalformed cause) noexcept;

/// A data PDU of either type.
struct IuupData {
  std::uint8_t frame_number = 0;  ///< 0..15
  IuupFrameQuality quality = IuupFrameQuality::good;
  std::uint8_t rfci = 0;               ///< 0..63
  std::span<const std::byte> payload;  ///< The sub-flows' bits one after the other, padded.
};

/// A control PDU.
struct IuupControl {
  IuupAcknowledgement acknowledgement = IuupAcknowledgement::procedure;
  std::uint8_t frame_number = 0;  ///< 0..3; an answer repeats the number of what it answers.
  std::uint8_t mode_version = 0;  ///< 0..15, version 1 of the support mode is 0.
  /// 0..15; more than IuupProcedure names.
  IuupProcedure procedure = IuupProcedure::initialisation;
  std::span<const std::byte> payload;
};

/// What parse_iuup() finds.
using IuupPdu = std::variant<IuupData, IuupControl>;

/// CRC of the header (clause 6.6.3): x^6+x^5+x^3+x^2+x+1, in 6 bits.
[[nodiscard]] std::uint8_t iuup_header_crc(std::byte first, std::byte second) noexcept;
/// CRC of the payload (clause 6.6.3): x^10+x^9+x^5+x^4+x+1, in 10 bits.
[[nodiscard]] std::uint16_t iuup_payload_crc(std::span<const std::byte> payload) noexcept;

/// Reads one PDU. The header CRC is checked always, the payload CRC of data of type 0 and of
/// control procedures; peers don't agree on whether answers carry one. The payload is a view into
/// `pdu`.
[[nodiscard]] tl::expected<IuupPdu, IuupMalformed> parse_iuup(
    std::span<const std::byte> pdu) noexcept;

/// Writes a data PDU of `type` (not control) and returns its octets; 0 if the payload is longer
/// than kIuupPayloadBytesMax or `out` too small. The payload may lie in `out`: it is moved first.
[[nodiscard]] std::size_t write_iuup_data(IuupPduType type, const IuupData& data,
                                          std::span<std::byte> out) noexcept;
/// Writes a control PDU and returns its octets; as write_iuup_data(). A NACK carries no payload CRC
/// (all zeros), everything else does.
[[nodiscard]] std::size_t write_iuup_control(const IuupControl& control,
                                             std::span<std::byte> out) noexcept;

/// One RFCI of an initialisation: which sub-flow carries how many bits.
struct IuupRfci {
  std::uint8_t id = 0;        ///< 0..63
  std::uint8_t interval = 0;  ///< IPTI, 0..15 (the time from this PDU to the next in frames).
  std::array<std::uint16_t, kIuupSubflowsMax> subflow_bits{};  ///< 0 beyond the sub-flow count.

  /// The bits of all sub-flows.
  [[nodiscard]] std::uint32_t bits() const noexcept;
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.id, self.interval, self.subflow_bits);
  }
  friend bool operator==(const IuupRfci&, const IuupRfci&) noexcept = default;
};

/// What an initialisation agrees on (clause 6.5.2). About 1 KiB.
struct IuupConfiguration {
  std::array<IuupRfci, kIuupRfcisMax> rfcis{};  ///< The first rfci_count, in the sender's order.
  std::uint16_t versions = 0;                   ///< Supported mode versions; bit 0 is version 1.
  std::uint8_t rfci_count = 0;                  ///< 1..64
  std::uint8_t subflow_count = 0;               ///< 1..7
  bool has_intervals = false;                   ///< IPTIs were given.
  IuupPduType data_type = IuupPduType::data_with_crc;

  /// The RFCIs that were declared.
  [[nodiscard]] std::span<const IuupRfci> declared() const noexcept {
    return std::span(rfcis).first(rfci_count);
  }
  /// The first declared RFCI with this number, or nullptr.
  [[nodiscard]] const IuupRfci* find(std::uint8_t id) const noexcept;
  /// Whether both name the same RFCIs, intervals and data PDU type, whatever the versions.
  [[nodiscard]] bool same_set(const IuupConfiguration& other) const noexcept;
  friend bool operator==(const IuupConfiguration& left, const IuupConfiguration& right) noexcept {
    return left.versions == right.versions && left.same_set(right);
  }
};

/// Reads the payload of an initialisation. The error is the cause for the NACK: too short, more
/// than 64 RFCIs, no sub-flow, an unknown data PDU type, or a set that goes on in a further PDU
/// (chain indicator; 64 RFCIs fit into one). Octets behind the data PDU type are spare extension.
[[nodiscard]] tl::expected<IuupConfiguration, IuupCause> parse_iuup_initialisation(
    std::span<const std::byte> payload) noexcept;
/// Writes a whole initialisation PDU with mode version 0 and returns its octets, 0 if `out` is too
/// small; kIuupInitialisationBytesMax suffice.
[[nodiscard]] std::size_t write_iuup_initialisation(const IuupConfiguration& configuration,
                                                    std::uint8_t frame_number,
                                                    std::span<std::byte> out) noexcept;

/// The indicators of a rate control procedure (clause 6.5.3), in the order of the initialisation.
struct IuupRates {
  std::uint64_t barred = 0;  ///< Bit n: the n-th declared RFCI must not be sent.
  std::uint8_t count = 0;    ///< 1..64
  /// Names all members to `archive`, which saves or restores them (mgw/state_codec.h).
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.barred, self.count);
  }
  friend bool operator==(const IuupRates&, const IuupRates&) noexcept = default;
};

/// Reads the payload of a rate control procedure. `rfci_count` is how many RFCIs were declared:
/// indicators for fewer leave the rest allowed, indicators for more or none are unexpected. (A
/// count of 64 is written 0, for the field has 6 bits.)
[[nodiscard]] tl::expected<IuupRates, IuupCause> parse_iuup_rates(
    std::span<const std::byte> payload, std::uint8_t rfci_count) noexcept;
/// Writes that payload and returns its octets, 0 if `out` is too small.
[[nodiscard]] std::size_t write_iuup_rates(const IuupRates& rates,
                                           std::span<std::byte> out) noexcept;

/// The number under which a frame of `source`'s RFCI goes out on a leg that works with `target`:
/// the same if it means the same sub-flow sizes there or if `source` does not know it, else the
/// first with these sizes; the same if there is none.
[[nodiscard]] std::uint8_t iuup_rfci_between(const IuupConfiguration& source, std::uint8_t rfci,
                                             const IuupConfiguration& target) noexcept;
/// The RFCIs of `target` to bar so that none comes whose sub-flow sizes are barred in `source`: a
/// limit from one Iu UP leg as a wish to the other.
[[nodiscard]] std::uint64_t iuup_barred_between(const IuupConfiguration& source,
                                                const IuupRates& rates,
                                                const IuupConfiguration& target) noexcept;

/// The payload of a NACK: its cause. An empty payload says missing_fields.
[[nodiscard]] IuupCause parse_iuup_nack(std::span<const std::byte> payload) noexcept;

/// An error event (clause 6.5.5).
struct IuupErrorEvent {
  IuupCause cause = IuupCause::header_crc_error;
  std::uint8_t distance = 0;  ///< 0 = seen by the sender, 1 and 2 = forwarded; 2 bits.
};

/// Reads the payload of an error event. An empty one is too short.
[[nodiscard]] tl::expected<IuupErrorEvent, IuupCause> parse_iuup_error_event(
    std::span<const std::byte> payload) noexcept;

/// Reads the payload of a time alignment (clause 6.5.4): how much later (positive) or earlier the
/// peer wants our frames, in steps of 500 us, -80..80; 0, and whatever the field can't mean, is an
/// unexpected value.
[[nodiscard]] tl::expected<int, IuupCause> parse_iuup_time_alignment(
    std::span<const std::byte> payload) noexcept;

}  // namespace rtp
