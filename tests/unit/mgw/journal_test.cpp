// The journal's records and files, with each operation on files failing in turn.

#include "mgw/journal.h"

#include "mgw/state_codec.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mgw::ReplayOutcome;

constexpr mgw::BootId kBoot = {'b', 'o', 'o', 't'};

/// Files in memory. The operation number `fault_at` fails; a write may do a part of its work
/// before.
class MemoryFiles final : public io::Files {
 public:
  enum class Fault { none, error, short_write, crash };

  int operations = 0;
  int fault_at = -1;
  Fault fault = Fault::none;
  std::map<std::string, std::shared_ptr<std::string>> files;

  io::Result<void> make_directory(const std::string& /*path*/) override { return step(); }
  io::Result<int> open(const std::string& path, bool anew) override {
    if (const auto done = step(); !done) {
      return tl::unexpected(done.error());
    }
    auto& file = files[path];
    if (file == nullptr) {
      file = std::make_shared<std::string>();
    } else if (anew) {
      file->clear();
    }
    open_.push_back(file);
    return static_cast<int>(open_.size() - 1);
  }
  io::Result<std::string> read(const std::string& path, std::size_t /*bytes_max*/) override {
    if (const auto done = step(); !done) {
      return tl::unexpected(done.error());
    }
    return files.contains(path) ? *files[path] : std::string();
  }
  io::Result<std::size_t> write(int file, std::string_view bytes) override {
    const bool is_faulty = operations == fault_at && !crashed_;
    if (is_faulty && fault == Fault::short_write) {
      ++operations;
      open_[static_cast<std::size_t>(file)]->append(bytes.substr(0, bytes.size() / 2));
      fault_at = operations;  // and what is left fails
      fault = Fault::error;
      return bytes.size() / 2;
    }
    if (is_faulty && fault == Fault::crash) {
      open_[static_cast<std::size_t>(file)]->append(bytes.substr(0, bytes.size() / 3));
    }
    if (const auto done = step(); !done) {
      return tl::unexpected(done.error());
    }
    open_[static_cast<std::size_t>(file)]->append(bytes);
    return bytes.size();
  }
  io::Result<void> truncate(int file, std::uint64_t size) override {
    const auto done = step();
    if (done) {
      open_[static_cast<std::size_t>(file)]->resize(size);
    }
    return done;
  }
  io::Result<void> reserve(int, std::uint64_t, std::uint64_t) override { return step(); }
  io::Result<void> sync(int /*file*/) override { return step(); }
  io::Result<void> rename(const std::string& from, const std::string& to) override {
    const auto done = step();
    if (done && files.contains(from)) {
      files[to] = files[from];
      files.erase(from);
    }
    return done;
  }
  void remove(const std::string& path) noexcept override {
    if (!crashed_) {
      files.erase(path);
    }
  }
  io::Result<void> lock(int /*file*/) override { return step(); }
  void close(int /*file*/) noexcept override {}

  /// The next process finds what is there, and nothing fails.
  void restart() {
    crashed_ = false;
    fault_at = -1;
  }

 private:
  io::Result<void> step() {
    const bool is_faulty = operations++ == fault_at && fault != Fault::none;
    crashed_ = crashed_ || (is_faulty && fault == Fault::crash);
    if (is_faulty || crashed_) {
      return io::failure(ENOSPC);
    }
    return {};
  }

  bool crashed_ = false;
  std::vector<std::shared_ptr<std::string>> open_;
};

void add_endpoint(mgw::StateRecordWriter& record, std::uint32_t position, int call) {
  mgw::Endpoint endpoint;
  endpoint.call_id = std::to_string(call);
  auto connection = std::make_unique<mgw::Connection>();
  connection->id = 7;
  connection->answered = true;
  connection->codecs.push_back({0, "PCMU", 8000, 1, mgcp::RtpmapForm::with_rate, {}});
  endpoint.connections.push_back(std::move(connection));
  record.add_endpoint({0, position}, endpoint);
}

mgcp::TransactionKey key_of(int change) {
  return {*io::SocketAddress::parse("192.0.2.9", 2727), static_cast<mgcp::TransactionId>(change)};
}

/// What the changes 1 … n make: change c gives endpoint c % 5 the call c, or frees it, and answers.
class Model {
 public:
  explicit Model(int changes) {
    for (int change = 1; change <= changes; ++change) {
      apply(change);
    }
  }
  void apply(int change) {
    const auto position = static_cast<std::uint32_t>(change % 5);
    if (change % 7 == 0) {
      calls_.erase(position);
    } else {
      calls_[position] = change;
    }
    last_ = change;
  }
  static std::string record(int change) {
    std::string bytes;
    mgw::StateRecordWriter record(bytes, io::TimePoint(1s * change));
    const auto position = static_cast<std::uint32_t>(change % 5);
    if (change % 7 == 0) {
      record.add_free({0, position});
    } else {
      add_endpoint(record, position, change);
    }
    record.add_answer(key_of(change), io::TimePoint(1s * change), "200");
    record.finish();
    return bytes;
  }
  [[nodiscard]] std::string snapshot() const {
    std::string bytes;
    for (const auto& [position, call] : calls_) {
      mgw::StateRecordWriter record(bytes, io::TimePoint(1s * last_));
      add_endpoint(record, position, call);
      record.finish();
    }
    mgw::StateRecordWriter record(bytes, io::TimePoint(1s * last_));
    for (int change = 1; change <= last_; ++change) {
      record.add_answer(key_of(change), io::TimePoint(1s * change), "200");
    }
    record.finish();
    return bytes;
  }
  [[nodiscard]] bool is(const mgw::SavedState& state) const {
    std::map<std::uint32_t, int> found;
    for (const auto& [key, endpoint] : state.endpoints) {
      found[key.position] = std::stoi(endpoint.call_id);
    }
    return found == calls_ && static_cast<int>(state.answers.size()) == last_;
  }

