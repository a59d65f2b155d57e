#include "mgw/state_codec.h"

namespace mgw {

namespace {

constexpr unsigned kBitsPerOctet = 7;
constexpr std::uint64_t kMoreFollows = 0x80;
constexpr unsigned kNumberBitsMax = 64;

}  // namespace

void StateWriter::number(std::uint64_t value) {
  while (value >= kMoreFollows) {
    out_ += static_cast<char>((value & (kMoreFollows - 1)) | kMoreFollows);
    value >>= kBitsPerOctet;
  }
  out_ += static_cast<char>(value);
}

void StateWriter::put(const io::SocketAddress& address) {
  // As the kernel has it: the bytes stay on this machine, and scopes of IPv6 are in them.
  bytes({reinterpret_cast<const char*>(address.kernel_address()), address.kernel_size()});
}

std::uint64_t StateReader::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kNumberBitsMax; shift += kBitsPerOctet) {
    const std::string_view octet = take(1);
    if (octet.empty()) {
      return 0;
    }
    const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(octet.front()));
    value |= (bits & (kMoreFollows - 1)) << shift;
    if ((bits & kMoreFollows) == 0) {
      return value;
    }
  }
  fail();
  return 0;
}

void StateReader::get(io::SocketAddress& address) {
  if (!wants()) {
    return;
  }
  const std::string_view saved = bytes();
  if (!ok_) {
    return;
  }
  address = io::SocketAddress::from_kernel(saved.data(), saved.size());
  if (address.kernel_size() != saved.size()) {
    fail();
  }
}

std::string_view StateReader::take(std::uint64_t size) noexcept {
  if (size > left_.size()) {
    fail();
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

std::uint64_t StateReader::take_block_length() noexcept {
  const std::string_view octets = take(StateWriter::kBlockLengthBytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(octets[i])} << (8 * i);
  }
  return length;
}

}  // namespace mgw
