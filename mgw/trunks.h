#pragma once
// All endpoints of the gateway, trunk by trunk.

#include "mgcp/endpoint_name.h"
#include "mgw/endpoint.h"
#include "mgw/free_set.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// Endpoints of one E1 trunk: 15 sub-slots (I.460) in each of the time slots 1 to 31.
inline constexpr std::uint32_t kE1EndpointsPerTimeslot = 15;
inline constexpr std::uint32_t kE1EndpointsPerTrunk = 31 * kE1EndpointsPerTimeslot;

/// Endpoints numbered through: first those of the virtual trunk, rtpbridge/1 … rtpbridge/N in
/// hexadecimal, with the number of their name, then those of each E1 trunk by time slot and
/// sub-slot. Control thread only.
class Trunks {
 public:
  /// Endpoints first … last.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  /// `virtual_endpoints` is at least 1; `e1_trunks` are the numbers of the E1 trunks that there
  /// are, each once.
  explicit Trunks(std::uint32_t virtual_endpoints, std::span<const std::uint8_t> e1_trunks = {});

  /// The endpoints that a name stands for: one, or all of its trunk; empty if there are none. The
  /// domain is not looked at.
  [[nodiscard]] std::optional<Range> resolve(const mgcp::EndpointName& name) const noexcept;
  /// The name of an endpoint, in lower case.
  [[nodiscard]] std::string name_of(std::uint32_t number, std::string_view domain) const;
  /// The sub-slot of an endpoint, empty if it is none of an E1 trunk's.
  [[nodiscard]] std::optional<mgcp::E1Subslot> subslot_of(std::uint32_t number) const noexcept;
  /// The position of an endpoint's E1 trunk in the list that the constructor got, if it is on one.
  [[nodiscard]] std::optional<std::size_t> e1_trunk_of(std::uint32_t number) const noexcept;

  /// Where an endpoint is, whatever the configuration.
  [[nodiscard]] EndpointKey key_of(std::uint32_t number) const noexcept;
  /// The endpoint that is there; empty if there is none.
  [[nodiscard]] std::optional<std::uint32_t> number_of(const EndpointKey& key) const noexcept;

  /// Null if there is none of that number.
  [[nodiscard]] Endpoint* find(std::uint32_t number) noexcept;
  [[nodiscard]] const Endpoint* find(std::uint32_t number) const noexcept;
  /// The lowest-numbered free endpoint of the virtual trunk.
  [[nodiscard]] std::optional<std::uint32_t> lowest_free() const noexcept;
  /// The lowest-numbered free endpoint of a range that shares no bit with one in use.
  [[nodiscard]] std::optional<std::uint32_t> lowest_free_subslot(Range range) const noexcept;
  /// Whether another endpoint in use shares a bit with this one of an E1 trunk.
  [[nodiscard]] bool overlaps_used(std::uint32_t number) const noexcept;
  /// Marks an endpoint as in use by `call_id`.
  void claim(std::uint32_t number, std::string call_id, std::uint32_t worker);
  /// Makes an endpoint without connections free.
  void release(std::uint32_t number);
  /// The next endpoint in use from `number` on, for walks; empty after the last.
  [[nodiscard]] std::optional<std::uint32_t> next_used(std::uint32_t number) const noexcept;

  /// Endpoints of the virtual trunk, and those of them in use.
  [[nodiscard]] std::uint32_t virtual_total() const noexcept { return virtual_total_; }
  [[nodiscard]] std::uint32_t virtual_used() const noexcept { return virtual_used_; }
  /// Endpoints in use on the E1 trunk at `position` of the list that the constructor got.
  [[nodiscard]] std::uint32_t e1_used(std::size_t position) const noexcept {
    return e1_trunks_[position].used;
  }

 private:
  struct E1Trunk {
    std::uint8_t number = 0;
    std::uint32_t used = 0;
  };

  [[nodiscard]] std::uint32_t first_of(std::size_t e1_trunk) const noexcept {
    return virtual_total_ + 1 + static_cast<std::uint32_t>(e1_trunk) * kE1EndpointsPerTrunk;
  }
  [[nodiscard]] std::uint32_t& used_counter(std::uint32_t number) noexcept;

  std::uint32_t virtual_total_;
  std::uint32_t virtual_used_ = 0;
  std::vector<E1Trunk> e1_trunks_;
  std::vector<Endpoint> endpoints_;
  FreeSet free_;  // of the virtual trunk
  FreeSet used_;
};

}  // namespace mgw
