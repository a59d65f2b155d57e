#include "conf/config_manual.h"

#include "conf/collection.h"
#include "conf/config_keys.h"
#include "conf/yaml_text.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace conf {

namespace {

/// A line of text of its own; dots and quotes at its start and backslashes would be commands.
void write_line(std::ostream& out, std::string_view text) {
  if (text.starts_with('.') || text.starts_with('\'')) {
    out << "\\&";
  }
  for (const char character : text) {
    if (character == '\\') {
      out << "\\e";
    } else {
      out << character;
    }
  }
  out << '\n';
}

/// Each sentence on a line of its own, as mdoc wants it.
void write_sentences(std::ostream& out, std::string_view text) {
  for (std::size_t end = text.find(". "); end != std::string_view::npos; end = text.find(". ")) {
    write_line(out, text.substr(0, end + 1));
    text.remove_prefix(end + 2);
  }
  write_line(out, text);
}

void write_setting(std::ostream& out, const Setting& setting, std::string_view name,
                   const Config& defaults) {
  out << ".It Cm " << name << '\n';
  write_sentences(out, setting.help);
  write_line(out, fmt::format("Value: {}.", accepted_values(setting)));
  write_line(out, fmt::format("Default: {}.", value_text(setting, defaults)));
}

void write_collection(std::ostream& out, const Collection& collection) {
  Config defaults;
  collection.resize(defaults, 1);
  out << ".It Cm " << collection.path << '\n';
  write_sentences(out, collection.help);
  write_line(out, fmt::format("A list of at most {} entries with these keys:", collection.max));
  out << ".Bl -tag -width Ds\n";
  for (const Setting& setting : collection.settings) {
    write_setting(out, setting, last_part(setting.path), defaults);
  }
  out << ".El\n";
}

}  // namespace

void write_manual(std::ostream& out) {
  const Config defaults;
  for (const Section& section : all_sections()) {
    out << ".Ss " << section.path << '\n';
    write_sentences(out, section.help);
    out << ".Bl -tag -width Ds\n";
    for (const Setting& setting : all_settings()) {
      if (parent_of(setting.path) == section.path) {
        write_setting(out, setting, setting.path, defaults);
      }
    }
    for (const Collection& collection : all_collections()) {
      if (parent_of(collection.path) == section.path) {
        write_collection(out, collection);
      }
    }
    out << ".El\n";
  }
}

}  // namespace conf
