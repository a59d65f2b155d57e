#include "mgw/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace mgw {

namespace {

constexpr std::string_view kFile = "/journal";
constexpr std::string_view kNewFile = "/journal.new";
constexpr std::string_view kAsideFile = "/journal.aside";
constexpr std::string_view kLockFile = "/lock";

/// Room that a new file has ready, so that a disk that becomes full leaves time to notice: a minute
/// of 50 calls a second.
constexpr std::uint64_t kReserveBytes = std::uint64_t{8} * 1024 * 1024;

}  // namespace

/// Syncs a duplicate of the newest file's descriptor.
class Journal::Syncer {
 public:
  Syncer(io::Files& files, io::Duration interval)
      : files_(files), thread_([this, interval] { run(interval); }) {}
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;
  Syncer(Syncer&&) = delete;
  Syncer& operator=(Syncer&&) = delete;
  ~Syncer() {
    {
      const std::lock_guard guard(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
    replace(-1);
  }
  /// The file is another one; takes the descriptor over.
  void replace(int file) {
    const std::lock_guard guard(mutex_);
    if (file_ >= 0) {
      files_.close(file_);
    }
    file_ = file;
  }

 private:
  void run(io::Duration interval) {
    std::unique_lock guard(mutex_);
    while (!wake_.wait_for(guard, interval, [this] { return ending_; })) {
      const int file = file_ < 0 ? -1 : ::dup(file_);
      guard.unlock();
      if (file >= 0) {
        static_cast<void>(files_.sync(file));
        files_.close(file);
      }
      guard.lock();
    }
  }

  io::Files& files_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  int file_ = -1;
  std::thread thread_;
};

Journal::Journal(io::Files& files, std::string directory, const BootId& boot)
    : files_(files), directory_(std::move(directory)), boot_(boot) {}

Journal::~Journal() {
  syncer_.reset();
  leave();
}

std::string Journal::occupy() {
  const std::string path = directory_ + std::string(kLockFile);
  if (const auto made = files_.make_directory(directory_); !made) {
    return fmt::format("{}: {}", directory_, made.error().message());
  }
  const auto file = files_.open(path, false);
  if (!file) {
    return fmt::format("{}: {}", path, file.error().message());
  }
  if (const auto locked = files_.lock(*file); !locked) {
    files_.close(*file);
    return locked.error().value() == EWOULDBLOCK
               ? fmt::format("{}: another gateway has it", directory_)
               : fmt::format("{}: {}", path, locked.error().message());
  }
  lock_ = *file;
  return {};
}

Journal::Found Journal::read() {
  const std::string path = directory_ + std::string(kFile);
  Found found;
  const auto bytes = files_.read(path, kFileBytesMax);
  if (!bytes) {
    found.replay.outcome = ReplayOutcome::foreign;
    found.remark = fmt::format("{} can't be read: {}", path, bytes.error().message());
  } else {
    found.replay = replay_state(*bytes, boot_);
    if (found.replay.outcome != ReplayOutcome::whole) {
      found.remark =
          fmt::format("{}: {}; {} of {} octets are of use", path, to_string(found.replay.outcome),
                      found.replay.good_bytes, bytes->size());
    }
  }
  const bool is_cut = found.replay.outcome == ReplayOutcome::cut;
  if (!found.remark.empty() && !is_cut && found.replay.outcome != ReplayOutcome::other_boot) {
    const std::string aside = directory_ + std::string(kAsideFile);
    if (const auto moved = files_.rename(path, aside)) {
      found.remark += fmt::format("; kept as {}", aside);
    }
  }
  return found;
}

io::Result<void> Journal::write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = files_.write(file, bytes);
    if (!written && written.error().value() == EINTR) {
      continue;
    }
    if (!written) {
      return tl::unexpected(written.error());
    }
    if (*written == 0) {
      return io::failure(EIO);
    }
    bytes.remove_prefix(std::min(*written, bytes.size()));
  }
  return {};
}

bool Journal::fail(std::string_view what, const std::error_code& error) {
  is_whole_ = false;
  failure_ =
      fmt::format("{} can't be {}: {}", directory_ + std::string(kFile), what, error.message());
  return false;
}

bool Journal::replace(std::string_view records) {
  const std::string path = directory_ + std::string(kNewFile);
  const auto file = files_.open(path, true);
  if (!file) {
    return fail("replaced", file.error());
  }
  const std::string header = state_header(boot_);
  auto written = write_all(*file, header);
  if (written) {
    written = write_all(*file, records);
  }
  if (written) {
    written = files_.rename(path, directory_ + std::string(kFile));
  }
  if (!written) {
    files_.close(*file);
    files_.remove(path);
    return fail("replaced", written.error());
  }
  if (file_ >= 0) {
    files_.close(file_);
  }
  file_ = *file;
  size_ = header.size() + records.size();
  is_whole_ = true;
  static_cast<void>(files_.reserve(file_, size_, kReserveBytes));  // of use, not needed
  if (syncer_ != nullptr) {
    syncer_->replace(::dup(file_));
  }
  return true;
}

bool Journal::append(std::string_view records) {
  if (file_ < 0 || !is_whole_) {
    return false;  // after a hole in the middle no later record means anything
  }
  const auto written = write_all(file_, records);
  if (!written) {
    // Should that fail too the end of the file is a record that is cut, which readers know.
    static_cast<void>(files_.truncate(file_, size_));
    return fail("written", written.error());
  }
  size_ += records.size();
  return true;
}

void Journal::sync_every(io::Duration interval) {
  if (interval > io::Duration::zero()) {
    syncer_ = std::make_unique<Syncer>(files_, interval);
    if (file_ >= 0) {
      syncer_->replace(::dup(file_));
    }
  }
}

void Journal::leave() noexcept {
  for (int* file : {&file_, &lock_}) {
    if (*file >= 0) {
      files_.close(std::exchange(*file, -1));
    }
  }
  is_whole_ = false;
}

BootId this_boot() {
  io::KernelFiles files;
  BootId boot{};
  constexpr std::size_t kTextBytesMax = 64;
  const auto text = files.read("/proc/sys/kernel/random/boot_id", kTextBytesMax);
  std::size_t digit = 0;
  for (const char c : text ? *text : std::string()) {
    const bool is_digit = c >= '0' && c <= '9';
    if ((!is_digit && (c < 'a' || c > 'f')) || digit == 2 * boot.size()) {
      continue;
    }
    const int value = is_digit ? c - '0' : c - 'a' + 10;
    boot[digit / 2] = static_cast<char>(boot[digit / 2] << 4 | value);
    ++digit;
  }
  return boot;
}

}  // namespace mgw
