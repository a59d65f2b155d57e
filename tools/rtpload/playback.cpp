#include "tools/rtpload/playback.h"

#include "tools/rtpload/g711.h"

#include <algorithm>

namespace rtpload {
namespace {

constexpr std::uint8_t kAlawPayloadType = 8;

}  // namespace

Recording::Recording(const Codec& codec, std::span<const std::int16_t> samples) : codec_(codec) {
  const bool is_alaw = codec.payload_type == kAlawPayloadType;
  const std::size_t frames = (samples.size() + kSamplesPerPacket - 1) / kSamplesPerPacket;
  octets_.assign(frames * kSamplesPerPacket, is_alaw ? encode_alaw(0) : encode_ulaw(0));
  std::transform(samples.begin(), samples.end(), octets_.begin(),
                 is_alaw ? encode_alaw : encode_ulaw);
}

std::size_t Recording::write_packet(std::span<std::uint8_t> buffer, std::uint32_t run_seed,
                                    std::uint32_t stream, std::uint32_t index) const noexcept {
  const std::size_t bytes = rtpload::write_packet(buffer, codec_, run_seed, {stream, index, 0});
  const std::span<const std::uint8_t> payload = frame(index);
  std::copy(payload.begin(), payload.end(), buffer.begin() + kRtpHeaderBytes);
  return bytes;
}

PlaybackChecker::PlaybackChecker(const Codec& codec, const Recording& recording,
                                 std::uint32_t run_seed, std::uint32_t stream)
    : codec_(codec),
      recording_(recording),
      origin_(rtp_origin(run_seed, stream)),
      arrived_(recording.frames(), false) {}

void PlaybackChecker::on_packet(std::span<const std::uint8_t> datagram) noexcept {
  if (datagram.size() < kRtpHeaderBytes) {
    return;  // a gateway's keep-alive
  }
  const auto sequence = static_cast<std::uint16_t>((datagram[2] << 8U) | datagram[3]);
  const auto index = static_cast<std::uint16_t>(sequence - origin_.sequence);
  const std::span<const std::uint8_t> payload = datagram.subspan(kRtpHeaderBytes);
  if (datagram[0] != 0x80 || (datagram[1] & 0x7fU) != codec_.payload_type ||
      index >= arrived_.size() ||
      !std::equal(payload.begin(), payload.end(), recording_.frame(index).begin(),
                  recording_.frame(index).end())) {
    ++counters_.corrupted;
    return;
  }
  if (arrived_[index]) {
    ++counters_.duplicated;
    return;
  }
  arrived_[index] = true;
  ++counters_.received;
  counters_.reordered += index < next_expected_ ? 1U : 0U;
  next_expected_ = std::max<std::uint32_t>(next_expected_, index + 1U);
}

std::vector<std::int16_t> PlaybackChecker::samples() const {
  const auto decode = codec_.payload_type == kAlawPayloadType ? decode_alaw : decode_ulaw;
  std::vector<std::int16_t> samples(arrived_.size() * kSamplesPerPacket, 0);
  for (std::uint32_t index = 0; index < arrived_.size(); ++index) {
    if (arrived_[index]) {
      const std::span<const std::uint8_t> frame = recording_.frame(index);
      std::transform(frame.begin(), frame.end(),
                     samples.begin() + std::ptrdiff_t{index} * kSamplesPerPacket, decode);
    }
  }
  return samples;
}

}  // namespace rtpload
