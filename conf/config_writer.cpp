#include "conf/config_writer.h"

#include "conf/collection.h"
#include "conf/config_keys.h"
#include "conf/yaml_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace conf {

namespace {

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

/// The entries of a list, each with the keys that are not the defaults, and always its first key:
/// an entry has to have one.
void write_entries(std::ostream& out, const Collection& collection, const Config& config) {
  const std::size_t indent = kIndent * depth_of(collection.path);
  Config defaults;
  collection.resize(defaults, 1);
  write_comment(out, indent, collection.help);
  out << blanks(indent) << last_part(collection.path) << ":\n";
  for (std::size_t entry = 0; entry < collection.size(config); ++entry) {
    Config until = config;
    collection.resize(until, entry + 1);
    std::string lead = "- ";
    for (const Setting& setting : collection.settings) {
      const std::string value = value_text(setting, until);
      if (lead == "- " || value != value_text(setting, defaults)) {
        out << blanks(indent + kIndent) << lead << last_part(setting.path) << ": " << value << '\n';
        lead = "  ";
      }
    }
  }
}

/// What of `section` differs from the defaults (`changed` and lists), without its heading.
std::string section_text(const Section& section, const Config& config,
                         const std::vector<const Setting*>& changed) {
  std::ostringstream out;
  for (const Setting* setting : changed) {
    if (parent_of(setting->path) == section.path) {
      const std::size_t indent = kIndent * depth_of(setting->path);
      write_comment(out, indent, setting->help);
      out << blanks(indent) << last_part(setting->path) << ": " << value_text(*setting, config)
          << '\n';
    }
  }
  for (const Collection& collection : all_collections()) {
    if (parent_of(collection.path) == section.path && collection.size(config) != 0) {
      write_entries(out, collection, config);
    }
  }
  return out.str();
}

}  // namespace

void write_config(std::ostream& out, const Config& config) {
  out << "# Configuration of mgw: the keys that differ from their defaults.\n";
  const std::vector<const Setting*> changed = differing_settings(config, Config());
  std::set<std::string_view> opened;
  for (const Section& section : all_sections()) {
    const std::string text = section_text(section, config, changed);
    if (text.empty()) {
      continue;
    }
    const std::string_view parent = parent_of(section.path);
    out << '\n';
    if (!parent.empty() && opened.insert(parent).second) {
      out << parent << ":\n";
    }
    opened.insert(section.path);
    out << blanks(kIndent * depth_of(section.path)) << last_part(section.path) << ":\n" << text;
  }
}

}  // namespace conf
