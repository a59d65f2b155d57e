#include "ttcn-compat/configuration_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ttcn_compat {

namespace {

constexpr mode_t kNewFileMode = 0640;

/// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

std::string reason() {
  return std::strerror(errno);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return true;
}

/// The new file gets what the old one has. A process that may not give files away keeps its own
/// owner, which is no reason to refuse.
void copy_attributes(const std::string& from, int file) {
  struct stat old {};
  mode_t mode = kNewFileMode;
  if (::stat(from.c_str(), &old) == 0) {
    mode = old.st_mode & 07777;
    static_cast<void>(::fchown(file, old.st_uid, old.st_gid) == 0);
  }
  static_cast<void>(::fchmod(file, mode) == 0);
}

/// The file that a symbolic link leads to, so that the link stays.
std::string behind_links(const std::string& path) {
  char* const resolved = ::realpath(path.c_str(), nullptr);
  std::string result = resolved == nullptr ? path : resolved;
  std::free(resolved);
  return result;
}

}  // namespace

tl::expected<std::string, std::string> read_text_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) {
    return tl::make_unexpected(reason());
  }
  std::string text;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t size = ::read(file.number(), part.data(), part.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      return tl::make_unexpected(reason());
    }
    if (size == 0) {
      return text;
    }
    text.append(part.data(), static_cast<std::size_t>(size));
    if (text.size() > kConfigurationFileBytesMax) {
      return tl::make_unexpected(std::string("The file is too large"));
    }
  }
}

tl::expected<void, std::string> replace_text_file(const std::string& path, std::string_view text) {
  const std::string target = behind_links(path);
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
    return tl::make_unexpected(std::string("Not a regular file"));  // a device must not be replaced
  }
  std::string temporary = target + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.number() < 0) {
    return tl::make_unexpected(reason());
  }
  copy_attributes(target, file.number());
  if (!write_all(file.number(), text) || ::fsync(file.number()) != 0 ||
      std::rename(temporary.c_str(), target.c_str()) != 0) {
    const std::string why = reason();
    ::unlink(temporary.c_str());
    return tl::make_unexpected(why);
  }
  return {};
}

}  // namespace ttcn_compat
