#pragma once
// The journal on the disk: one file that begins with a whole state and grows by records; from time
// to time a new one with the state of then takes its place. Whatever happens to it the gateway
// starts and serves: what is wrong is told, and a file that can't be read is put aside. Control
// thread only.
//
// A process that ends loses nothing that append() has written, for the system has it; a machine
// that ends may.

#include "io/files.h"
#include "io/time.h"
#include "mgw/saved_state.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mgw {

/// See above.
class Journal {
 public:
  /// Beyond that a file is not read: a state of 65,534 calls has about 150 MiB.
  static constexpr std::size_t kFileBytesMax = std::size_t{1} << 30U;

  /// What was found.
  struct Found {
    Replay replay;
    std::string remark;  ///< for the operator; empty: all is well
  };

  /// `files` must outlive it. Nothing happens yet.
  Journal(io::Files& files, std::string directory, const BootId& boot);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  /// Makes the directory its own; empty, or why that is not possible: another gateway has it.
  [[nodiscard]] std::string occupy();
  /// Reads what there is. A file that is not whole is put aside, under another name.
  [[nodiscard]] Found read();
  /// A new file with these records takes the place of the present one; false if it could not be
  /// written, and then that one stays.
  bool replace(std::string_view records);
  /// Adds records; false if they could not be written. What is then at the end of the file is cut
  /// off again, or, if even that can't be, nothing is written any more until the next replace().
  bool append(std::string_view records);
  /// Whether everything that was to be written is in the file.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  /// Octets of the file.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Why the last operation failed, for logs.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// Forces the file to the disk now and then, on a thread of its own.
  void sync_every(io::Duration interval);
  /// Lets go of the directory: another gateway may have it.
  void leave() noexcept;

 private:
  class Syncer;

  [[nodiscard]] bool fail(std::string_view what, const std::error_code& error);
  [[nodiscard]] io::Result<void> write_all(int file, std::string_view bytes);

  io::Files& files_;
  std::string directory_;
  BootId boot_;
  int lock_ = -1;
  int file_ = -1;
  std::uint64_t size_ = 0;
  bool is_whole_ = false;
  std::string failure_;
  std::unique_ptr<Syncer> syncer_;
};

/// This boot of the machine; zeros if the system does not tell.
[[nodiscard]] BootId this_boot();

}  // namespace mgw