 private:
  std::map<std::uint32_t, int> calls_;
  int last_ = 0;
};

/// A type of two versions.
struct Short {
  std::uint32_t a = 1;
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.a);
  }
};
struct Long {
  std::uint32_t a = 1;
  std::string b = "kept";
  template <typename Self, typename Archive>
  static void visit_state(Self& self, Archive& archive) {
    archive(self.a, self.b);
  }
};

constexpr int kChanges = 24;

/// A gateway that makes kChanges changes and has a new file written now and then. Returns the last
/// change that is on record according to the journal.
int work(mgw::Journal& journal) {
  Model model(0);
  int recorded = 0;
  static_cast<void>(journal.occupy());
  static_cast<void>(journal.read());
  static_cast<void>(journal.replace(model.snapshot()));
  for (int change = 1; change <= kChanges; ++change) {
    model.apply(change);
    if (journal.append(Model::record(change))) {
      recorded = change;
    }
    if ((change % 6 == 0 || !journal.is_whole()) && journal.replace(model.snapshot())) {
      recorded = change;
    }
  }
  return recorded;
}

}  // namespace

TEST_CASE("after any fault of any file operation the journal holds all that it said it had") {
  MemoryFiles counting;
  {
    mgw::Journal journal(counting, "d", kBoot);
    REQUIRE(work(journal) == kChanges);
  }
  REQUIRE(counting.operations > 2 * kChanges / 2);
  for (const auto fault :
       {MemoryFiles::Fault::error, MemoryFiles::Fault::short_write, MemoryFiles::Fault::crash}) {
    for (int at = 0; at < counting.operations; ++at) {
      CAPTURE(static_cast<int>(fault));
      CAPTURE(at);
      MemoryFiles files;
      files.fault = fault;
      files.fault_at = at;
      int recorded = 0;
      {
        mgw::Journal journal(files, "d", kBoot);
        recorded = work(journal);
      }
      if (fault != MemoryFiles::Fault::crash) {
        CHECK(recorded == kChanges);  // a new file makes up for what could not be written
      }
      files.restart();
      mgw::Journal journal(files, "d", kBoot);
      REQUIRE(journal.occupy().empty());
      const mgw::Journal::Found found = journal.read();
      CHECK((found.replay.outcome == ReplayOutcome::whole ||
             found.replay.outcome == ReplayOutcome::cut));
      const auto prefix = static_cast<int>(found.replay.state.answers.size());
      CHECK(prefix >= recorded);
      CHECK(Model(prefix).is(found.replay.state));
      // And the gateway goes on from there.
      CHECK(journal.replace(Model(prefix).snapshot()));
      CHECK(journal.append(Model::record(prefix + 1)));
    }
  }
}

TEST_CASE("a journal that is cut or damaged anywhere gives the state of a moment before") {
  std::string bytes = mgw::state_header(kBoot);
  for (int change = 1; change <= 6; ++change) {
    bytes += Model::record(change);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const mgw::Replay cut = mgw::replay_state(std::string_view(bytes).substr(0, size), kBoot);
    REQUIRE(Model(static_cast<int>(cut.state.answers.size())).is(cut.state));
    std::string damaged = bytes;
    damaged[size] = static_cast<char>(damaged[size] ^ 0x10);
    const mgw::Replay replay = mgw::replay_state(damaged, kBoot);
    REQUIRE(replay.outcome != ReplayOutcome::whole);
    REQUIRE(Model(static_cast<int>(replay.state.answers.size())).is(replay.state));
  }
  CHECK(mgw::replay_state(bytes, kBoot).outcome == ReplayOutcome::whole);
}

TEST_CASE("a journal of a newer format, of another boot or of nobody is told apart and put aside") {
  const auto outcome_of = [](const std::string& bytes) {
    MemoryFiles files;
    files.files["d/journal"] = std::make_shared<std::string>(bytes);
    mgw::Journal journal(files, "d", kBoot);
    REQUIRE(journal.occupy().empty());
    const auto found = journal.read();
    CHECK(found.replay.state.endpoints.empty());
    CHECK_FALSE(found.remark.empty());
    CHECK(journal.replace(Model(3).snapshot()));
    CHECK(Model(3).is(journal.read().replay.state));
    return std::pair(found.replay.outcome, files.files.contains("d/journal.aside"));
  };
  const std::string records = Model::record(1);
  CHECK(outcome_of(mgw::state_header(kBoot, mgw::kStateFormat + 1) + records) ==
        std::pair(ReplayOutcome::newer, true));
  CHECK(outcome_of(mgw::state_header({'n', 'e', 'x', 't'}) + records) ==
        std::pair(ReplayOutcome::other_boot, false));
  CHECK(outcome_of("#!/bin/sh\n") == std::pair(ReplayOutcome::foreign, true));
}

TEST_CASE("CRC-32C is that of RFC 3720 appendix B.4") {
  CHECK(mgw::crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(mgw::crc32c(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("what a later version adds at the end of a block is skipped, what it lacks stays") {
  std::string bytes;
  mgw::StateWriter writer(bytes);
  writer.block(Long{300, "new"});
  writer.block(Short{400});
  Short old_reader;
  Long new_reader;
  mgw::StateReader reader(bytes);
  reader.block(old_reader);
  reader.block(new_reader);
  CHECK(reader.ok());
  CHECK(reader.at_end());
  CHECK(old_reader.a == 300);
  CHECK(new_reader.a == 400);
  CHECK(new_reader.b == "kept");
}
