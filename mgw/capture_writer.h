#pragma once
// Writes capture files: takes the workers' copies from their queues and appends them to the files.
// A slow disk makes the queues full and costs copies, nothing else.

#include "io/counter.h"
#include "io/result.h"
#include "io/time.h"
#include "mgw/tap.h"
#include "mgw/tap_queue.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace mgw {

/// A file that has just been made.
struct OpenedCapture {
  std::shared_ptr<Capture> capture;
  std::string name;  ///< what it is called: the name that was asked for, perhaps with a number
};

/// The capture files of a gateway. Control thread only, but for close(). Must outlive every Capture
/// and every worker that uses a queue of it.
class CaptureWriter {
 public:
  /// Names that are tried for a file: NAME.EXT, NAME-1.EXT, NAME-2.EXT …
  static constexpr int kNamesMax = 100;

  /// A queue for each of `workers`. A file ends before it grows beyond `file_max_bytes`.
  CaptureWriter(std::uint32_t workers, std::uint64_t file_max_bytes);
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;
  CaptureWriter(CaptureWriter&&) = delete;
  CaptureWriter& operator=(CaptureWriter&&) = delete;
  /// Writes what is queued, closes all files and ends the thread.
  ~CaptureWriter();

  /// Starts the thread that calls drain(). Without it somebody has to (a simulation).
  void start();

  /// Makes a new file in `directory`, readable by owner and group; one that exists is never
  /// touched, nor is a symbolic link followed. `unix_offset` is what lies between a TimePoint and
  /// the time since 1970; it holds for the whole file. EEXIST when all names are taken, or what
  /// open(2) says.
  [[nodiscard]] io::Result<OpenedCapture> open(const std::string& directory, std::string_view name,
                                               io::Duration unix_offset);
  /// No packet of this capture will be queued any more: what is queued is written, then the file is
  /// closed, soon. Called by ~Capture. Any thread.
  void close(std::uint32_t capture) noexcept;

  /// Where a worker leaves its packets.
  [[nodiscard]] TapQueue& queue(std::uint32_t worker) noexcept { return *queues_[worker]; }
  /// Writes all that is queued and closes what is to be closed. The thread's business once it has
  /// been started.
  void drain();

  /// Files being written, and packets written so far. Any thread.
  [[nodiscard]] std::uint64_t files() const noexcept { return files_open_.value(); }
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_.value(); }

 private:
  struct File {
    int descriptor = -1;
    std::string path;
    io::Duration unix_offset{};
    std::shared_ptr<std::atomic<bool>> ended;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  // written and waiting
    std::vector<std::byte> waiting;
  };

  void run();
  void take_opened();
  [[nodiscard]] File* find(std::uint32_t capture);
  void append(const TapRecord& record);
  static void write_waiting(File& file);
  static void end(File& file) noexcept;
  void finish(std::uint32_t capture);

  std::vector<std::unique_ptr<TapQueue>> queues_;
  const std::uint64_t file_max_bytes_;
  std::uint32_t next_number_ = 1;                  // control thread
  std::unordered_map<std::uint32_t, File> files_;  // whoever drains
  io::Counter files_open_;                         // whoever drains
  io::Counter packets_;

  std::mutex mutex_;  // guards what follows; never held while a file is touched
  std::condition_variable changed_;
  std::vector<std::pair<std::uint32_t, File>> opened_;
  std::vector<std::uint32_t> closed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mgw
