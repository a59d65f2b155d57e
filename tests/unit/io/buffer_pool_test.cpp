#include "io/buffer_pool.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>

TEST_CASE("a pool hands out every slot once and is empty then") {
  io::BufferPool pool(8, 256);
  std::set<std::byte*> seen;
  {
    std::vector<io::Buffer> taken;
    for (int count = 0; count < 8; ++count) {
      taken.push_back(pool.take());
      REQUIRE(taken.back());
      CHECK(taken.back().capacity() == 256);
      CHECK(seen.insert(taken.back().data()).second);
      std::memset(taken.back().data(), count, 256);
    }
    CHECK(pool.available() == 0);
    CHECK_FALSE(pool.take());
    taken.pop_back();
    CHECK(pool.available() == 1);
    CHECK(pool.take());
  }
  CHECK(pool.available() == 8);
}

TEST_CASE("the slot that came back last is handed out first") {
  io::BufferPool pool(8, 256);
  io::Buffer first = pool.take();
  const io::Buffer second = pool.take();
  const std::uint32_t slot = first.slot();
  first = {};
  CHECK(pool.take().slot() == slot);
  CHECK(second.slot() != slot);
}

TEST_CASE("a shared slot returns when the last reference lets go") {
  io::BufferPool pool(2, 256);
  io::Buffer original = pool.take();
  CHECK(original.unique());
  {
    const io::Buffer copy = original.share();
    CHECK_FALSE(original.unique());
    CHECK_FALSE(copy.unique());
    CHECK(copy.data() == original.data());
    original = {};
    CHECK(copy.unique());
    CHECK(pool.available() == 1);
  }
  CHECK(pool.available() == 2);
}

TEST_CASE("moving a buffer moves the reference") {
  io::BufferPool pool(2, 256);
  io::Buffer first = pool.take();
  const std::uint32_t slot = first.slot();
  io::Buffer second = std::move(first);
  CHECK(second.slot() == slot);
  CHECK(second.unique());
  io::Buffer third = pool.take();
  third = std::move(second);
  CHECK(third.slot() == slot);
  CHECK(pool.available() == 1);
  io::Buffer& same = third;
  third = std::move(same);
  CHECK(third.slot() == slot);
}

TEST_CASE("a detached slot is out of the pool until it is adopted") {
  io::BufferPool pool(1, 256);
  io::Buffer buffer = pool.take();
  std::byte* const data = buffer.data();
  const std::uint32_t slot = buffer.detach();
  CHECK_FALSE(buffer);
  CHECK(pool.available() == 0);
  CHECK_FALSE(pool.take());
  CHECK(pool.slot_data(slot) == data);
  const io::Buffer again = pool.adopt(slot);
  CHECK(again.unique());
  CHECK(again.data() == data);
}

TEST_CASE("slots that were never used cost no memory") {
  const auto resident_pages = [] {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0;
    std::size_t resident = 0;
    file >> size >> resident;
    return resident;
  };
  const std::size_t before = resident_pages();
  const io::BufferPool pool(65'536, 4096);
  const std::size_t bytes =
      (resident_pages() - before) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  CHECK(bytes < std::size_t{16} << 20U);
}
