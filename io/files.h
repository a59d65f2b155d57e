#pragma once
// The few operations on files that a journal is made of, so that a test can have each of them fail.

#include "io/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace io {

/// Operations on files, by descriptor once they are open. Each reports its errno.
class Files {
 public:
  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  Files(Files&&) = delete;
  Files& operator=(Files&&) = delete;
  virtual ~Files() = default;

  /// Makes the directory, for the own user only, if it is not there.
  [[nodiscard]] virtual Result<void> make_directory(const std::string& path) = 0;
  /// Opens for writing at the end; a file that is not there is made, one that is there is emptied
  /// if `anew`. Only the own user may read it.
  [[nodiscard]] virtual Result<int> open(const std::string& path, bool anew) = 0;
  /// The whole file; an empty text if it is not there. EFBIG: it is longer than `bytes_max`.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path,
                                                 std::size_t bytes_max) = 0;
  /// Writes at the end; how many octets were written may be fewer than were given.
  [[nodiscard]] virtual Result<std::size_t> write(int file, std::string_view bytes) = 0;
  /// Cuts or extends the file.
  [[nodiscard]] virtual Result<void> truncate(int file, std::uint64_t size) = 0;
  /// Has room on the disk ready for so many octets more than the file has; its size stays.
  [[nodiscard]] virtual Result<void> reserve(int file, std::uint64_t size, std::uint64_t more) = 0;
  /// Forces the file to the disk.
  [[nodiscard]] virtual Result<void> sync(int file) = 0;
  /// Gives a file another name, at once; what had that name is gone.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file.
  virtual void remove(const std::string& path) noexcept = 0;
  /// Keeps other processes from locking the file; EWOULDBLOCK if one has.
  [[nodiscard]] virtual Result<void> lock(int file) = 0;
  virtual void close(int file) noexcept = 0;
};

/// The system's.
class KernelFiles final : public Files {
 public:
  [[nodiscard]] Result<void> make_directory(const std::string& path) override;
  [[nodiscard]] Result<int> open(const std::string& path, bool anew) override;
  [[nodiscard]] Result<std::string> read(const std::string& path, std::size_t bytes_max) override;
  [[nodiscard]] Result<std::size_t> write(int file, std::string_view bytes) override;
  [[nodiscard]] Result<void> truncate(int file, std::uint64_t size) override;
  [[nodiscard]] Result<void> reserve(int file, std::uint64_t size, std::uint64_t more) override;
  [[nodiscard]] Result<void> sync(int file) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) noexcept override;
  [[nodiscard]] Result<void> lock(int file) override;
  void close(int file) noexcept override;
};

}  // namespace io
