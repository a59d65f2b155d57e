#include "conf/config_example.h"

#include "conf/config_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace conf {

namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 2;

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::count(path, '.'));
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

/// Writes `text` as comment lines, broken between words.
void write_comment(std::ostream& out, std::size_t indent, std::string_view text) {
  const std::string prefix = std::string(indent, ' ') + "#";
  std::string line = prefix;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() > prefix.size() && line.size() + 1 + end > kLineWidth) {
      out << line << '\n';
      line = prefix;
    }
    line += ' ';
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out << line << '\n';
}

void write_section(std::ostream& out, const Section& section) {
  const std::size_t indent = kIndent * depth_of(section.path);
  out << '\n';
  write_comment(out, indent, section.help);
  out << std::string(indent, ' ') << last_part(section.path) << ":\n";
}

void write_setting(std::ostream& out, const Setting& setting) {
  const std::size_t indent = kIndent * depth_of(setting.path);
  const std::string value = value_text(setting, Config{});
  write_comment(out, indent, setting.help);
  write_comment(out, indent,
                fmt::format("Value: {}. Default: {}.", accepted_values(setting), value));
  out << std::string(indent, ' ') << last_part(setting.path) << ": " << value << '\n';
}

}  // namespace

void write_example(std::ostream& out) {
  out << "# Configuration of mgw: every key, with its default. A file needs only the keys that it\n"
         "# changes; an empty one is a valid configuration. `mgw -c FILE --check` checks a file,\n"
         "# `mgw --set KEY=VALUE` (such as --set rtp.port-min=20000) overrides a key of it.\n";
  for (const Section& section : all_sections()) {
    write_section(out, section);
    bool first = true;
    for (const Setting& setting : all_settings()) {
      if (parent_of(setting.path) == section.path) {
        out << (first ? "" : "\n");
        write_setting(out, setting);
        first = false;
      }
    }
  }
}

}  // namespace conf
