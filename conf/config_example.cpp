#include "conf/config_example.h"

#include "conf/collection.h"
#include "conf/config_keys.h"
#include "conf/yaml_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace conf {

namespace {

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

/// The list without entries, and as comments what an entry may have.
void write_collection(std::ostream& out, const Collection& collection) {
  const std::size_t indent = kIndent * depth_of(collection.path);
  Config defaults;
  collection.resize(defaults, 1);
  write_comment(out, indent, collection.help);
  write_comment(out, indent,
                fmt::format("A list of at most {} entries with these keys:", collection.max));
  for (const Setting& setting : collection.settings) {
    write_comment(
        out, indent,
        fmt::format("  {}: {} Value: {}. Default: {}.", last_part(setting.path), setting.help,
                    accepted_values(setting), value_text(setting, defaults)));
  }
  out << std::string(indent, ' ') << last_part(collection.path) << ": []\n";
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
    for (const Collection& collection : all_collections()) {
      if (parent_of(collection.path) == section.path) {
        out << (first ? "" : "\n");
        write_collection(out, collection);
        first = false;
      }
    }
  }
}

}  // namespace conf
