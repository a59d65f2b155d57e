// Records of the journal and of a take-over: any content that has a right checksum, restored media
// that packets go on from.

#include "mgw/saved_state.h"
#include "mgw/state_codec.h"
#include "rtp/rtp_header.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(value >> shift & 0xffU);
    }
    return bytes;
  };
  std::string file = mgw::state_header({});
  file += number(static_cast<std::uint32_t>(content.size()));
  file += number(mgw::crc32c(content));
  file += content;
  const mgw::Replay replay = mgw::replay_state(file, {});
  for (const auto& [key, endpoint] : replay.state.endpoints) {
    for (const mgw::SavedConnection& connection : endpoint.connections) {
      static_cast<void>(connection.connection.remote_rtcp());
    }
  }
  mgw::MediaConnection media;
  if (!mgw::load_media(content, size % 2 == 0, media)) {
    return 0;
  }
  rtp::RtpHeader header;
  header.ssrc = 1;
  for (int i = 0; i < 8; ++i) {
    const io::TimePoint now(std::chrono::milliseconds(20 * i));
    header.sequence = static_cast<std::uint16_t>(header.sequence + 1000 * i);
    header.ssrc += i % 3 == 0 ? 1U : 0U;
    media.statistics.on_packet(header, now, 160);
    static_cast<void>(media.timeline.next(header, now, {true, true}, {}));
    static_cast<void>(media.statistics.current().make_report_block(now));
  }
  static_cast<void>(media.counters());
  static_cast<void>(media.statistics.streams());
  static_cast<void>(mgw::save_media(media));
  return 0;
}
