#include "mgw/record_writer.h"

#include "io/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace mgw {

using io::LogCategory;
using io::LogLevel;

RecordWriter::RecordWriter(std::string path, bool to_log)
    : path_(std::move(path)), to_log_(to_log) {
  if (!path_.empty()) {
    thread_ = std::thread([this] { run(); });
  }
}

RecordWriter::~RecordWriter() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
}

void RecordWriter::take(std::string record) {
  if (to_log_) {
    io::log(LogLevel::info, LogCategory::lstats, "call record {}", record);
  }
  if (path_.empty()) {
    written_.add();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + record.size() > kWaitingBytesMax) {
      refused_.add();
      return;
    }
    waiting_bytes_ += record.size();
    waiting_.push_back(std::move(record));
  }
  changed_.notify_one();
}

void RecordWriter::reopen() noexcept {
  {
    const std::lock_guard lock(mutex_);
    reopens_ = true;
  }
  changed_.notify_one();
}

void RecordWriter::run() {
  pthread_setname_np(pthread_self(), "mgw-records");
  std::unique_lock lock(mutex_);
  while (!stopping_ || !waiting_.empty()) {
    changed_.wait(lock, [this] { return stopping_ || reopens_ || !waiting_.empty(); });
    const std::vector<std::string> lines = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    const bool reopens = std::exchange(reopens_, false);
    lock.unlock();
    if (reopens && descriptor_ >= 0) {
      ::close(std::exchange(descriptor_, -1));
    }
    if (!lines.empty()) {
      write(lines);
    }
    lock.lock();
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void RecordWriter::write(const std::vector<std::string>& lines) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP;
  if (descriptor_ < 0) {
    descriptor_ = ::open(path_.c_str(), kFlags, kMode);
    if (descriptor_ < 0) {
      fault("opened");
      failed_.add(lines.size());
      return;
    }
  }
  for (const std::string& line : lines) {
    if (append(line)) {
      written_.add();
      is_faulty_ = false;
    } else {
      fault("written");
      failed_.add();
    }
  }
}

bool RecordWriter::append(const std::string& line) {
  const std::string text = (line_is_cut_ ? "\n" : "") + line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) {
      line_is_cut_ = line_is_cut_ || done > 0;
      return false;
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  line_is_cut_ = false;
  return true;
}

void RecordWriter::fault(const char* what) {
  if (!std::exchange(is_faulty_, true)) {
    io::log(LogLevel::error, LogCategory::lstats, "records of calls are lost: {} can't be {}: {}",
            path_, what, std::generic_category().message(errno));
  }
}

}  // namespace mgw
