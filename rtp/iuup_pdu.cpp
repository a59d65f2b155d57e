#include "rtp/iuup_pdu.h"

#include "rtp/byte_order.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace rtp {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kHeaderBytesWithoutCrc = 3;

// x^6+x^5+x^3+x^2+x+1 and x^10+x^9+x^5+x^4+x+1 without their highest term.
constexpr unsigned kHeaderPolynomial = 0x2f;
constexpr unsigned kPayloadPolynomial = 0x233;

/// What one octet does to a CRC of `width` bits: entry n is the CRC of octet n.
template <typename Crc, unsigned width>
constexpr std::array<Crc, 256> make_crc_table(unsigned polynomial) noexcept {
  // The register is at least 8 bits wide; a narrower CRC stands at its upper end.
  constexpr unsigned kRegister = width < 8 ? 8 : width;
  constexpr unsigned kTop = 1U << (kRegister - 1);
  const unsigned aligned = polynomial << (kRegister - width);
  std::array<Crc, 256> table{};
  for (unsigned octet = 0; octet < table.size(); ++octet) {
    unsigned crc = octet << (kRegister - 8);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & kTop) != 0 ? crc << 1U ^ aligned : crc << 1U;
    }
    table[octet] = static_cast<Crc>(crc & ((kTop << 1U) - 1U));
  }
  return table;
}

constexpr auto kHeaderCrcTable = make_crc_table<std::uint8_t, 6>(kHeaderPolynomial);
constexpr auto kPayloadCrcTable = make_crc_table<std::uint16_t, 10>(kPayloadPolynomial);

/// Writes octets 2 and 3, or octet 2 alone, of a header whose first two octets are there.
void write_checksums(std::byte* header, std::uint16_t payload_crc) noexcept {
  const unsigned header_crc = iuup_header_crc(header[0], header[1]);
  store_u16(header + 2, static_cast<std::uint16_t>(header_crc << 10U | payload_crc));
}

/// Moves the payload behind a header of `header_bytes` in `out`. Whether there was room.
bool place_payload(std::span<const std::byte> payload, std::size_t header_bytes,
                   std::span<std::byte> out) noexcept {
  if (payload.size() > kIuupPayloadBytesMax || out.size() < header_bytes + payload.size()) {
    return false;
  }
  if (!payload.empty()) {
    std::memmove(out.data() + header_bytes, payload.data(), payload.size());
  }
  return true;
}

bool payload_crc_matches(std::span<const std::byte> pdu) noexcept {
  return (load_u16(pdu.data() + 2) & 0x3ffU) == iuup_payload_crc(pdu.subspan(kHeaderBytes));
}

tl::expected<IuupPdu, IuupMalformed> read_data(std::span<const std::byte> pdu,
                                               bool with_crc) noexcept {
  if (with_crc && !payload_crc_matches(pdu)) {
    return tl::unexpected(IuupMalformed::bad_payload_crc);
  }
  IuupData data;
  data.frame_number = std::to_integer<std::uint8_t>(pdu[0] & std::byte{0x0f});
  data.quality = static_cast<IuupFrameQuality>(pdu[1] >> 6U);
  data.rfci = std::to_integer<std::uint8_t>(pdu[1] & std::byte{0x3f});
  data.payload = pdu.subspan(with_crc ? kHeaderBytes : kHeaderBytesWithoutCrc);
  return data;
}

tl::expected<IuupPdu, IuupMalformed> read_control(std::span<const std::byte> pdu) noexcept {
  const auto acknowledgement = std::to_integer<unsigned>(pdu[0]) >> 2U & 0x03U;
  if (acknowledgement > static_cast<unsigned>(IuupAcknowledgement::nack)) {
    return tl::unexpected(IuupMalformed::reserved_acknowledgement);
  }
  IuupControl control;
  control.acknowledgement = static_cast<IuupAcknowledgement>(acknowledgement);
  if (control.acknowledgement == IuupAcknowledgement::procedure && !payload_crc_matches(pdu)) {
    return tl::unexpected(IuupMalformed::bad_payload_crc);
  }
  control.frame_number = std::to_integer<std::uint8_t>(pdu[0] & std::byte{0x03});
  control.mode_version = std::to_integer<std::uint8_t>(pdu[1] >> 4U);
  control.procedure = static_cast<IuupProcedure>(pdu[1] & std::byte{0x0f});
  control.payload = pdu.subspan(kHeaderBytes);
  return control;
}

