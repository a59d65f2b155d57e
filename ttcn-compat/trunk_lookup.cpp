#include "ttcn-compat/trunk_lookup.h"

#include <charconv>

namespace ttcn_compat {

std::optional<std::size_t> find_trunk(std::span<const TrunkView> trunks,
                                      std::uint32_t number) noexcept {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < trunks.size(); ++i) {
    if (!trunks[i].is_virtual && trunks[i].number == number) {
      return i;
    }
    if (trunks[i].is_virtual && number == 0) {
      found = i;
    }
  }
  return found;
}

std::optional<std::uint32_t> find_endpoint(const GatewayAccess& gateway, std::size_t trunk,
                                           std::uint32_t endpoints, std::string_view text) {
  std::uint32_t index = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, index, 16);
  if (result.ec == std::errc{} && result.ptr == end) {
    return index < endpoints ? std::optional(index) : std::nullopt;
  }
  return gateway.find_endpoint(trunk, text);
}

}  // namespace ttcn_compat
