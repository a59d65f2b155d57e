// What is special to the poll backend; everything else is in tests/contract.

#include "io/poll_backend.h"

#include <doctest/doctest.h>
#include <seccomp.h>

#include <cerrno>
#include <initializer_list>
#include <thread>

using namespace std::chrono_literals;

TEST_CASE("without epoll_pwait2 a pass still ends at its deadline and wakes are seen") {
  for (const int answer : {ENOSYS, EPERM}) {
    CAPTURE(answer);
    // A seccomp filter holds for the thread that loads it and ends with it.
    std::thread([answer] {
      scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
      CHECK(::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(answer)),
                               SCMP_SYS(epoll_pwait2), 0) == 0);
      CHECK(::seccomp_load(filter) == 0);
      ::seccomp_release(filter);
      io::BufferPool pool(16, 2048);
      io::PollBackend backend(pool, {});
      const io::MonotonicClock clock;
      for (const io::Duration wait : {io::Duration(1500us), io::Duration(0)}) {
        const io::TimePoint deadline = clock.now() + wait;
        const auto calls_before = backend.counters().system_calls.value();
        CHECK_FALSE(backend.pass(deadline).woken);
        CHECK(clock.now() >= deadline);
        CHECK(backend.counters().system_calls.value() - calls_before <= 2);
      }
      backend.wake();
      CHECK(backend.pass(io::kNever).woken);
    }).join();
  }
}

TEST_CASE("a small pool keeps most of its slots for others") {
  io::BufferPool pool(16, 2048);
  io::PollBackend backend(pool, {});
  static_cast<void>(backend.pass(io::TimePoint{}));
  CHECK(pool.available() >= 12);
}
