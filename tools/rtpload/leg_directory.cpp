#include "tools/rtpload/leg_directory.h"

namespace rtpload {

bool LegDirectory::add(const io::SocketAddress& source, std::uint32_t leg) {
  Entry& entry = by_port_[source.port()];
  if (entry.leg == kUnknown) {
    entry = {source, leg};
    return true;
  }
  return !(entry.source == source) && others_.emplace(source, leg).second;
}

std::uint32_t LegDirectory::find(const io::SocketAddress& source) const noexcept {
  const Entry& entry = by_port_[source.port()];
  if (entry.leg == kUnknown || entry.source == source) {
    return entry.leg;
  }
  const auto found = others_.find(source);
  return found == others_.end() ? kUnknown : found->second;
}

}  // namespace rtpload
