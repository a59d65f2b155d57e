#pragma once
// A configuration as commented YAML.

#include "conf/config.h"

#include <ostream>

namespace conf {

/// Writes every key whose value is not the default, in the order of the example file, each with its
/// help as a comment. Loading the text gives `config` again.
void write_config(std::ostream& out, const Config& config);

}  // namespace conf