/// Takes octets from the front of a payload. Behind the end it gives zeros and remembers.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  unsigned octet() noexcept {
    if (left_.empty()) {
      overrun_ = true;
      return 0;
    }
    const auto value = std::to_integer<unsigned>(left_.front());
    left_ = left_.subspan(1);
    return value;
  }
  unsigned two_octets() noexcept {
    const unsigned high = octet();
    return high << 8U | octet();
  }
  [[nodiscard]] bool overrun() const noexcept { return overrun_; }

 private:
  std::span<const std::byte> left_;
  bool overrun_ = false;
};

/// Puts octets behind one another; what does not fit is left out and remembered.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) noexcept : out_(out) {}
  void octet(unsigned value) noexcept {
    if (size_ < out_.size()) {
      out_[size_] = static_cast<std::byte>(value & 0xffU);
    }
    ++size_;
  }
  void two_octets(unsigned value) noexcept {
    octet(value >> 8U);
    octet(value);
  }
  /// The octets written; 0 if they did not fit.
  [[nodiscard]] std::size_t size() const noexcept { return size_ <= out_.size() ? size_ : 0; }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

/// Reads the list of RFCIs up to the one marked as the last.
std::optional<IuupCause> read_rfcis(Reader& reader, IuupConfiguration& configuration) noexcept {
  for (bool last = false; !last;) {
    if (configuration.rfci_count == kIuupRfcisMax) {
      return IuupCause::unexpected_rfci;
    }
    const unsigned head = reader.octet();
    IuupRfci& rfci = configuration.rfcis[configuration.rfci_count];
    rfci.id = static_cast<std::uint8_t>(head & 0x3fU);
    last = (head & 0x80U) != 0;
    const bool two_octets = (head & 0x40U) != 0;
    for (std::size_t flow = 0; flow < configuration.subflow_count; ++flow) {
      rfci.subflow_bits[flow] =
          static_cast<std::uint16_t>(two_octets ? reader.two_octets() : reader.octet());
    }
    if (reader.overrun()) {
      return IuupCause::frame_too_short;
    }
    ++configuration.rfci_count;
  }
  return std::nullopt;
}

/// The IPTIs: 4 bits each, the first in the upper half of its octet.
void read_intervals(Reader& reader, IuupConfiguration& configuration) noexcept {
  unsigned octet = 0;
  for (std::size_t index = 0; index < configuration.rfci_count; ++index) {
    if (index % 2 == 0) {
      octet = reader.octet();
    }
    configuration.rfcis[index].interval =
        static_cast<std::uint8_t>(index % 2 == 0 ? octet >> 4U : octet & 0x0fU);
  }
}

void write_rfcis(Writer& writer, const IuupConfiguration& configuration) noexcept {
  for (const IuupRfci& rfci : configuration.declared()) {
    const auto flows = std::span(rfci.subflow_bits).first(configuration.subflow_count);
    const bool two_octets =
        std::any_of(flows.begin(), flows.end(), [](std::uint16_t bits) { return bits > 0xff; });
    const bool last = &rfci == &configuration.declared().back();
    writer.octet((last ? 0x80U : 0U) | (two_octets ? 0x40U : 0U) | (rfci.id & 0x3fU));
    for (const std::uint16_t bits : flows) {
      two_octets ? writer.two_octets(bits) : writer.octet(bits);
    }
  }
}

void write_intervals(Writer& writer, const IuupConfiguration& configuration) noexcept {
  const auto declared = configuration.declared();
  for (std::size_t index = 0; index < declared.size(); index += 2) {
    const unsigned second = index + 1 < declared.size() ? declared[index + 1].interval : 0U;
    writer.octet(static_cast<unsigned>(declared[index].interval) << 4U | (second & 0x0fU));
  }
}

}  // namespace

std::string_view to_string(IuupMalformed cause) noexcept {
  switch (cause) {
    case IuupMalformed::too_short:
      return "too_short";
    case IuupMalformed::too_long:
      return "too_long";
    case IuupMalformed::unknown_pdu_type:
      return "unknown_pdu_type";
    case IuupMalformed::bad_header_crc:
      return "bad_header_crc";
    case IuupMalformed::bad_payload_crc:
      return "bad_payload_crc";
    case IuupMalformed::reserved_acknowledgement:
      return "reserved_acknowledgement";
  }
  return "unknown";
}

