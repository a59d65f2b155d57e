#include "mgw/progress_watch.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

namespace mgw {

TEST_CASE("a worker that makes no pass between two looks is stuck, however busy the others are") {
  using Passes = std::array<std::uint64_t, 3>;
  ProgressWatch watch;
  CHECK_FALSE(watch.stuck_worker(Passes{0, 0, 0}));
  CHECK_FALSE(watch.stuck_worker(Passes{1, 1, 1}));
  CHECK(watch.stuck_worker(Passes{9, 1, 2}) == 1U);
  CHECK(watch.stuck_worker(Passes{10, 1, 2}) == 1U);
  CHECK(watch.stuck_worker(Passes{10, 2, 3}) == 0U);
  CHECK_FALSE(watch.stuck_worker(Passes{11, 3, 4}));
}

}  // namespace mgw
