#pragma once
// The section KEYS of the manual page mgw.yaml(5), generated from the table of keys.

#include <ostream>

namespace conf {

/// Writes every section and key, with meaning, range and default, in the mdoc(7) language.
void write_manual(std::ostream& out);

}  // namespace conf