std::string_view to_string(IuupCause cause) noexcept {
  switch (cause) {
    case IuupCause::header_crc_error:
      return "header_crc_error";
    case IuupCause::payload_crc_error:
      return "payload_crc_error";
    case IuupCause::unexpected_frame_number:
      return "unexpected_frame_number";
    case IuupCause::frame_loss:
      return "frame_loss";
    case IuupCause::unknown_pdu_type:
      return "unknown_pdu_type";
    case IuupCause::unknown_procedure:
      return "unknown_procedure";
    case IuupCause::unknown_reserved_value:
      return "unknown_reserved_value";
    case IuupCause::unknown_field:
      return "unknown_field";
    case IuupCause::frame_too_short:
      return "frame_too_short";
    case IuupCause::missing_fields:
      return "missing_fields";
    case IuupCause::unexpected_pdu_type:
      return "unexpected_pdu_type";
    case IuupCause::unexpected_procedure:
      return "unexpected_procedure";
    case IuupCause::unexpected_rfci:
      return "unexpected_rfci";
    case IuupCause::unexpected_value:
      return "unexpected_value";
    case IuupCause::initialisation_failure:
      return "initialisation_failure";
    case IuupCause::initialisation_timeout:
      return "initialisation_timeout";
    case IuupCause::initialisation_repeatedly_refused:
      return "initialisation_repeatedly_refused";
    case IuupCause::rate_control_failure:
      return "rate_control_failure";
    case IuupCause::error_event_failure:
      return "error_event_failure";
    case IuupCause::time_alignment_not_supported:
      return "time_alignment_not_supported";
    case IuupCause::time_alignment_not_possible:
      return "time_alignment_not_possible";
    case IuupCause::mode_version_not_supported:
      return "mode_version_not_supported";
  }
  return "unknown";
}

std::uint8_t iuup_header_crc(std::byte first, std::byte second) noexcept {
  const unsigned crc = kHeaderCrcTable[std::to_integer<unsigned>(first)];
  return static_cast<std::uint8_t>(kHeaderCrcTable[crc ^ std::to_integer<unsigned>(second)] >> 2U);
}

std::uint16_t iuup_payload_crc(std::span<const std::byte> payload) noexcept {
  unsigned crc = 0;
  for (const std::byte octet : payload) {
    crc = kPayloadCrcTable[crc >> 2U ^ std::to_integer<unsigned>(octet)] ^ (crc << 8U & 0x3ffU);
  }
  return static_cast<std::uint16_t>(crc);
}

tl::expected<IuupPdu, IuupMalformed> parse_iuup(std::span<const std::byte> pdu) noexcept {
  if (pdu.size() < kHeaderBytesWithoutCrc) {
    return tl::unexpected(IuupMalformed::too_short);
  }
  const auto type = static_cast<IuupPduType>(pdu[0] >> 4U);
  const bool known = type == IuupPduType::data_with_crc || type == IuupPduType::data_without_crc ||
                     type == IuupPduType::control;
  if (!known) {
    return tl::unexpected(IuupMalformed::unknown_pdu_type);
  }
  if (std::to_integer<unsigned>(pdu[2]) >> 2U != iuup_header_crc(pdu[0], pdu[1])) {
    return tl::unexpected(IuupMalformed::bad_header_crc);
  }
  const std::size_t header_bytes =
      type == IuupPduType::data_without_crc ? kHeaderBytesWithoutCrc : kHeaderBytes;
  if (pdu.size() < header_bytes) {
    return tl::unexpected(IuupMalformed::too_short);
  }
  if (pdu.size() - header_bytes > kIuupPayloadBytesMax) {
    return tl::unexpected(IuupMalformed::too_long);
  }
  return type == IuupPduType::control ? read_control(pdu)
                                      : read_data(pdu, type == IuupPduType::data_with_crc);
}

