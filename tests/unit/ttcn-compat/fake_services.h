#pragma once
// What is around a gateway, for tests of what operators type.

#include "ttcn-compat/operator_services.h"

#include <map>
#include <string>
#include <vector>

namespace ttcn_compat::test {

/// A random test saves many.
inline constexpr std::size_t kFilesMax = 100;

/// Remembers what was asked of it.
class FakeServices final : public OperatorServices {
 public:
  CounterHistory history;
  std::vector<std::string> alarm_lines;
  std::vector<std::string> actions;
  std::map<std::string, std::string> files;  ///< the disk, by path

  [[nodiscard]] CounterHistory& counter_history() override { return history; }
  void report_statistics() override { actions.emplace_back("report"); }
  void reset_statistics() override { actions.emplace_back("reset"); }
  void write_log(conf::LogLevel level, std::string_view category, std::string_view text) override {
    actions.push_back("log " + std::to_string(static_cast<int>(level)) + " " +
                      std::string(category) + " " + std::string(text));
  }
  [[nodiscard]] std::vector<std::string> alarms() const override { return alarm_lines; }
  [[nodiscard]] tl::expected<std::string, std::string> read_file(const std::string& path) override {
    const auto file = files.find(path);
    if (file == files.end()) {
      return tl::make_unexpected(std::string("No such file or directory"));
    }
    return file->second;
  }
  [[nodiscard]] tl::expected<void, std::string> replace_file(const std::string& path,
                                                             std::string_view text) override {
    if (path.starts_with("/forbidden")) {
      return tl::make_unexpected(std::string("Permission denied"));
    }
    if (files.size() < kFilesMax) {
      files[path] = text;
    }
    return {};
  }
  [[nodiscard]] io::Duration uptime() const override { return std::chrono::seconds(93784); }
  [[nodiscard]] std::int32_t process_id() const override { return 100; }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return 123456; }
};

}  // namespace ttcn_compat::test
