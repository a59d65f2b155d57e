#pragma once
// Trunks and endpoints by what operators type. Values in, values out.

#include "ttcn-compat/gateway_access.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ttcn_compat {

/// The position of the E1 trunk with that number; of the virtual trunk if there is none and the
/// number is 0.
[[nodiscard]] std::optional<std::size_t> find_trunk(std::span<const TrunkView> trunks,
                                                    std::uint32_t number) noexcept;

/// An endpoint of a trunk by its index from 0 in hexadecimal, as osmo-mgw's commands name it, or by
/// its name.
[[nodiscard]] std::optional<std::uint32_t> find_endpoint(const GatewayAccess& gateway,
                                                         std::size_t trunk, std::uint32_t endpoints,
                                                         std::string_view text);

}  // namespace ttcn_compat