std::size_t write_iuup_data(IuupPduType type, const IuupData& data,
                            std::span<std::byte> out) noexcept {
  const bool with_crc = type == IuupPduType::data_with_crc;
  const std::size_t header_bytes = with_crc ? kHeaderBytes : kHeaderBytesWithoutCrc;
  const std::size_t payload_bytes = data.payload.size();
  if (!place_payload(data.payload, header_bytes, out)) {
    return 0;
  }
  out[0] = static_cast<std::byte>(static_cast<unsigned>(type) << 4U | (data.frame_number & 0x0fU));
  out[1] = static_cast<std::byte>(static_cast<unsigned>(data.quality) << 6U | (data.rfci & 0x3fU));
  if (with_crc) {
    write_checksums(out.data(), iuup_payload_crc(out.subspan(header_bytes, payload_bytes)));
  } else {
    out[2] = static_cast<std::byte>(iuup_header_crc(out[0], out[1]) << 2U);
  }
  return header_bytes + payload_bytes;
}

std::size_t write_iuup_control(const IuupControl& control, std::span<std::byte> out) noexcept {
  const std::size_t payload_bytes = control.payload.size();
  if (!place_payload(control.payload, kHeaderBytes, out)) {
    return 0;
  }
  out[0] = static_cast<std::byte>(static_cast<unsigned>(IuupPduType::control) << 4U |
                                  static_cast<unsigned>(control.acknowledgement) << 2U |
                                  (control.frame_number & 0x03U));
  out[1] = static_cast<std::byte>(static_cast<unsigned>(control.mode_version) << 4U |
                                  static_cast<unsigned>(control.procedure));
  const bool with_crc = control.acknowledgement != IuupAcknowledgement::nack;
  write_checksums(out.data(),
                  with_crc ? iuup_payload_crc(out.subspan(kHeaderBytes, payload_bytes)) : 0);
  return kHeaderBytes + payload_bytes;
}

std::uint32_t IuupRfci::bits() const noexcept {
  std::uint32_t sum = 0;
  for (const std::uint16_t bits : subflow_bits) {
    sum += bits;
  }
  return sum;
}

const IuupRfci* IuupConfiguration::find(std::uint8_t id) const noexcept {
  for (const IuupRfci& rfci : declared()) {
    if (rfci.id == id) {
      return &rfci;
    }
  }
  return nullptr;
}

bool IuupConfiguration::same_set(const IuupConfiguration& other) const noexcept {
  const auto mine = declared();
  const auto theirs = other.declared();
  return subflow_count == other.subflow_count && has_intervals == other.has_intervals &&
         data_type == other.data_type &&
         std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end());
}

