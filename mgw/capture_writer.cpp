#include "mgw/capture_writer.h"

#include "io/log.h"
#include "mgw/pcap_format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace mgw {

namespace {

using io::LogCategory;
using io::LogLevel;

/// How often the queues are looked at while files are open: often enough that no queue runs full,
/// seldom enough that a few taps cost next to nothing.
constexpr std::chrono::milliseconds kInterval{20};
/// A file's packets are written together up to this many bytes.
constexpr std::size_t kWaitingBytesMax = 256U * 1024;

/// NAME.EXT, NAME-1.EXT, NAME-2.EXT …
std::string numbered(std::string_view name, int number) {
  if (number == 0) {
    return std::string(name);
  }
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  return fmt::format("{}-{}{}", name.substr(0, dot), number, name.substr(dot));
}

/// All of it, or false with errno.
bool write_all(int descriptor, const std::vector<std::byte>& bytes) noexcept {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(descriptor, &bytes[done], bytes.size() - done);
    if (written < 0 && errno != EINTR) {
      return false;
    }
    done += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return true;
}

}  // namespace

CaptureWriter::CaptureWriter(std::uint32_t workers, std::uint64_t file_max_bytes)
    : file_max_bytes_(file_max_bytes) {
  for (std::uint32_t i = 0; i < workers; ++i) {
    queues_.push_back(std::make_unique<TapQueue>());
  }
}

CaptureWriter::~CaptureWriter() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  drain();
  while (!files_.empty()) {
    finish(files_.begin()->first);
  }
}

void CaptureWriter::start() {
  thread_ = std::thread([this] { run(); });
}

void CaptureWriter::run() {
  pthread_setname_np(pthread_self(), "mgw-captures");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto has_news = [this] { return stopping_ || !opened_.empty() || !closed_.empty(); };
    if (files_.empty()) {
      changed_.wait(lock, has_news);
    } else {
      changed_.wait_for(lock, kInterval, has_news);
    }
    lock.unlock();
    drain();
    lock.lock();
  }
}

io::Result<OpenedCapture> CaptureWriter::open(const std::string& directory, std::string_view name,
                                              io::Duration unix_offset) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP;
  File file;
  OpenedCapture opened;
  for (int number = 0; number < kNamesMax && file.descriptor < 0; ++number) {
    opened.name = numbered(name, number);
    file.path = directory + "/" + opened.name;
    file.descriptor = ::open(file.path.c_str(), kFlags, kMode);
    if (file.descriptor < 0 && errno != EEXIST) {
      break;
    }
  }
  if (file.descriptor < 0) {
    return io::failure(errno);
  }
  opened.capture = std::make_shared<Capture>(*this, next_number_++);
  file.unix_offset = unix_offset;
  file.ended = opened.capture->end_mark();
  append_pcap_header(file.waiting);
  file.bytes = file.waiting.size();
  {
    const std::lock_guard lock(mutex_);
    opened_.emplace_back(opened.capture->number(), std::move(file));
  }
  changed_.notify_one();
  return opened;
}

void CaptureWriter::close(std::uint32_t capture) noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_.push_back(capture);
  }
  changed_.notify_one();
}

void CaptureWriter::drain() {
  std::vector<std::uint32_t> closed;
  {
    // First: the packets of a capture that is to be closed are in the queues by now.
    const std::lock_guard lock(mutex_);
    closed.swap(closed_);
  }
  take_opened();
  for (const auto& queue : queues_) {
    while (std::unique_ptr<TapRecord> record = queue->pop()) {
      append(*record);
      queue->give_back(std::move(record));
    }
  }
  for (auto& [number, file] : files_) {
    write_waiting(file);
  }
  for (const std::uint32_t number : closed) {
    finish(number);
  }
  files_open_.set(files_.size());
}

void CaptureWriter::take_opened() {
  std::vector<std::pair<std::uint32_t, File>> opened;
  {
    const std::lock_guard lock(mutex_);
    opened.swap(opened_);
  }
  for (auto& [number, file] : opened) {
    files_.emplace(number, std::move(file));
  }
}

CaptureWriter::File* CaptureWriter::find(std::uint32_t capture) {
  auto found = files_.find(capture);
  if (found == files_.end()) {
    take_opened();  // its first packet may come while the queues are being emptied
    found = files_.find(capture);
  }
  return found == files_.end() ? nullptr : &found->second;
}

void CaptureWriter::append(const TapRecord& record) {
  File* const found = find(record.capture);
  if (found == nullptr || found->descriptor < 0) {
    return;
  }
  File& file = *found;
  if (file.bytes + record.captured + kPcapPacketOverheadBytes > file_max_bytes_) {
    io::log(LogLevel::notice, LogCategory::rtp,
            {{"file", file.path}, {"packets", file.packets}, {"bytes", file.bytes}},
            "capture full");
    write_waiting(file);
    end(file);
    return;
  }
  const std::size_t before = file.waiting.size();
  PcapPacket packet;
  packet.unix_time = record.at.time_since_epoch() + file.unix_offset;
  packet.source = record.source;
  packet.destination = record.destination;
  packet.bytes = std::span(record.bytes.data(), record.captured);
  packet.size = record.size;
  append_pcap_packet(file.waiting, packet);
  file.bytes += file.waiting.size() - before;
  ++file.packets;
  packets_.add();
  if (file.waiting.size() >= kWaitingBytesMax) {
    write_waiting(file);
  }
}

void CaptureWriter::write_waiting(File& file) {
  if (file.descriptor >= 0 && !write_all(file.descriptor, file.waiting)) {
    io::log(LogLevel::error, LogCategory::rtp, {{"file", file.path}},
            "capture ends, it can't be written: {}",
            std::error_code(errno, std::generic_category()).message());
    end(file);
  }
  file.waiting.clear();
}

void CaptureWriter::end(File& file) noexcept {
  file.ended->store(true, std::memory_order_relaxed);
  if (file.descriptor >= 0) {
    ::close(std::exchange(file.descriptor, -1));
  }
}

void CaptureWriter::finish(std::uint32_t capture) {
  const auto found = files_.find(capture);
  if (found == files_.end()) {
    return;
  }
  File& file = found->second;
  write_waiting(file);
  end(file);
  io::log(LogLevel::notice, LogCategory::rtp,
          {{"file", file.path}, {"packets", file.packets}, {"bytes", file.bytes}},
          "capture closed");
  files_.erase(found);
}

}  // namespace mgw
