#include "io/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace io {

namespace {

constexpr mode_t kOwnFile = S_IRUSR | S_IWUSR;

/// What a call that returns 0 or -1 came to.
Result<void> outcome(int returned) noexcept {
  if (returned != 0) {
    return failure(errno);
  }
  return {};
}

}  // namespace

Result<void> KernelFiles::make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return failure(errno);
  }
  return {};
}

Result<int> KernelFiles::open(const std::string& path, bool anew) {
  const int file = ::open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0), kOwnFile);
  if (file < 0) {
    return failure(errno);
  }
  return file;
}

Result<std::string> KernelFiles::read(const std::string& path, std::size_t bytes_max) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return errno == ENOENT ? Result<std::string>() : failure(errno);
  }
  constexpr std::size_t kStep = std::size_t{1} << 20U;
  std::string bytes;
  Result<std::string> result;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kStep);
    const ssize_t size = ::read(file, bytes.data() + before, kStep);
    bytes.resize(before + static_cast<std::size_t>(size > 0 ? size : 0));
    if (size < 0 || bytes.size() > bytes_max) {
      result = failure(size < 0 ? errno : EFBIG);
      break;
    }
    if (size == 0) {
      result = std::move(bytes);
      break;
    }
  }
  ::close(file);
  return result;
}

Result<std::size_t> KernelFiles::write(int file, std::string_view bytes) {
  const ssize_t size = ::write(file, bytes.data(), bytes.size());
  if (size < 0) {
    return failure(errno);
  }
  return static_cast<std::size_t>(size);
}

Result<void> KernelFiles::truncate(int file, std::uint64_t size) {
  return outcome(::ftruncate(file, static_cast<off_t>(size)));
}

Result<void> KernelFiles::reserve(int file, std::uint64_t size, std::uint64_t more) {
  return outcome(
      ::fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size), static_cast<off_t>(more)));
}

Result<void> KernelFiles::sync(int file) {
  return outcome(::fdatasync(file));
}

Result<void> KernelFiles::rename(const std::string& from, const std::string& to) {
  return outcome(::rename(from.c_str(), to.c_str()));
}

void KernelFiles::remove(const std::string& path) noexcept {
  ::unlink(path.c_str());
}

Result<void> KernelFiles::lock(int file) {
  return outcome(::flock(file, LOCK_EX | LOCK_NB));
}

void KernelFiles::close(int file) noexcept {
  ::close(file);
}

}  // namespace io