tl::expected<IuupConfiguration, IuupCause> parse_iuup_initialisation(
    std::span<const std::byte> payload) noexcept {
  Reader reader(payload);
  const unsigned flags = reader.octet();
  if (reader.overrun()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  tl::expected<IuupConfiguration, IuupCause> result;
  IuupConfiguration& configuration = *result;
  configuration.has_intervals = (flags & 0x10U) != 0;
  configuration.subflow_count = static_cast<std::uint8_t>(flags >> 1U & 0x07U);
  const bool chained = (flags & 0x01U) != 0;
  if (configuration.subflow_count == 0 || chained) {
    return tl::unexpected(IuupCause::unexpected_value);
  }
  if (const auto cause = read_rfcis(reader, configuration)) {
    return tl::unexpected(*cause);
  }
  if (configuration.has_intervals) {
    read_intervals(reader, configuration);
  }
  configuration.versions = static_cast<std::uint16_t>(reader.two_octets());
  const unsigned data_type = reader.octet() >> 4U;
  if (reader.overrun()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  if (data_type > static_cast<unsigned>(IuupPduType::data_without_crc)) {
    return tl::unexpected(IuupCause::unexpected_value);
  }
  configuration.data_type = static_cast<IuupPduType>(data_type);
  return result;
}

std::size_t write_iuup_initialisation(const IuupConfiguration& configuration,
                                      std::uint8_t frame_number,
                                      std::span<std::byte> out) noexcept {
  if (out.size() < kHeaderBytes) {
    return 0;
  }
  Writer writer(out.subspan(kHeaderBytes));
  writer.octet((configuration.has_intervals ? 0x10U : 0U) |
               static_cast<unsigned>(configuration.subflow_count) << 1U);
  write_rfcis(writer, configuration);
  if (configuration.has_intervals) {
    write_intervals(writer, configuration);
  }
  writer.two_octets(configuration.versions);
  writer.octet(static_cast<unsigned>(configuration.data_type) << 4U);
  if (writer.size() == 0) {
    return 0;
  }
  IuupControl control;
  control.frame_number = frame_number;
  control.payload = out.subspan(kHeaderBytes, writer.size());
  return write_iuup_control(control, out);
}

tl::expected<IuupRates, IuupCause> parse_iuup_rates(std::span<const std::byte> payload,
                                                    std::uint8_t rfci_count) noexcept {
  Reader reader(payload);
  unsigned count = reader.octet() & 0x3fU;
  if (reader.overrun()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  if (count == 0 && rfci_count == kIuupRfcisMax) {
    count = kIuupRfcisMax;
  }
  if (count == 0 || count > rfci_count) {
    return tl::unexpected(IuupCause::unexpected_value);
  }
  IuupRates rates;
  rates.count = static_cast<std::uint8_t>(count);
  unsigned indicators = 0;
  for (unsigned index = 0; index < count; ++index) {
    indicators = index % 8 == 0 ? reader.octet() : indicators << 1U;
    if ((indicators & 0x80U) != 0) {
      rates.barred |= std::uint64_t{1} << index;
    }
  }
  if (reader.overrun()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  return rates;
}

std::size_t write_iuup_rates(const IuupRates& rates, std::span<std::byte> out) noexcept {
  Writer writer(out);
  writer.octet(rates.count & 0x3fU);
  for (unsigned index = 0; index < rates.count; index += 8) {
    unsigned indicators = 0;
    for (unsigned bit = 0; bit < 8 && index + bit < rates.count; ++bit) {
      indicators |= (rates.barred >> (index + bit) & 1U) != 0 ? 0x80U >> bit : 0U;
    }
    writer.octet(indicators);
  }
  return writer.size();
}

std::uint8_t iuup_rfci_between(const IuupConfiguration& source, std::uint8_t rfci,
                               const IuupConfiguration& target) noexcept {
  const IuupRfci* from = source.find(rfci);
  const IuupRfci* same_number = target.find(rfci);
  if (from == nullptr ||
      (same_number != nullptr && same_number->subflow_bits == from->subflow_bits)) {
    return rfci;
  }
  const auto declared = target.declared();
  const auto same_sizes =
      std::find_if(declared.begin(), declared.end(),
                   [&](const IuupRfci& other) { return other.subflow_bits == from->subflow_bits; });
  return same_sizes == declared.end() ? rfci : same_sizes->id;
}

std::uint64_t iuup_barred_between(const IuupConfiguration& source, const IuupRates& rates,
                                  const IuupConfiguration& target) noexcept {
  std::uint64_t barred = 0;
  for (std::size_t from = 0; from < source.declared().size(); ++from) {
    for (std::size_t to = 0; to < target.declared().size(); ++to) {
      const bool same = source.rfcis[from].subflow_bits == target.rfcis[to].subflow_bits;
      if (same && (rates.barred >> from & 1U) != 0) {
        barred |= std::uint64_t{1} << to;
      }
    }
  }
  return barred;
}

IuupCause parse_iuup_nack(std::span<const std::byte> payload) noexcept {
  return payload.empty() ? IuupCause::missing_fields
                         : static_cast<IuupCause>(payload.front() >> 2U);
}

tl::expected<IuupErrorEvent, IuupCause> parse_iuup_error_event(
    std::span<const std::byte> payload) noexcept {
  if (payload.empty()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  IuupErrorEvent event;
  event.distance = std::to_integer<std::uint8_t>(payload.front() >> 6U);
  event.cause = static_cast<IuupCause>(payload.front() & std::byte{0x3f});
  return event;
}

tl::expected<int, IuupCause> parse_iuup_time_alignment(
    std::span<const std::byte> payload) noexcept {
  if (payload.empty()) {
    return tl::unexpected(IuupCause::frame_too_short);
  }
  // 1..80 ask for a delay, 129..208 for an advance of (value - 128) steps.
  constexpr int kStepsMax = 80;
  constexpr int kAdvance = 128;
  const auto value = std::to_integer<int>(payload.front());
  if (value >= 1 && value <= kStepsMax) {
    return value;
  }
  if (value > kAdvance && value <= kAdvance + kStepsMax) {
    return kAdvance - value;
  }
  return tl::unexpected(IuupCause::unexpected_value);
}

}  // namespace rtp
