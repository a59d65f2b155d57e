#pragma once
// Writes records of calls to a file, a line each, and to the log. A slow disk costs records, which
// are counted, and nothing else.

#include "io/counter.h"
#include "mgw/call_recorder.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mgw {

/// See above. What waits to be written is bounded. take() and reopen() on the control thread,
/// counters anywhere.
class RecordWriter final : public RecordSink {
 public:
  /// Bytes of records that wait for the file: those of some 3,000 calls.
  static constexpr std::size_t kWaitingBytesMax = 4U * 1024 * 1024;

  /// Appends to the file at `path`, readable by owner and group; empty: to none. `to_log` says
  /// whether each is a line of the log too.
  RecordWriter(std::string path, bool to_log);
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  RecordWriter(RecordWriter&&) = delete;
  RecordWriter& operator=(RecordWriter&&) = delete;
  /// Writes what waits and ends the thread.
  ~RecordWriter() override;

  void take(std::string record) override;
  /// The file may have been moved away: it is opened anew for what comes from now on.
  void reopen() noexcept;

  /// Records written to the file, or to the log if there is no file.
  [[nodiscard]] std::uint64_t written() const noexcept { return written_.value(); }
  /// Records that found no room, or that the file did not take.
  [[nodiscard]] std::uint64_t lost() const noexcept { return refused_.value() + failed_.value(); }

 private:
  void run();
  /// Writes the lines, or counts them as lost.
  void write(const std::vector<std::string>& lines);
  [[nodiscard]] bool append(const std::string& line);
  void fault(const char* what);

  const std::string path_;
  const bool to_log_;
  io::Counter refused_;  // control thread
  io::Counter written_;  // the thread's, or the control thread's if there is no file
  io::Counter failed_;   // the thread's
  int descriptor_ = -1;  // the thread's
  bool is_faulty_ = false;
  bool line_is_cut_ = false;  // the disk was full in the middle of one

  std::mutex mutex_;  // guards what follows; never held while the file is touched
  std::condition_variable changed_;
  std::vector<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool reopens_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mgw
