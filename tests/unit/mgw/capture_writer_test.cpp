// Capture files: names, limits, and that what was queued is in the file when it is closed.

#include "mgw/capture_writer.h"

#include "mgw/pcap_format.h"
#include "tests/sim/sim_world.h"
#include "tests/sim/temporary_directory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

using mgw::CaptureWriter;

namespace {

constexpr std::uint64_t kMuch = 1'000'000;

bool put(CaptureWriter& writer, const mgw::Capture& capture, std::uint32_t size) {
  auto record = writer.queue(0).take();
  if (record == nullptr) {
    return false;
  }
  record->capture = capture.number();
  record->at = io::TimePoint();
  record->source = sim::address("192.0.2.1", 1);
  record->destination = sim::address("192.0.2.2", 2);
  record->size = size;
  record->captured = std::min<std::uint32_t>(size, mgw::kTapPacketBytesMax);
  std::memset(record->bytes.data(), 0x55, record->captured);
  writer.queue(0).push(std::move(record));
  return true;
}

constexpr std::size_t kOverhead = 16 + 28;  // IPv4

}  // namespace

TEST_CASE("a name that is taken gets a number, and what was there stays as it is") {
  const sim::TemporaryDirectory directory;
  std::ofstream(directory.path() + "/call.pcap") << "precious";
  std::filesystem::create_symlink("/dev/null", directory.path() + "/call-1.pcap");
  CaptureWriter writer(1, kMuch);
  CHECK(writer.open(directory.path(), "call.pcap", {})->name == "call-2.pcap");
  CHECK(writer.open(directory.path(), "call.pcap", {})->name == "call-3.pcap");
  CHECK(writer.open(directory.path(), "plain", {})->name == "plain");
  CHECK(writer.open(directory.path(), "plain", {})->name == "plain-1");
  CHECK(directory.read("call.pcap") == "precious");
  for (int i = 4; i < CaptureWriter::kNamesMax; ++i) {
    CHECK(writer.open(directory.path(), "call.pcap", {}));
  }
  CHECK(writer.open(directory.path(), "call.pcap", {}).error().value() == EEXIST);
  CHECK(writer.open(directory.path() + "/none", "a", {}).error().value() == ENOENT);
}

TEST_CASE("when the last holder lets go, what is queued is written and the file is closed") {
  const sim::TemporaryDirectory directory;
  CaptureWriter writer(1, kMuch);
  auto opened = writer.open(directory.path(), "a.pcap", {});
  REQUIRE(opened);
  writer.drain();
  CHECK(writer.files() == 1);
  CHECK(directory.read("a.pcap").size() == mgw::kPcapHeaderBytes);
  for (int i = 0; i < 10; ++i) {
    CHECK(put(writer, *opened->capture, 100));
  }
  opened->capture.reset();
  writer.drain();
  CHECK(writer.files() == 0);
  CHECK(writer.packets() == 10);
  CHECK(directory.read("a.pcap").size() == mgw::kPcapHeaderBytes + 10 * (kOverhead + 100));
}

TEST_CASE("the queue is bounded; it serves again once the writer has been there") {
  const sim::TemporaryDirectory directory;
  CaptureWriter writer(1, kMuch);
  auto opened = writer.open(directory.path(), "a.pcap", {});
  REQUIRE(opened);
  for (std::size_t i = 0; i < mgw::TapQueue::kRecords; ++i) {
    CHECK(put(writer, *opened->capture, 1));
  }
  CHECK_FALSE(put(writer, *opened->capture, 1));
  writer.drain();
  CHECK(put(writer, *opened->capture, 1));
}

TEST_CASE("a file ends before it grows beyond its limit, and says so to the workers") {
  const sim::TemporaryDirectory directory;
  constexpr std::uint64_t kLimit = 10'000;
  CaptureWriter writer(1, kLimit);
  auto opened = writer.open(directory.path(), "a.pcap", {});
  REQUIRE(opened);
  for (int i = 0; i < 100; ++i) {
    CHECK(put(writer, *opened->capture, 160));
  }
  CHECK_FALSE(opened->capture->ended());
  writer.drain();
  CHECK(opened->capture->ended());
  const std::size_t size = directory.read("a.pcap").size();
  CHECK(size <= kLimit);
  CHECK(size > kLimit - 2 * (kOverhead + 160));
  CHECK((size - mgw::kPcapHeaderBytes) % (kOverhead + 160) == 0);
}

TEST_CASE("a disk that is full ends the file, nothing else") {
  const sim::TemporaryDirectory directory;
  if (!std::filesystem::exists("/dev/full")) {
    return;
  }
  CaptureWriter writer(1, kMuch);
  // Not made by open(), which follows no links: the file is exchanged under the writer's feet.
  auto opened = writer.open(directory.path(), "a.pcap", {});
  REQUIRE(opened);
  auto other = writer.open(directory.path(), "b.pcap", {});
  REQUIRE(other);
  writer.drain();
  directory.redirect_open_file("a.pcap", "/dev/full");
  CHECK(put(writer, *opened->capture, 100));
  CHECK(put(writer, *other->capture, 100));
  writer.drain();
  CHECK(opened->capture->ended());
  CHECK_FALSE(other->capture->ended());
  CHECK(directory.read("b.pcap").size() == mgw::kPcapHeaderBytes + kOverhead + 100);
}

TEST_CASE("the thread writes by itself, and all is in the files when the writer has gone") {
  const sim::TemporaryDirectory directory;
  std::size_t queued = 0;
  {
    CaptureWriter writer(1, kMuch);
    writer.start();
    auto opened = writer.open(directory.path(), "a.pcap", {});
    REQUIRE(opened);
    while (queued < 3 * mgw::TapQueue::kRecords) {
      queued += put(writer, *opened->capture, 20) ? 1U : 0U;
    }
  }
  CHECK(directory.read("a.pcap").size() == mgw::kPcapHeaderBytes + queued * (kOverhead + 20));
}
