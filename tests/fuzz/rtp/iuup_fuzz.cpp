// Iu UP: the input is a series of PDUs to two links, one of them active, and of moments in time.
// What parses writes back the same; what a link answers or asks is well formed; AMR made of data
// parses.
#include "rtp/amr.h"
#include "rtp/iuup_amr.h"
#include "rtp/iuup_link.h"
#include "rtp/iuup_pdu.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

namespace {

using Bytes = std::vector<std::byte>;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// The same PDU with right CRCs, or else no mutation would get past them.
Bytes with_right_crcs(std::span<const std::byte> pdu) {
  Bytes result(pdu.begin(), pdu.end());
  if (result.size() < 4) {
    return result;
  }
  const unsigned header = rtp::iuup_header_crc(result[0], result[1]);
  const bool without_crc = (result[0] >> 4U) == std::byte{1};
  const unsigned payload =
      without_crc ? std::to_integer<unsigned>(result[3])
                  : rtp::iuup_payload_crc(std::span<const std::byte>(result).subspan(4));
  result[2] = static_cast<std::byte>(header << 2U | (without_crc ? 0U : payload >> 8U));
  result[3] = static_cast<std::byte>(payload & 0xffU);
  return result;
}

void check_initialisation(std::span<const std::byte> payload) {
  const auto set = rtp::parse_iuup_initialisation(payload);
  if (!set) {
    return;
  }
  std::array<std::byte, rtp::kIuupInitialisationBytesMax> out;
  const std::size_t size = rtp::write_iuup_initialisation(*set, 0, out);
  require(size > 0);
  const auto again =
      rtp::parse_iuup_initialisation(std::span<const std::byte>(out).first(size).subspan(4));
  require(again.has_value() && *again == *set);
}

void check_amr(const rtp::IuupLink& link, const rtp::IuupData& data) {
  for (const auto codec : {rtp::AmrCodec::narrowband, rtp::AmrCodec::wideband}) {
    Bytes out(2 + data.payload.size());
    const auto size = rtp::iuup_to_amr(link.configuration(), codec, data, 15, out);
    if (!size) {
      continue;
    }
    out.resize(*size);
    require(rtp::has_amr_format(out, codec, rtp::AmrFormat::octet_aligned));
    const auto back = rtp::amr_to_iuup(link.configuration(), codec, out);
    if (back) {
      require(back->data.payload.size() == data.payload.size());
      require(link.configuration().find(back->data.rfci) != nullptr);
    }
    const std::uint8_t mode =
        rtp::amr_mode_request_of(link.configuration(), codec, link.peer_rates());
    require(mode <= 8 || mode == rtp::kAmrNoModeRequest);
  }
}

void check_sent(std::span<const std::byte> pdu) {
  require(pdu.empty() || rtp::parse_iuup(pdu).has_value());
}

void feed(rtp::IuupLink& link, std::span<const std::byte> pdu, io::TimePoint now) {
  const auto received = link.on_pdu(pdu, now);
  check_sent(received.reply.bytes());
  const bool ready = link.state() == rtp::IuupState::ready;
  require(!ready || link.configuration().rfci_count > 0);
  if (received.event == rtp::IuupEvent::data) {
    require(ready);
    check_amr(link, received.data);
    Bytes out(4 + received.data.payload.size());
    const rtp::IuupPosition position{rtp::IuupPosition::Kind::iuup, received.data.frame_number, 0,
                                     160};
    const auto size = link.write_data(received.data, position, now, out);
    require(size.has_value());
    check_sent(std::span(out).first(*size));
  }
  if (received.event == rtp::IuupEvent::rates_changed) {
    link.request_rates(link.peer_rates()->barred, now);
  }
  std::array<std::byte, rtp::kIuupInitialisationBytesMax> out;
  for (int turn = 0; turn < 8 && link.next_due() <= now; ++turn) {
    check_sent(std::span<const std::byte>(out).first(link.on_timer(now, out)));
  }
  require(link.next_due() > now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Each PDU is preceded by its length and the time that passes before it, in 10 ms.
  auto left = std::as_bytes(std::span(data, size));
  rtp::IuupLink passive;
  rtp::IuupLink active;
  io::TimePoint now{std::chrono::hours(1)};
  while (left.size() >= 2) {
    const auto length = std::min(std::to_integer<std::size_t>(left[0]), left.size() - 2);
    now += std::chrono::milliseconds(10) * std::to_integer<int>(left[1]);
    const auto raw = left.subspan(2, length);
    left = left.subspan(2 + length);
    (void)rtp::parse_iuup(raw);
    const Bytes pdu = with_right_crcs(raw);
    check_initialisation(std::span<const std::byte>(pdu).subspan(
        std::min<std::size_t>(pdu.size(), rtp::kIuupHeaderBytesMax)));
    feed(passive, pdu, now);
    active.start_initialisation(passive.configuration(), now);
    feed(active, pdu, now);
  }
  return 0;
}
