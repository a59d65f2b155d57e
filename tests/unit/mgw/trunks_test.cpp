#include "mgw/trunks.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>

namespace {

std::optional<mgw::Trunks::Range> resolve(const mgw::Trunks& trunks, std::string_view text) {
  const auto name = mgcp::parse_endpoint_name(text);
  REQUIRE(name);
  return trunks.resolve(*name);
}

}  // namespace

TEST_CASE("endpoints are found by number, the lowest free one first, the used ones in order") {
  mgw::Trunks trunk(300);
  CHECK(trunk.find(0) == nullptr);
  CHECK(trunk.find(301) == nullptr);
  CHECK(trunk.lowest_free() == 1U);
  CHECK_FALSE(trunk.next_used(1));
  for (std::uint32_t number = 1; number <= 300; ++number) {
    trunk.claim(number, "c", 0);
  }
  CHECK_FALSE(trunk.lowest_free());
  trunk.find(200)->ignore_call_id = true;
  trunk.release(200);
  trunk.release(17);
  CHECK(trunk.lowest_free() == 17U);
  CHECK(trunk.virtual_used() == 298);
  CHECK(trunk.next_used(17) == 18U);
  CHECK(trunk.next_used(200) == 201U);
  CHECK_FALSE(trunk.next_used(301));
  CHECK(trunk.find(200)->call_id.empty());
  CHECK_FALSE(trunk.find(200)->ignore_call_id);
}

TEST_CASE("every endpoint of every trunk has a name that leads back to it, and no two share one") {
  constexpr std::array<std::uint8_t, 2> kE1Trunks = {7, 0};
  const mgw::Trunks trunks(20, kE1Trunks);
  std::set<std::string> names;
  for (std::uint32_t number = 1; number <= 20 + 2 * mgw::kE1EndpointsPerTrunk; ++number) {
    const std::string name = trunks.name_of(number, "mgw");
    CHECK(names.insert(name).second);
    CHECK(resolve(trunks, name) == mgw::Trunks::Range{number, number});
    CHECK(trunks.subslot_of(number).has_value() == (number > 20));
  }
  CHECK(names.contains("rtpbridge/14@mgw"));
  CHECK(names.contains("ds/e1-7/s-31/su8-7@mgw"));
  CHECK(names.contains("ds/e1-0/s-1/su64-0@mgw"));
}

TEST_CASE("a wildcard stands for the endpoints of the trunk that it names and no others") {
  constexpr std::array<std::uint8_t, 2> kE1Trunks = {1, 3};
  const mgw::Trunks trunks(20, kE1Trunks);
  CHECK(resolve(trunks, "rtpbridge/*@mgw") == mgw::Trunks::Range{1, 20});
  CHECK(resolve(trunks, "ds/e1-1/*@mgw") == mgw::Trunks::Range{21, 485});
  CHECK(resolve(trunks, "ds/e1-3/$@mgw") == mgw::Trunks::Range{486, 950});
  CHECK_FALSE(resolve(trunks, "ds/e1-2/*@mgw"));
  CHECK_FALSE(resolve(trunks, "ds/e1-2/s-1/su16-0@mgw"));
  CHECK_FALSE(resolve(trunks, "rtpbridge/15@mgw"));
  CHECK_FALSE(resolve(trunks, "null@mgw"));
}

TEST_CASE(
    "an E1 endpoint in use counts for its own trunk and is never handed out as a virtual one") {
  constexpr std::array<std::uint8_t, 1> kE1Trunks = {1};
  mgw::Trunks trunks(2, kE1Trunks);
  trunks.claim(3, "c", 0);
  CHECK(trunks.e1_used(0) == 1);
  CHECK(trunks.virtual_used() == 0);
  trunks.claim(1, "c", 0);
  trunks.claim(2, "c", 0);
  CHECK_FALSE(trunks.lowest_free());
  CHECK(trunks.next_used(3) == 3U);
  CHECK_FALSE(trunks.next_used(4));
  trunks.release(3);
  CHECK(trunks.e1_used(0) == 0);
  CHECK_FALSE(trunks.lowest_free());
}

TEST_CASE("sub-slots overlap where they share bits of a time slot, and nowhere else") {
  constexpr std::array<std::uint8_t, 2> kE1Trunks = {1, 2};
  mgw::Trunks trunks(1, kE1Trunks);
  const auto number = [&trunks](const char* name) { return resolve(trunks, name)->first; };
  trunks.claim(number("ds/e1-1/s-4/su16-2@mgw"), "c", 0);
  for (const char* name : {"64-0", "32-0", "8-2", "8-3"}) {
    CAPTURE(name);
    CHECK(trunks.overlaps_used(number(("ds/e1-1/s-4/su" + std::string(name) + "@mgw").c_str())));
    CHECK_FALSE(
        trunks.overlaps_used(number(("ds/e1-1/s-5/su" + std::string(name) + "@mgw").c_str())));
    CHECK_FALSE(
        trunks.overlaps_used(number(("ds/e1-2/s-4/su" + std::string(name) + "@mgw").c_str())));
  }
  for (const char* name : {"32-4", "16-0", "16-2", "16-4", "8-1", "8-4"}) {
    CAPTURE(name);
    CHECK_FALSE(
        trunks.overlaps_used(number(("ds/e1-1/s-4/su" + std::string(name) + "@mgw").c_str())));
  }
  const auto range = *resolve(trunks, "ds/e1-1/$@mgw");
  CHECK(trunks.lowest_free_subslot(range) == number("ds/e1-1/s-1/su64-0@mgw"));
}
