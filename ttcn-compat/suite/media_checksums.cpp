#include <Media.hh>

namespace Media {
namespace {

// The remainder of a division by a polynomial without its highest term, highest bit first.
unsigned remainder(const OCTETSTRING& data, unsigned width, unsigned polynomial) {
  const auto* octets = static_cast<const unsigned char*>(data);
  unsigned remainder = 0;
  for (int at = 0; at < data.lengthof() * 8; ++at) {
    const unsigned bit = octets[at / 8] >> (7 - at % 8) & 1U;
    const unsigned top = (remainder >> (width - 1) & 1U) ^ bit;
    remainder = (remainder << 1U & ((1U << width) - 1)) ^ (top != 0 ? polynomial : 0);
  }
  return remainder;
}

}  // namespace

INTEGER crc6(const OCTETSTRING& data) {
  return static_cast<int>(remainder(data, 6, 0x2F));
}

INTEGER crc10(const OCTETSTRING& data) {
  return static_cast<int>(remainder(data, 10, 0x233));
}

}  // namespace Media
