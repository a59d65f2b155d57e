#pragma once
// The reference of the configuration, generated from the table of keys: conf/mgw.example.yaml is
// this text.

#include <ostream>

namespace conf {

/// Writes a configuration file with every key at its default, each with its meaning, unit and
/// range.
void write_example(std::ostream& out);

}  // namespace conf
