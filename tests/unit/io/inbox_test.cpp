#include "io/inbox.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>

TEST_CASE("an inbox keeps the order and refuses what does not fit") {
  io::Inbox<std::unique_ptr<int>> inbox(3);
  CHECK(inbox.capacity() == 4);
  CHECK(inbox.empty());
  for (int number = 0; number < 4; ++number) {
    CHECK(inbox.push(std::make_unique<int>(number)));
  }
  auto refused = std::make_unique<int>(4);
  CHECK_FALSE(inbox.push(std::move(refused)));
  REQUIRE(refused);
  CHECK(*refused == 4);
  std::unique_ptr<int> value;
  for (int number = 0; number < 4; ++number) {
    REQUIRE(inbox.pop(value));
    CHECK(*value == number);
  }
  CHECK_FALSE(inbox.pop(value));
  CHECK(inbox.push(std::move(refused)));
}

TEST_CASE("a popped value leaves nothing of itself behind in the inbox") {
  io::Inbox<std::shared_ptr<int>> inbox(4);
  auto shared = std::make_shared<int>(1);
  CHECK(inbox.push(std::shared_ptr<int>(shared)));
  std::shared_ptr<int> value;
  REQUIRE(inbox.pop(value));
  value.reset();
  CHECK(shared.use_count() == 1);
}

TEST_CASE("a closed inbox takes nothing more and can be emptied") {
  io::Inbox<int> inbox(4);
  CHECK(inbox.push(1));
  inbox.close();
  CHECK_FALSE(inbox.push(2));
  int value = 0;
  CHECK(inbox.pop(value));
  CHECK(value == 1);
  CHECK_FALSE(inbox.pop(value));
}

TEST_CASE("every value goes from thread to thread once and in order") {
  io::Inbox<std::unique_ptr<int>> inbox(16);
  constexpr int kValues = 50'000;
  std::thread producer([&] {
    for (int number = 0; number < kValues; ++number) {
      auto value = std::make_unique<int>(number);
      while (!inbox.push(std::move(value))) {
        std::this_thread::yield();
      }
    }
  });
  std::unique_ptr<int> value;
  int in_order = 0;
  while (in_order < kValues) {
    if (!inbox.pop(value)) {
      std::this_thread::yield();
      continue;
    }
    if (*value != in_order) {
      break;
    }
    ++in_order;
  }
  producer.join();
  CHECK(in_order == kValues);
  CHECK(inbox.empty());
}
