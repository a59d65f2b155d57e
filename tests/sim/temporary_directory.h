#pragma once
// A directory for one test.

#include "io/assert.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sim {

/// Empty at first; gone with all that is in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "mgw-test-XXXXXX").string();
    MGW_ASSERT(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// All of a file; empty if it is not there.
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// How many files there are.
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }
  /// Lets this process's descriptor of an open file of the directory lead to `other`.
  void redirect_open_file(const std::string& name, const std::string& other) const {
    const auto wanted = std::filesystem::canonical(path_ + "/" + name);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      if (std::filesystem::read_symlink(entry, error) == wanted) {
        const int descriptor = ::open(other.c_str(), O_WRONLY | O_CLOEXEC);
        MGW_ASSERT(::dup2(descriptor, std::stoi(entry.path().filename())) >= 0);
        ::close(descriptor);
        return;
      }
    }
  }

 private:
  std::string path_;
};

}  // namespace sim
